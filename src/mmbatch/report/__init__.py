# SPDX-License-Identifier: GPL-2.0-only
"""Show records: as text for a terminal or a mail, as Markdown, and as an HTML page.

`text` prints one record, `narrow` and `compare` put several side by side, and `page` writes HTML.
"""

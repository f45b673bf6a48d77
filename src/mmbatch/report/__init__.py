# SPDX-License-Identifier: GPL-2.0-only
"""Show the tables of records: as text, as Markdown, as an HTML page and as an SVG overview.

`compare` shows what changed between two runs of one machine.
"""

# SPDX-License-Identifier: GPL-2.0-only
"""Show records: as text of 72 columns, as Markdown, and as an HTML page or an SVG plot.

`compare` selects what is shown, and `words` says it. `text`, `markdown` and `html` with `plot`
render it. `change` compares two runs of one machine.
"""

# SPDX-License-Identifier: GPL-2.0-only
"""Measurements and what they show.

`session` prepares and measures speed-ups, `record` is what a run leaves, and `table` derives all
that is shown of it by `statistics`. Nothing here prints a table.
"""

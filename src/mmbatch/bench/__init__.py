# SPDX-License-Identifier: GPL-2.0-only
"""Measurements and what they show.

`session` prepares and measures speed-ups, `statistics` has the estimators, and `record` is the JSON
that a run leaves. Nothing here prints a table.
"""

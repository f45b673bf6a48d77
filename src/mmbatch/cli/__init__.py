# SPDX-License-Identifier: GPL-2.0-only
"""The command line.

`main` dispatches to one module a verb, which holds a click command by the name `command`.
`launcher` prepares the Python environment first.
"""

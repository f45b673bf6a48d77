# SPDX-License-Identifier: GPL-2.0-only
"""The verbs, one module each, which holds a click command by the name `command`."""

# SPDX-License-Identifier: GPL-2.0-only
"""Debian's archive and packages.

`apt` fetches source and binary packages with a private apt state, `packages` installs what is
missing, and `foreign` makes programs of another release run here. Others call these three.
"""

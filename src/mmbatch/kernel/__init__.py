# SPDX-License-Identifier: GPL-2.0-only
"""Kernel source trees.

`sources` finds, fetches or copies one. `kbuild` configures it and builds objects of it. `git` reads
and writes a tree that is a git repository without touching its working tree.
"""

# SPDX-License-Identifier: GPL-2.0-only
"""Kernel sources, what builds them, and a user's git tree of one."""

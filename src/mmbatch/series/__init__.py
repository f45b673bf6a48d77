# SPDX-License-Identifier: GPL-2.0-only
"""The speed-ups as patch series for a mailing list: `export` writes them, `verify` checks them."""

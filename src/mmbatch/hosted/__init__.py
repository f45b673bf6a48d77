# SPDX-License-Identifier: GPL-2.0-only
"""The hosted engine: kernel objects, base and patched, in one user process."""

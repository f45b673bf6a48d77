# SPDX-License-Identifier: GPL-2.0-only
"""Livepatch modules for distribution kernels.

`build` makes a module, `load` loads and unloads it, `dkms` packages it, and `test` tries all of
that in a guest.
"""

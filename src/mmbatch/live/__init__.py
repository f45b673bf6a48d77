# SPDX-License-Identifier: GPL-2.0-only
"""Livepatch modules for distribution kernels.

`build` builds a module, `load` loads and unloads it, `dkms` packages it, and `guest` tests all of
that in a guest. `kernel` finds a kernel's headers, and `manifest` the livepatches.
"""

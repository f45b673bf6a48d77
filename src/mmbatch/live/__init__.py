# SPDX-License-Identifier: GPL-2.0-only
"""Livepatch modules for distribution kernels.

`build` builds a module, `load` loads and unloads it, and `install` packages it. `kernel` finds a
kernel's headers, and `manifest` the livepatches. mmbatch.guest tests them.
"""

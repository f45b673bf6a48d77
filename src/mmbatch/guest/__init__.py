# SPDX-License-Identifier: GPL-2.0-only
"""Boot whole kernels under QEMU, built here or a distribution's, and read what they print."""

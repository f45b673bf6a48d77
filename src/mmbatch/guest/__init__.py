# SPDX-License-Identifier: GPL-2.0-only
"""Boot whole kernels under QEMU and read what they print.

`plan` is the table of boots, and `boots` boots them. `kernel` builds kernels, `stock` takes a
distribution's and what is loaded into it, and `counts` counts instructions.
"""

# SPDX-License-Identifier: GPL-2.0-only
"""Boot whole kernels under QEMU and read what they print.

`suites` runs all stages, `boots` one of them, `build` makes the kernels, and `counts` counts
instructions.
"""

# SPDX-License-Identifier: GPL-2.0-only
"""The hosted engine: kernel objects, base and patched, in one user process.

`program` makes the program, with what `posted` compiles of others' patches. `run` runs it and
`events` reads what it prints. `check` and `fuzz` compare patched code with its oracle, and break
it on purpose to see that they notice.
"""

# SPDX-License-Identifier: GPL-2.0-only
"""What every other package stands on; it imports no other package of mmbatch.

`errors` with exit codes, `log` for what people see, `process` to run programs, `cache` for finished
directories, locks and whole files, `load` for strict TOML and JSON, and `paths` of this checkout.
"""

# SPDX-License-Identifier: GPL-2.0-only
"""What every other package stands on.

Errors and exit codes, running programs (`process`), the cache directory and files that are written
whole or not at all (`cache`, `disk`), the paths of this checkout, console output, and strict
loading of TOML and JSON. Imports no other package of mmbatch.
"""

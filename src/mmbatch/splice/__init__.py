# SPDX-License-Identifier: GPL-2.0-only
"""Put a speed-up into a kernel tree.

`manifest` reads speedup.toml, `plan` says what would change, `apply` makes a branch or a new
copy, and `trees` keeps spliced copies for the other packages.
"""

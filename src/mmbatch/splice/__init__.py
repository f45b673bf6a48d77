# SPDX-License-Identifier: GPL-2.0-only
"""Put a speed-up into a kernel tree.

`manifest` reads speedup.toml, `hooks` changes files, `apply` makes a branch or a copy of a tree,
and `posted` makes copies that have somebody else's patches.
"""

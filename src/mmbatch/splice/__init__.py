# SPDX-License-Identifier: GPL-2.0-only
"""Put a speed-up, or somebody else's patches, into a copy or a branch of a kernel tree."""

# SPDX-License-Identifier: GPL-2.0-only
"""Put a speed-up, or posted patches, into a copy or a branch of a kernel tree."""

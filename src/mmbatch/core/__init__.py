# SPDX-License-Identifier: GPL-2.0-only
"""What every other package stands on; it imports no other package of mmbatch."""

# SPDX-License-Identifier: GPL-2.0-only
# Make a stock kernel ready for the scripts that follow. Sourced. Settings:
# DRIVER_MODULES, DIGESTS: a module that tells digests of a memmap, if any.

. /stock.sh
check "drivers" drivers
[ -z "$DIGESTS" ] || check "the module for digests" insmod "/modules/$DIGESTS.ko"

# SPDX-License-Identifier: GPL-2.0-only
# Make a stock kernel ready for the scripts that follow. Sourced. Settings:
# DRIVER_MODULES, OBSERVERS: modules of ours that look at what was done, if any.

. /stock.sh
check "drivers" drivers
for name in $OBSERVERS; do
	check "the module $name" insmod "/modules/$name.ko"
done

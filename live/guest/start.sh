# SPDX-License-Identifier: GPL-2.0-only
# Prepare a stock kernel for the scripts that follow. Sourced. Settings:
# DRIVER_MODULES, SPEEDUPS, and OBSERVERS: modules of ours that check the results.

. /live.sh
check "drivers" drivers
for name in $OBSERVERS; do
	check "the module $name" insmod "/modules/$name.ko"
done

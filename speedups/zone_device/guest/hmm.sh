# SPDX-License-Identifier: GPL-2.0-only
# Let test_hmm make device-private memory, ten times with each method. Settings:
# METHODS.

. /zone_device/lib.sh
for method in $METHODS; do
	choose "$method" || continue
	i=0
	while [ "$i" -lt 10 ] && insmod /modules/test_hmm.ko && rmmod test_hmm; do
		i=$((i + 1))
	done
	check "test_hmm: loaded ten times, $method" test "$i" -eq 10
done
choose auto

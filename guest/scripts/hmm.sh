# SPDX-License-Identifier: GPL-2.0-only
# test_hmm makes device-private memory, ten times with each method. Sourced.

if [ -e /modules/test_hmm.ko ]; then
	for method in $METHODS; do
		echo "$method" >$METHOD 2>/dev/null || continue
		i=0
		while [ "$i" -lt 10 ] && insmod /modules/test_hmm.ko && rmmod test_hmm; do
			i=$((i + 1))
		done
		check "test_hmm: loaded ten times, $method" test "$i" -eq 10
	done
	echo auto >$METHOD
fi

# SPDX-License-Identifier: GPL-2.0-only
# Modules that don't fit this kernel are not loaded, and the log says why.
# Sourced after live_start.sh. Settings: REFUSED, names of modules with the
# words to look for, each in a file of its own.

# refused NAME: not loaded, nothing patched, and the reason in the log.
refused() {
	echo "trying $1" >/dev/kmsg
	if insmod "/refused/$1.ko" 2>/tmp/insmod.out; then
		echo "it was loaded"
		return 1
	fi
	unpatched || return 1
	dmesg | sed "1,/trying $1/d" >/tmp/refused.out
	cat /tmp/refused.out
	grep -q -F "$(cat "/refused/$1.txt")" /tmp/refused.out
}

for name in $REFUSED; do
	check "refused: $name" refused "$name"
done

# SPDX-License-Identifier: GPL-2.0-only
# Try to load modules that do not fit this kernel: none may be loaded, and the log
# must say why. Sourced after start.sh. Settings: REFUSED, names of modules; the
# words to look for are in /refused/NAME.txt.

# refused NAME: succeeds if the module is not loaded, nothing is patched, and the
# reason is in the log.
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

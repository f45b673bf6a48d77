# SPDX-License-Identifier: GPL-2.0-only
# The tool itself, on a kernel in which nothing can happen to anybody.
# Sourced after live_start.sh. Settings: RIVAL, a livepatch that is in the way.

tool() {
	HOME=/tmp PYTHONHOME=/usr PYTHONPATH=/mmbatch/src:/mmbatch/site \
		python3 -m mmbatch live "$@" 2>&1
}

# says WORDS ARGUMENTS...: the tool succeeds and prints them; denied: it fails.
says() {
	words=$1
	shift
	tool "$@" >/tmp/said || return 1
	grep -q -F "$words" /tmp/said || ! cat /tmp/said
}

denied() {
	words=$1
	shift
	! tool "$@" >/tmp/said || return 1
	grep -q -F "$words" /tmp/said || ! cat /tmp/said
}

rm -f /bin/setpriv # the tool takes busybox's for the real one
file=/modules/$MODULE.ko
check "tool: status before" says "$INIT(): the kernel's own" status
check "tool: a module that does not fit" denied "refusing: struct page has" \
	load zone_device --module /refused/zone_device_size.ko
check "tool: load" says "$INIT(): $MODULE, in use everywhere" \
	load zone_device --module $file --set zone_device.method=copy
check "tool: it has its parameter" grep -q copy $METHOD
check "tool: load twice" says "loaded already" load zone_device --module $file
check "tool: another value for what is loaded" says "it has zone_device.method=base now" \
	load zone_device --module $file --set zone_device.method=base
check "tool: it has that too" grep -q base $METHOD
check "tool: a value that it does not take" denied "does not take 'bsae'" \
	load zone_device --module $file --set zone_device.method=bsae
check "tool: status" says "$INIT(): $MODULE, in use everywhere" status
check "tool: unload" says "$INIT(): the kernel's own" unload
check "tool: the module is gone" test ! -e /sys/module/$MODULE
check "tool: unload twice" says "is not loaded" unload
check "tool: another livepatch on vmap()" patch_in "$RIVAL"
check "tool: it is in the way" denied \
	"vmap() is replaced already, by the livepatch mmbatch_$RIVAL" \
	load vmap --module /modules/mmbatch_vmap.ko
check "tool: the other goes" patch_out "$RIVAL"

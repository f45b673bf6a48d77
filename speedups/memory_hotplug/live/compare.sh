# SPDX-License-Identifier: GPL-2.0-only
# Compare the flags of zones after each memory block that comes or goes: in the stock
# kernel, with the patch, and after unload. Sourced after live/guest/start.sh.

# step FUNCTION BLOCK: do it, and print the flags of all zones, and what scans find.
step() { "$1" "$2" && cat $ZONES; }

# flags FILE: let five memory blocks come and go, with holes, and keep all flags. Print
# how often the kernel looked at a pageblock.
flags() {
	echo 'p:look __pageblock_pfn_to_page' >>$TRACING/kprobe_events || return 1
	echo 1 >$TRACING/events/kprobes/look/enable
	set -- "$1" $(blocks offline | head -n 5)
	{
		step online "$2" && step online "$3" && step online "$4" &&
			step online "$5" && step online "$6" && step offline "$3" &&
			step offline "$5" && step offline "$6" && step online "$3" &&
			step offline "$4" && step offline "$3" && step online "$4" &&
			step offline "$2" && step offline "$4"
	} >"$1" || return 1
	echo 0 >$TRACING/events/kprobes/look/enable
	awk '$1 == "look" { print $2 }' $TRACING/kprobe_profile
	echo '-:look' >>$TRACING/kprobe_events
}

# same: let the blocks come and go, and compare all flags with those of the stock kernel.
same_flags() {
	looks=$(flags /tmp/flags) && cmp /tmp/flags /tmp/flags.base
}

if check "hotplug: plug" plug; then
	base_looks=$(flags /tmp/flags.base)
	check "hotplug: flags of $(wc -l </tmp/flags.base) zones" test -s /tmp/flags.base
	check "hotplug: some zone was contiguous" grep -q 'Movable 1 1' /tmp/flags.base
	check "hotplug: some zone had a hole" grep -q 'Movable 0 0' /tmp/flags.base
	check "hotplug: load" patch_in memory_hotplug
	check "hotplug: same flags, patched" same_flags
	value "hotplug looks-base" "$base_looks"
	value "hotplug looks-patched" "$looks"
	check "hotplug: ours ran ($base_looks looks, then $looks)" test "$((2 * looks))" -lt "$base_looks"
	check "hotplug: unload" patch_out memory_hotplug
	check "hotplug: same flags after unload" same_flags
	check "hotplug: the kernel's own ran" test "$looks" -eq "$base_looks"
	check "hotplug: unplug" unplug
fi

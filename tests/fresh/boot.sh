#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Install livepatches in a fresh Debian 13, boot it with NVDIMMs, lose its power while they are
# loaded, update its kernel, and uninstall them: were the devices bound at boot with them, and
# is nothing left in the end?
set -euo pipefail

usage() {
	cat <<-'END'
	usage: tests/fresh/boot.sh [OPTION...]

	Make a minimal root of Debian 13 with debootstrap, and boot it under QEMU with its own
	kernel and initramfs: after `live install`; after a loss of power; after an update to the
	kernel of its backports; with modules of the old kernel there; after `live uninstall`.

	  --base DIR        where the root is made; a root that is there is used again
	                    (default: a new directory in /var/tmp)
	  --out DIR         where logs and consoles go (default: fresh-boot in the current directory)
	  --speedups NAMES  what is installed (default: "memory_hotplug zone_device"); zone_device
	                    must be among them

	Needs root, debootstrap, qemu-system-x86, e2fsprogs, a network, and 10 GB of disk. It emulates
	the machine. It runs in mount and process namespaces of its own, so nothing that it starts or
	mounts outlives it, and what is changed is a copy of the root.
	END
}

name=boot
programs='debootstrap qemu-system-x86_64 mke2fs'
. "$(dirname "$(realpath "$0")")/guests.sh"

# lose_power NAME RELEASE WORDS LINE: boot the root, and cut the power when the kernel says LINE
lose_power() {
	say "booting Linux $2 ($1)"
	disk
	rm -f "$out/$1.console"
	(direct "$1" "$2" "$3") &
	check "$1: QEMU did not end by itself" not ends $! "$4" "$out/$1.console"
	check "$1: a module was loaded" grep -q "$4" "$out/$1.console"
	check "$1: its transition did not end" \
		not grep -Eq '@@ |patching complete' <(sed "1,/$4/d" "$out/$1.console")
}

# shellcheck disable=SC2086
again() { live install $speedups >"$out/again.log" 2>&1; }
check 'a second installation ends well' again
check 'a second installation changes nothing' grep -q 'installed: nothing' "$out/again.log"
for driver in $(sed -n 's/^softdep \(\S*\) .*/\1/p' "$root/usr/lib/modprobe.d/mmbatch.conf"); do
	check "$driver has no softdep of its own" \
		[ -z "$(chroot "$root" modinfo -k "$old" -F softdep "$driver" 2>/dev/null)" ]
done
check 'the initramfs has the module' contains "$old" mmbatch_zone_device
check 'the initramfs lacks the driver, so udev loads it later' not contains "$old" nd_pmem
boot installed "$old" ''
seen installed
loaded installed

lose_power lost "$old" '' "enabling patch 'mmbatch_zone_device'"
boot lost-then "$old" '' same
seen lost-then
loaded lost-then

say 'updating the kernel, the headers after the image; the drivers go into the initramfs'
printf '%s\n' nfit nd_pmem dax_pmem device_dax >>"$root/etc/initramfs-tools/modules"
for package in linux-image-amd64 linux-headers-amd64; do
	chroot "$root" apt-get -q -y --no-install-recommends install $package \
		-t "$suite-backports" >>"$out/update.log" 2>&1 ||
		fail 'the update failed' "see $out/update.log"
done
new=$(releases | tail -1)
check "there is a newer kernel ($new)" [ "$new" != "$old" ]
check 'its initramfs has the module' contains "$new" mmbatch_zone_device
check 'its initramfs has the driver' contains "$new" nd_pmem
boot updated "$new" 'module_blacklist=mmbatch_memory_hotplug'
seen updated
loaded updated
check 'updated: the module came before the root file system' \
	awk '/enabling patch .mmbatch_zone_device/ { seen = 1 } /systemd 2/ { exit !seen }' \
	"$out/updated.report"
check 'updated: a module that the command line forbids is not there' \
	not grep -q '^livepatch mmbatch_memory_hotplug' "$out/updated.report"

say "modules of Linux $old take the place of those of $new"
modules=$root/lib/modules
mkdir "$base/copy/own"
mv "$modules/$new/updates/dkms/"mmbatch_* "$base/copy/own"
cp "$modules/$old/updates/dkms/"mmbatch_* "$modules/$new/updates/dkms"
chroot "$root" depmod "$new"
chroot "$root" update-initramfs -u -k "$new" >>"$out/update.log" 2>&1
boot unfit "$new" ''
has_own unfit
check 'unfit: the log says why' \
	grep -Eq 'mmbatch_zone_device: (version magic|disagrees about version)' "$out/unfit.report"
mv "$base/copy/own/"* "$modules/$new/updates/dkms" # DKMS compares what it removes

say 'uninstalling'
live uninstall >"$out/uninstall.log" 2>&1 || cat "$out/uninstall.log"
for release in $old $new; do
	check "nothing is in the initramfs of $release" not contains "$release" mmbatch
done
check 'dpkg knows nothing' [ -z "$(chroot "$root" dpkg-query -W 'mmbatch*' 2>/dev/null)" ]
check 'DKMS knows nothing' [ -z "$(chroot "$root" dkms status)" ]
check 'no file is left' [ -z "$(find "$root" -xdev -name '*mmbatch*' -not -path "$root/opt/*" \
	-not -path "$root/*/.cache/*" -not -path "$root/proc/*")" ]
boot uninstalled "$new" ''
has_own uninstalled
loaded uninstalled

say "done: $bad failed"
[ $bad = 0 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Install livepatches in a fresh Debian 13, update its kernel, boot it with NVDIMMs, uninstall
# them, and boot it once more: were the devices bound at boot with them, and is
# nothing left in the end?
set -euo pipefail

usage() {
	cat <<-'END'
	usage: tests/fresh/boot.sh [OPTION...]

	Make a minimal root of Debian 13 with debootstrap, and boot it under QEMU with its own
	kernel and initramfs: after `live install` and a kernel update, and after `live uninstall`.

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

fail() {
	printf 'error: cannot boot a fresh Debian: %s\nhint: %s\n' "$1" "$2" >&2
	exit 1
}

suite=trixie base='' out='' speedups='memory_hotplug zone_device'
while [ $# -gt 0 ]; do
	case $1 in
	--base) base=$2; shift 2 ;;
	--out) out=$2; shift 2 ;;
	--speedups) speedups=$2; shift 2 ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done

checkout=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
[ "$(id -u)" = 0 ] || fail 'only root may make one' 'run it with sudo'
for program in debootstrap qemu-system-x86_64 mke2fs; do
	command -v $program >/dev/null ||
		fail "there is no $program" 'apt-get install debootstrap qemu-system-x86 e2fsprogs'
done

if [ -z "${MMBATCH_FRESH:-}" ]; then
	out=${out:-fresh-boot}
	mkdir -p "$out"
	out=$(realpath "$out")
	if [ -n "$base" ]; then
		mkdir -p "$base"
	else
		base=$(mktemp -d /var/tmp/mmbatch-boot.XXXXXX)
		trap 'rm -rf --one-file-system "$base"' EXIT
	fi
	base=$(realpath "$base")
	MMBATCH_FRESH=1 unshare --mount --pid --fork --kill-child -- \
		"$(realpath "$0")" --base "$base" --out "$out" --speedups "$speedups" &
	child=$!
	trap 'kill -KILL "$child"' INT TERM # which ends all that runs in its namespaces
	status=0
	wait "$child" || status=$?
	exit $status
fi

# From here on, this runs in namespaces of its own.
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
mount --make-rprivate /
bad=0
say() { printf '[%4d s] %s\n' $SECONDS "$*"; }
check() { # check WORDS COMMAND...
	local words=$1
	shift
	if "$@" >/dev/null 2>&1; then
		echo "  passed: $words"
	else
		echo "  FAILED: $words"
		bad=$((bad + 1))
	fi
}
not() { ! "$@"; }

. "$(dirname "$(realpath "$0")")/lib.sh"

if [ ! -e "$base/root/boot" ]; then
	say "making a root of $suite"
	make_root "$suite" "$base/root.new" "$out/debootstrap.log" \
		systemd-sysv,udev,kmod,initramfs-tools,zstd,python3,python3-click,python3-rich
	mount -t proc proc "$base/root.new/proc"
	chroot "$base/root.new" apt-get -q update >"$out/base.log"
	# The oldest of its kernels, so that there is a newer one.
	version=$(chroot "$base/root.new" apt-cache madison linux-image-amd64 |
		cut -d'|' -f2 | tr -d ' ' | grep '^6\.12\.' | sort -V | head -1)
	chroot "$base/root.new" apt-get -q -y --no-install-recommends install ndctl dkms \
		{linux-image,linux-headers}-amd64="$version" >>"$out/base.log" 2>&1 ||
		fail 'its kernel was not installed' "see $out/base.log"
	umount "$base/root.new/proc"
	chroot "$base/root.new" apt-get clean
	mv "$base/root.new" "$base/root"
fi

root=$base/copy/root
rm -rf --one-file-system "$base/copy"
mkdir -p "$base/copy"
cp -a "$base/root" "$root"
mount -t proc proc "$root/proc"

mkdir -p "$root/opt/mmbatch"
git -C "$checkout" archive HEAD | tar -x -C "$root/opt/mmbatch"
live() { # run the tool in the root
	chroot "$root" env PYTHONPATH=/opt/mmbatch/src PYTHONDONTWRITEBYTECODE=1 \
		python3 -m mmbatch live "$@" </dev/null
}

# What the guests run: the first makes namespaces as its init, and the other is a service.
cat >"$root/create" <<'END'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin
for driver in nfit nd_pmem dax_pmem device_dax; do modprobe $driver; done
udevadm trigger; udevadm settle
ndctl create-namespace -f -e namespace0.0 -m fsdax -M dev
ndctl create-namespace -f -e namespace1.0 -m devdax -M dev
echo "@@ namespaces $(ndctl list | grep -c '"dev":"namespace')"
sync
poweroff -f
END
cat >"$root/report" <<'END'
#!/bin/sh
exec >/dev/ttyS0 2>&1
udevadm settle --timeout=120
echo "@@ kernel $(uname -r)"
ls -d /sys/bus/nd/drivers/nd_pmem/pfn* /sys/bus/dax/drivers/device_dax/dax* | sed 's/^/@@ bound /'
ls /sys/kernel/livepatch | sed 's/^/@@ livepatch /'
dmesg | grep -E 'livepatch: |mmbatch|systemd 2|pages in|blacklisted' | sed 's/^/@@ log /'
systemctl --failed --no-legend --plain | sed 's/^/@@ failed /'
cd /opt/mmbatch
PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 python3 -m mmbatch live status | sed 's/^/@@ status /'
echo "@@ end"
poweroff -f
END
chmod 755 "$root/create" "$root/report"
cat >"$root/etc/systemd/system/report.service" <<'END'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/report
[Install]
WantedBy=multi-user.target
END
chroot "$root" systemctl -q enable report

truncate -s 1026M "$base/copy/nv"{0,1} # 1 GB, and their labels
boot() { # boot NAME RELEASE WORDS: boot the root as it is; changes of its disk are lost
	local i nvdimms=()
	say "booting Linux $2 ($1)"
	umount "$root/proc"
	rm -f "$base/copy/disk"
	mke2fs -q -t ext4 -F -d "$root" "$base/copy/disk" 4G
	mount -t proc proc "$root/proc"
	for i in 0 1; do
		nvdimms+=(-object "memory-backend-file,id=m$i,mem-path=$base/copy/nv$i,size=1026M,share=on"
			-device "nvdimm,memdev=m$i,id=nv$i,label-size=2M")
	done
	# For the CPU and for one thread, see docs/live-internals.md.
	check "$1: QEMU ended by itself" timeout 1800 qemu-system-x86_64 \
		-accel tcg,thread=single -cpu max,-cx16,-svm,-vmx \
		-machine q35,nvdimm=on -m 2G,slots=4,maxmem=8G -smp 2 "${nvdimms[@]}" \
		-kernel "$root/boot/vmlinuz-$2" -initrd "$root/boot/initrd.img-$2" \
		-drive "file=$base/copy/disk,if=virtio,format=raw" -nographic -no-reboot -nodefaults \
		-append "root=/dev/vda rw console=ttyS0 panic=-1 oops=panic systemd.show_status=0 $3" \
		-serial "file:$out/$1.console" </dev/null
	tr -d '\r' <"$out/$1.console" | sed -n 's/.*@@ //p' >"$out/$1.report"
	sed '/^log/d' "$out/$1.report"
	check "$1: it came up" grep -qx end "$out/$1.report"
	check "$1: both namespaces are bound" [ "$(grep -c '^bound ' "$out/$1.report")" = 2 ]
	check "$1: systemd loaded all modules" not grep -q '^failed systemd-modules' "$out/$1.report"
	check "$1: the kernel complains of nothing" \
		not grep -Eq 'cut here|BUG: |WARNING: |Oops|Call Trace' "$out/$1.console"
}
releases() { (cd "$root/boot" && printf '%s\n' vmlinuz-* | sed 's/vmlinuz-//' | sort -V); }
handled() { # handled NAME: the pages that zone_device handled at boot
	sed -n 's/.*memmap_init_zone_device().*in use everywhere.* calls, \([0-9,]*\) pages.*/\1/p' \
		"$out/$1.report" | tr -d ,
}
seen() { # seen NAME: check that both namespaces went through the replacement
	local pages
	pages=$(handled "$1")
	# Each has 257,536 pages beside the memmap on the device.
	check "$1: pages handled at boot (${pages:-none})" [ "${pages:-0}" -ge 500000 ]
}
contains() { # contains RELEASE WORD: whether the initramfs has a file of that name
	chroot "$root" lsinitramfs "/boot/initrd.img-$1" >"$out/initramfs-$1.txt"
	grep -q "$2" "$out/initramfs-$1.txt"
}

old=$(releases | tail -1)
say "making namespaces on Linux $old"
boot create "$old" "init=/create" >"$out/create.log"
bad=0 # this guest reports nothing
grep -qx 'namespaces 2' "$out/create.report" ||
	fail 'there are no namespaces' "see $out/create.console"

say "installing $speedups"
# shellcheck disable=SC2086
live install $speedups >"$out/install.log" 2>&1 || {
	cat "$out/install.log"
	fail 'live install failed' "see $out/install.log"
}
cat "$out/install.log"
# shellcheck disable=SC2086
again() { live install $speedups >"$out/again.log" 2>&1; }
check 'a second installation ends well' again
check 'a second installation changes nothing' grep -q 'installed: nothing' "$out/again.log"
for driver in $(sed -n 's/^softdep \(\S*\) .*/\1/p' "$root/usr/lib/modprobe.d/mmbatch.conf"); do
	check "$driver has no softdep of its own" \
		[ -z "$(chroot "$root" modinfo -k "$old" -F softdep "$driver" 2>/dev/null)" ]
done
check 'the initramfs has the module' contains "$old" mmbatch_zone_device
say 'updating the kernel, the headers after the image; the drivers go into the initramfs'
printf '%s\n' nfit nd_pmem dax_pmem device_dax >>"$root/etc/initramfs-tools/modules"
version=$(chroot "$root" apt-cache madison linux-image-amd64 |
	cut -d'|' -f2 | tr -d ' ' | grep '^6\.12\.' | sort -V | tail -1)
for package in linux-image-amd64 linux-headers-amd64; do
	chroot "$root" apt-get -q -y --no-install-recommends install $package="$version" \
		>>"$out/update.log" 2>&1 || fail 'the update failed' "see $out/update.log"
done
new=$(releases | tail -1)
check "there is a newer kernel ($new)" [ "$new" != "$old" ]
check 'its initramfs has the module' contains "$new" mmbatch_zone_device
check 'its initramfs has the driver' contains "$new" nd_pmem
boot updated "$new" 'module_blacklist=mmbatch_memory_hotplug'
seen updated
check 'the module came before the root file system' \
	awk '/enabling patch .mmbatch_zone_device/ { seen = 1 } /systemd 2/ { exit !seen }' \
	"$out/updated.report"
check 'a module that the command line forbids is not there, and stops nothing' \
	not grep -q '^livepatch mmbatch_memory_hotplug' "$out/updated.report"

say 'uninstalling'
live uninstall >"$out/uninstall.log" 2>&1 || cat "$out/uninstall.log"
for release in $old $new; do
	check "nothing is in the initramfs of $release" not contains "$release" mmbatch
done
check 'dpkg knows nothing' [ -z "$(chroot "$root" dpkg-query -W 'mmbatch*' 2>/dev/null)" ]
check 'DKMS knows nothing' [ -z "$(chroot "$root" dkms status)" ]
check 'no file is left' [ -z "$(find "$root" -xdev -name '*mmbatch*' -not -path "$root/opt/*" \
	-not -path "$root/root/.cache/*" -not -path "$root/proc/*")" ]
boot uninstalled "$new" ''
check 'no livepatch is loaded' not grep -q '^livepatch' "$out/uninstalled.report"
check 'the kernel runs its own function' \
	grep -q "memmap_init_zone_device():.*the kernel's own" "$out/uninstalled.report"

say "done: $bad failed"
[ $bad = 0 ]

# SPDX-License-Identifier: GPL-2.0-only
# Boot a fresh Debian under QEMU. Sourced by scripts that define usage(), and set `name`, which
# names their directory, and `programs`. They then have a root in $root to change and boot.

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
for program in $programs; do
	command -v "$program" >/dev/null || fail "there is no $program" "see --help for what it needs"
done

if [ -z "${MMBATCH_FRESH:-}" ]; then
	out=${out:-fresh-$name}
	mkdir -p "$out"
	out=$(realpath "$out")
	if [ -n "$base" ]; then
		mkdir -p "$base"
	else
		base=$(mktemp -d /var/tmp/mmbatch-$name.XXXXXX)
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

. "$(dirname "$0")/lib.sh"

make_base "$suite" "$base" "$out"

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
udevadm settle --timeout=1200 # it took more than two minutes on a busy machine
echo "@@ kernel $(uname -r)"
ls -d /sys/bus/nd/drivers/nd_pmem/pfn* /sys/bus/dax/drivers/device_dax/dax* | sed 's/^/@@ bound /'
ls /sys/kernel/livepatch | sed 's/^/@@ livepatch /'
dmesg | grep -E 'livepatch: |mmbatch|systemd 2|pages in|blacklisted' | sed 's/^/@@ log /'
systemctl --failed --no-legend --plain | sed 's/^/@@ failed /'
cd /opt/mmbatch
PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 python3 -m mmbatch live status | sed 's/^/@@ status /'
[ ! -x /more ] || /more
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
emulate() { # emulate SERIAL OPTIONS...: boot the disk as it is, with two NVDIMMs
	local serial=$1 i nvdimms=()
	shift
	for i in 0 1; do
		nvdimms+=(-object "memory-backend-file,id=m$i,mem-path=$base/copy/nv$i,size=1026M,share=on"
			-device "nvdimm,memdev=m$i,id=nv$i,label-size=2M")
	done
	# No AVX: some instructions of it go wrong under QEMU 7.2, and then systemd finds no mount.
	# For the rest and for one thread, see docs/live-internals.md.
	exec qemu-system-x86_64 -accel tcg,thread=single -cpu Nehalem,-cx16 \
		-m 2G,slots=4,maxmem=8G "${nvdimms[@]}" -nographic -nodefaults -no-reboot \
		-drive "file=$base/copy/disk,if=virtio,format=raw" \
		-serial "$serial" "$@" </dev/null
}
# What the kernel is told, besides where its root is.
cmdline='rw console=ttyS0 panic=-1 oops=panic systemd.show_status=0'
cmdline+=' no_timer_check' # on a busy machine, the timer of an emulated one seems not to work
cmdline+=' systemd.mask=serial-getty@ttyS0.service' # which would hang up the console
ends() { # ends PID [LINE FILE]: whether QEMU ends by itself before FILE has LINE
	local last=$((SECONDS + 1800))
	while kill -0 "$1" 2>/dev/null; do
		if [ $SECONDS -ge $last ] || { [ -n "${2:-}" ] && grep -q "$2" "$3" 2>/dev/null; }; then
			kill -KILL "$1"
		fi
		sleep 0.1
	done
	wait "$1"
}
disk() { # make the disk from the root as it is
	umount "$root/proc"
	rm -f "$base/copy/disk"
	mke2fs -q -t ext4 -F -d "$root" "$base/copy/disk" 4G >/dev/null
	mount -t proc proc "$root/proc"
}
told() { # told NAME: print what the guest reported, and check that it came up
	tr -d '\r' <"$out/$1.console" | sed -n 's/.*@@ //p' >"$out/$1.report"
	sed '/^log/d' "$out/$1.report"
	check "$1: it came up" grep -qx end "$out/$1.report"
	check "$1: both namespaces are bound" [ "$(grep -c '^bound ' "$out/$1.report")" = 2 ]
	check "$1: the kernel complains of nothing" \
		not grep -Eq 'cut here|BUG: |WARNING: |Oops|Call Trace' "$out/$1.console"
}
direct() { # direct NAME RELEASE WORDS: run QEMU with a kernel, without firmware that loads it
	emulate "file:$out/$1.console" -machine q35,nvdimm=on -smp 2 \
		-kernel "$root/boot/vmlinuz-$2" -initrd "$root/boot/initrd.img-$2" \
		-append "root=/dev/vda $cmdline $3"
}
boot() { # boot NAME RELEASE WORDS [same]: boot the root as it is, or the same disk again
	say "booting Linux $2 ($1)"
	[ -n "${4:-}" ] || disk
	(direct "$1" "$2" "$3") &
	check "$1: QEMU ended by itself" ends $!
	told "$1"
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

loaded() { # loaded NAME: check that systemd loaded what it must
	check "$1: systemd loaded all modules" not grep -q '^failed systemd-modules' "$out/$1.report"
}
has_own() { # has_own NAME: check that the kernel ran its own function
	check "$1: no livepatch is loaded" not grep -q '^livepatch' "$out/$1.report"
	check "$1: the kernel runs its own function" \
		grep -q "memmap_init_zone_device():.*the kernel's own" "$out/$1.report"
}

old=$(releases | tail -1)
say "making namespaces on Linux $old"
boot create "$old" init=/create >"$out/create.log"
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

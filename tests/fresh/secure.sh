#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Boot a fresh Debian 13 with Secure Boot, before and after the key of DKMS is enrolled: does the
# kernel refuse livepatches that are unsigned, or signed with an unknown key, and take them then?
set -euo pipefail

usage() {
	cat <<-'END'
	usage: tests/fresh/secure.sh [OPTION...]

	Make a minimal root of Debian 13 with debootstrap, and boot it under QEMU with OVMF in Secure
	Boot mode, shim, GRUB and its own kernel: after `live install`, and after its key was enrolled
	as docs/live.md says.

	  --base DIR        where the root is made; a root that is there is used again, and may be that
	                    of boot.sh (default: a new directory in /var/tmp)
	  --out DIR         where logs and consoles go (default: fresh-secure in the current directory)
	  --speedups NAMES  what is installed (default: "memory_hotplug zone_device"); zone_device
	                    must be among them

	Needs root, debootstrap, qemu-system-x86, e2fsprogs, ovmf, dosfstools, mtools, python3-pyte, a
	network, and 10 GB of disk. See boot.sh for what it does to this machine.
	END
}

name=secure
programs='debootstrap qemu-system-x86_64 mke2fs mkfs.vfat mcopy'
firmware=/usr/share/OVMF
. "$(dirname "$(realpath "$0")")/guests.sh"
[ -e $firmware/OVMF_VARS_4M.ms.fd ] || fail 'there is no OVMF' 'apt-get install ovmf'
/usr/bin/python3 -c 'import pyte' || fail 'there is no pyte' 'apt-get install python3-pyte'
password=enroll-1

chroot "$root" apt-get -q -y --no-install-recommends install shim-signed \
	grub-efi-amd64-signed mokutil >"$out/apt.log" 2>&1 ||
	fail 'shim was not installed' "see $out/apt.log"

# The module of DKMS without its signature, which follows its code.
mkdir "$root/unsigned"
module=$root/unsigned/mmbatch_zone_device.ko
xz -dc "$root/lib/modules/$old/updates/dkms/mmbatch_zone_device.ko.xz" >"$module"
python3 - "$module" <<'END'
import sys
from pathlib import Path

path, mark = Path(sys.argv[1]), b"~Module signature appended~\n"
content = path.read_bytes()
assert content.endswith(mark), "DKMS did not sign it"
size = int.from_bytes(content[-len(mark) - 4 : -len(mark)], "big")
path.write_bytes(content[: -len(mark) - 12 - size])
END

cat >"$root/more" <<'END'
#!/bin/sh
mokutil --sb-state | sed 's/^/@@ secure /'
sed 's/^/@@ lockdown /' /sys/kernel/security/lockdown
insmod /unsigned/mmbatch_zone_device.ko && echo "@@ unsigned was taken"
cd /opt/mmbatch
PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 python3 -m mmbatch live load zone_device \
	--module /unsigned/mmbatch_zone_device.ko 2>&1 | sed 's/^/@@ tool /'
cat /proc/keys | grep -i dkms | sed 's/^/@@ key /'
if ! mokutil --test-key /var/lib/dkms/mok.pub | grep -q 'already enrolled'; then
	printf '%s\n' PASSWORD PASSWORD | mokutil --import /var/lib/dkms/mok.pub
	echo "@@ import $?"
fi
END
sed -i "s/PASSWORD/$password/g" "$root/more"
chmod 755 "$root/more"

partition() { # make the EFI system partition: shim, which loads GRUB, which loads the kernel
	local esp=$base/copy/esp
	rm -f "$esp"
	mkfs.vfat -C "$esp" 262144 >/dev/null
	cat >"$base/copy/grub.cfg" <<-END
		linux /vmlinuz root=/dev/vda $cmdline
		initrd /initrd
		boot
	END
	mmd -i "$esp" ::EFI ::EFI/BOOT ::EFI/debian
	mcopy -i "$esp" "$root/usr/lib/shim/shimx64.efi.signed" ::EFI/BOOT/BOOTX64.EFI
	mcopy -i "$esp" "$root/usr/lib/shim/mmx64.efi.signed" ::EFI/BOOT/mmx64.efi
	mcopy -i "$esp" "$root/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed" \
		::EFI/BOOT/grubx64.efi
	mcopy -i "$esp" "$base/copy/grub.cfg" ::EFI/debian/grub.cfg
	mcopy -i "$esp" "$root/boot/vmlinuz-$old" ::vmlinuz
	mcopy -i "$esp" "$root/boot/initrd.img-$old" ::initrd
}
firm() { # firm SERIAL: run QEMU with firmware that enforces Secure Boot
	emulate "$1" -machine q35,nvdimm=on,smm=on -smp 1 \
		-global driver=cfi.pflash01,property=secure,value=on \
		-drive "if=pflash,format=raw,unit=0,readonly=on,file=$firmware/OVMF_CODE_4M.secboot.fd" \
		-drive "if=pflash,format=raw,unit=1,file=$base/copy/variables" \
		-drive "file=$base/copy/esp,if=virtio,format=raw"
}
enroll() { # answer MokManager, and keep what went wrong
	/usr/bin/python3 "$(dirname "$0")/enroll.py" "$base/copy/serial" "$out/enrolled.console" \
		$password 2>"$out/enrolled.log"
}
boot_secure() { # boot_secure NAME: boot the disk as it is
	say "booting Linux $old with Secure Boot ($1)"
	(firm "file:$out/$1.console") &
	check "$1: QEMU ended by itself" ends $!
	told "$1"
	check "$1: Secure Boot is enabled" grep -q '^secure SecureBoot enabled' "$out/$1.report"
	check "$1: the kernel is locked down" grep -q '^lockdown .*\[integrity\]' "$out/$1.report"
	check "$1: an unsigned module is refused" not grep -q '^unsigned' "$out/$1.report"
	check "$1: the log says why" \
		grep -q 'Loading of unsigned module is rejected' "$out/$1.console"
}

cp $firmware/OVMF_VARS_4M.ms.fd "$base/copy/variables"
partition
disk
boot_secure refused
has_own refused
check 'refused: the log says that the key is unknown' \
	grep -q 'Loading of module with unavailable key is rejected' "$out/refused.console"
check 'refused: the tool says why' \
	grep -q '^tool error: .*the kernel is locked down (integrity)' "$out/refused.report"
check 'refused: the key will be enrolled at the next boot' grep -q '^import 0' "$out/refused.report"

say 'confirming that in MokManager'
(firm "unix:$base/copy/serial,server=on,wait=on") &
until [ -S "$base/copy/serial" ]; do sleep 0.1; done
check "enrolled: MokManager asked for it (else see $out/enrolled.log)" enroll
check 'enrolled: QEMU ended by itself' ends $!

boot_secure accepted
seen accepted
loaded accepted
check 'accepted: the kernel knows the key' grep -q '^key .*DKMS' "$out/accepted.report"

say "done: $bad failed"
[ $bad = 0 ]

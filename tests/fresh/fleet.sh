#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Run HEAD's fleet/playbook.yml against two chroots: if the first lacks a compiler, it must fail
# and leave nothing, and nothing may be done to the second. Then it installs on both, then nothing
# changes. Nothing is loaded.
#
#   tests/fresh/fleet.sh BASE DIRECTORY
#
# BASE is a directory with a root of Debian 13, its kernel and compiler. It is made unless it is
# there: tests/fresh/boot.sh makes the same one in its --base. It is not changed: the hosts are
# overlays of its root, below DIRECTORY, which is deleted first.
#
# Needs root, a network, debootstrap and ansible.
set -euo pipefail

[ $# = 2 ] || {
	sed -n 's/^#   /usage: /p' "$0" >&2
	exit 2
}
checkout=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
fail() {
	printf 'error: cannot try the playbook: %s\nhint: %s\n' "$1" "$2" >&2
	exit 1
}
[ "$(id -u)" = 0 ] || fail 'only root may make roots' 'run it with sudo'
for program in ansible-playbook debootstrap; do
	command -v $program >/dev/null || fail "there is no $program" 'install it with apt-get'
done
if [ "${INSIDE:-}" != 1 ]; then # the mounts end with this process
	INSIDE=1 exec unshare --mount --propagation private "$0" "$@"
fi
. "$checkout/tests/fresh/lib.sh"

place=$(realpath -m "$2") root=$(realpath -m "$2")/host
rm -rf "$place"
mkdir -p "$place" "$1"
make_base trixie "$(realpath "$1")" "$place"
for host in host other; do
	mkdir "$place"/{,upper-,work-}$host
	over=upperdir=$place/upper-$host,workdir=$place/work-$host
	mount -t overlay overlay -o "lowerdir=$(realpath "$1")/root,$over" "$place/$host"
	mount -t proc proc "$place/$host/proc"
	mount --bind /dev "$place/$host/dev"
done
git clone -q "$checkout" "$place/mmbatch" # the playbook packs HEAD, which must not change

play() { # play LOG: run the playbook
	ANSIBLE_NOCOWS=1 ansible-playbook -i "$place/hosts.yml" "$place/mmbatch/fleet/playbook.yml" |
		tee "$1"
}
cat >"$place/hosts.yml" <<END
all:
  children:
    mmbatch:
      hosts: {host: {ansible_host: $root}, other: {ansible_host: $place/other}}
      vars:
        ansible_connection: community.general.chroot
        ansible_python_interpreter: /usr/bin/python3
        mmbatch_load: false
        mmbatch_speedups: [zone_device]
END

echo "== without a compiler: it must fail and leave nothing"
mkdir "$root/aside"
mv "$root"/usr/bin/*gcc-[0-9]* "$root/aside"
! play "$place/bare.log" || fail 'it did not fail without a compiler' "see $place/bare.log"
grep -q 'it was taken away again: .*which is not installed' "$place/bare.log"
[ -z "$(chroot "$root" dkms status)" ]
[ -z "$(find "$root"/{etc,usr/lib,usr/src,usr/share,lib/modules} -name '*mmbatch*')" ]
mv "$root"/aside/* "$root/usr/bin"
! grep -q '^[a-z]*: \[other\]' <(sed '1,/TASK .Install them/d' "$place/bare.log")

echo "== with the compiler: it installs"
play "$place/first.log"
for host in host other; do
	chroot "$place/$host" dkms status | grep -q installed
	chroot "$place/$host" dpkg -s mmbatch-boot | grep -q '^Status: .* installed$'
done

echo "== once more: nothing may change"
play "$place/second.log"
[ "$(grep -Ec '^(host|other) .* changed=0 .* failed=0 ' "$place/second.log")" = 2 ]
echo "== good"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Run HEAD's fleet/ansible/playbook.yml against four chroots of this machine, one of which must fail.
#
#   tests/fresh/fleet.sh [--measure] BASE DIRECTORY
#
# BASE is a directory with a root of Debian 13, its kernel and compiler. It is made unless it is
# there: tests/fresh/boot.sh makes the same one in its --base. It is not changed: each host is an
# overlay of its root, below DIRECTORY, which is deleted first. The third one has no compiler.
#
# The hosts' devices are made up, and their kernel is the one that runs here. So nothing is
# measured on these four and nothing is loaded, but the modules are built.
#
# With --measure there is one host instead, which has nothing that mmbatch needs. It must be
# reported as such. Then apt installs all of it there, and the playbook measures and installs as
# it does by default, but loads nothing. This takes longer, and fetches a kernel's source.
#
# Needs root, a network, debootstrap and ansible.
set -euo pipefail

measure=no
[ "${1:-}" != --measure ] || {
	measure=yes
	shift
}
[ $# = 2 ] || {
	sed -n 's/^#   /usage: /p' "$0" >&2
	exit 2
}
place=$(realpath -m "$2")
checkout=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
hosts="host1 host2 host3 host4"
fail() {
	printf 'error: cannot try the playbook: %s\nhint: %s\n' "$1" "$2" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || fail 'only root may make roots' 'run it with sudo'
for program in ansible-playbook debootstrap; do
	command -v $program >/dev/null || fail "there is no $program" 'install it with apt-get'
done
[[ $(ansible-doc -t connection -l 2>/dev/null) == *community.general.chroot* ]] ||
	fail 'Ansible has no community.general.chroot' 'apt-get install ansible'
if [ "${INSIDE:-}" != 1 ]; then # the mounts end with this process
	[ $measure = no ] || set -- --measure "$@"
	INSIDE=1 exec unshare --mount --propagation private "$0" "$@"
fi
. "$checkout/tests/fresh/lib.sh"

overlay() { # overlay NAME LOWER: mount a root of its own
	mkdir -p "$place/$1"/{upper,work,root}
	mount -t overlay overlay \
		-o "lowerdir=$2,upperdir=$place/$1/upper,workdir=$place/$1/work" "$place/$1/root"
	mount -t proc proc "$place/$1/root/proc"
	mount --bind /dev "$place/$1/root/dev"
}

devices() { # devices NAME: make up the devices of a host
	PYTHONPATH="$checkout/tests" python3 -B -c 'import sys, pathlib, fake_sysfs
fake_sysfs.make_sysfs(sys.argv[1], pathlib.Path(sys.argv[2]))' \
		three "$place/$1/root/srv/sysfs"
}

rm -rf "$place"
mkdir -p "$place" "$1"
make_base trixie "$(realpath "$1")" "$place"
base=$(realpath "$1")/root

# The playbook packs HEAD, which must not change during the run.
git clone -q "$checkout" "$place/mmbatch"
playbook=$place/mmbatch/fleet/ansible/playbook.yml

if [ $measure = yes ]; then
	overlay plain "$base"
	root=$place/plain/root
	mount -t sysfs -o ro sysfs "$root/sys"
	devices plain
	cat >"$place/hosts.yml" <<-END
		all:
		  vars:
		    mmbatch_results: $place/results
		    ansible_python_interpreter: /usr/bin/python3
		  children:
		    mmbatch:
		      vars:
		        ansible_connection: community.general.chroot
		        mmbatch_load: false
		        mmbatch_environment: {MMBATCH_CACHE: /var/cache/mmbatch}
		        mmbatch_plan_options: [zone_device, --sysfs, /srv/sysfs]
		        mmbatch_speedups: [zone_device]
		      hosts:
		        plain: {ansible_host: $root}
	END
	export ANSIBLE_NOCOWS=1

	echo "== a host that lacks all that mmbatch needs: it must be reported"
	! ansible-playbook -i "$place/hosts.yml" "$playbook" || exit 1
	cat "$place/results/report.md"
	grep -q '^| plain |.*| failed | it could not be looked at: .*hint: ' "$place/results/report.md"
	[ ! -e "$place/results/plain/doctor.json" ] || [ -s "$place/results/plain/doctor.json" ]
	[ -z "$(chroot "$root" dkms status)" ]

	echo "== the same host, where apt may install it: measure and install"
	ansible-playbook -i "$place/hosts.yml" -e '{"mmbatch_install_packages": true}' "$playbook"
	cat "$place/results/report.md"
	grep -q '^| plain |.*| installed | zone_device' "$place/results/report.md"
	[ -s "$place/results/plain/zone_device.json" ]
	[ -s "$place/results/report.html" ]
	chroot "$root" dkms status | grep -q installed
	echo "== good"
	exit
fi

overlay common "$base"
chroot "$place/common/root" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
	--no-install-recommends install python3-{click,jinja2,numpy,rich,scipy} >"$place/apt.log"
umount "$place/common/root"/{dev,proc,}
for host in $hosts; do
	overlay "$host" "$place/common/upper:$base"
	devices "$host"
done
rm -f "$place"/host3/root/usr/bin/*gcc-[0-9]*

{
	echo "all:"
	echo "  vars:"
	echo "    mmbatch_results: $place/results"
	echo "    mmbatch_batches: 2"
	echo "    ansible_python_interpreter: /usr/bin/python3"
	echo "  children:"
	echo "    mmbatch:"
	echo "      vars:"
	echo "        ansible_connection: community.general.chroot"
	echo "        mmbatch_load: false"
	echo "        mmbatch_environment: {MMBATCH_NO_VENV: '1', MMBATCH_CACHE: /var/cache/mmbatch}"
	echo "        mmbatch_plan_options: [zone_device, --sysfs, /srv/sysfs,"
	echo "          --record, results/zone_device-7.3-zen5-2c.json]"
	echo "      hosts:"
	for host in $hosts; do
		echo "        $host: {ansible_host: $place/$host/root}"
	done
} >"$place/hosts.yml"

# play LOG: run the playbook, which must fail because of the third host and nothing else.
play() {
	! ANSIBLE_NOCOWS=1 ansible-playbook -i "$place/hosts.yml" "$playbook" >"$1"
	cat "$1"
	grep -q "report.md: host3\"" "$1"
	[ -s "$place/results/report.html" ]
}

echo "== the first run: the third host must fail"
play "$place/first.log"
cat "$place/results/report.md"
grep -q '^| host3 |.*| failed |' "$place/results/report.md"
[ "$(grep -c '| installed |' "$place/results/report.md")" = 3 ]
[ -z "$(chroot "$place/host3/root" dkms status)" ]
[ -z "$(find "$place"/host3/root/{etc,usr/lib,usr/src,usr/share,lib/modules} -name '*mmbatch*')" ]
for host in host1 host2 host4; do
	chroot "$place/$host/root" dkms status | grep -q installed
	chroot "$place/$host/root" dpkg -s mmbatch-boot | grep -q '^Status: .* installed$'
done

echo "== the second run: nothing may change on the others"
play "$place/second.log"
for host in host1 host2 host4; do
	grep -q "^$host .* changed=0 .* failed=0 " "$place/second.log"
done
echo "== good"

# SPDX-License-Identifier: GPL-2.0-only
# Make a minimal root of Debian that installs packages as this machine does. Sourced by scripts
# that define fail(), and set `checkout`. The mirror is the one that apt is configured with here.

# sources SUITE: print the archives of Debian from which this machine's apt installs its own
# release, in /etc/apt/sources.list or below sources.list.d, as deb822 for another release.
sources() {
	local own uri suite
	own=$(. /etc/os-release && echo "$VERSION_CODENAME")
	apt-get update --print-uris -o Dir::State::lists=/nonexistent |
		sed -n "s!^'\([^']*\)/dists/\($own[^']*\)/main/binary-.*!\1 \2!p" | sort -u -k 2 |
		while read -r uri suite; do
			[[ $suite != *-backports* ]] || continue
			printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n\n' \
				"$uri" "${suite/$own/$1}"
		done
}

# make_root SUITE DIRECTORY LOG PACKAGES: PACKAGES are added, with commas between them.
make_root() {
	local suite=$1 root=$2 log=$3 packages=$4 found mirror file
	found=$(sources "$suite" 2>"$log")
	[ -n "$found" ] || fail "no mirror of Debian" \
		"name an archive of Debian in /etc/apt/sources.list, as sources.list(5) says"
	mirror=$(awk '/^URIs:/ { print $2; exit }' <<<"$found")
	chmod 755 "$root" # mktemp makes it private
	debootstrap --variant=minbase --include="ca-certificates,$packages" \
		"$suite" "$root" "$mirror" >"$log" 2>&1 || fail "debootstrap failed" "see $log"
	rm -f "$root/etc/apt/sources.list"
	echo "$found" >"$root/etc/apt/sources.list.d/debian.sources"
	# Copy the settings with which this machine reaches its mirrors.
	grep -ls Acquire /etc/apt/apt.conf.d/* | xargs -r cp -t "$root/etc/apt/apt.conf.d"
	for file in /etc/pip.conf /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
		[ ! -e $file ] || cp -L $file "$root$file"
	done
}

# make_base SUITE BASE LOGS: unless it is there already, make BASE/root: Debian with its kernel,
# the headers, dkms, ndctl, and what mmbatch needs to run in it.
make_base() {
	local suite=$1 root=$2/root.new
	[ ! -e "$2/root/boot" ] || return 0
	echo "making a root of $suite"
	mkdir -p "$root"
	make_root "$suite" "$root" "$3/debootstrap.log" \
		systemd-sysv,udev,kmod,initramfs-tools,zstd,python3,python3-click,python3-rich
	# The updated kernel is of the backports. apt takes nothing else from there by itself.
	sed -i -E "s/^Suites:(.* )?$suite( .*)?$/& $suite-backports/" \
		"$root/etc/apt/sources.list.d/debian.sources"
	mount -t proc proc "$root/proc"
	chroot "$root" apt-get -q update >"$3/base.log"
	chroot "$root" apt-get -q -y --no-install-recommends install ndctl dkms \
		{linux-image,linux-headers}-amd64 >>"$3/base.log" 2>&1 ||
		fail 'its kernel was not installed' "see $3/base.log"
	umount "$root/proc"
	chroot "$root" apt-get clean
	mv "$root" "$2/root"
}

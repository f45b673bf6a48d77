#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Run the README's commands as a stranger would: in a minimal Debian that has nothing of
# this machine's, from a fresh clone, with an empty cache, in a path with a space.
set -euo pipefail

usage() {
	cat <<-'END'
	usage: tests/fresh/run.sh [OPTION...] [--] [COMMAND...]

	Make a minimal root of Debian with debootstrap, clone HEAD into it, and run each COMMAND
	there; by default "make bench", "make test" and "make report".

	  --suite NAME   Debian release: bookworm (default) or trixie
	  --as-root      run as root; by default as a user who may use sudo
	  --out DIR      where logs go (default: fresh-SUITE-USER in the current directory)
	  --root DIR     where the root is made (default: a new directory in /var/tmp); DIR must
	                 be new, empty, or a root that this script made
	  --keep         leave the root there; with --root DIR, the next run uses it again.
	                 Without it, the root is removed at the end

	Needs root, debootstrap, a network, and 20 GB of disk. It runs in mount and process
	namespaces of its own, so nothing that it starts or mounts outlives it.
	END
}

fail() {
	printf 'error: cannot run in a fresh root: %s\nhint: %s\n' "$1" "$2" >&2
	exit 1
}

suite=bookworm user=fresh out='' root='' keep=''
while [ $# -gt 0 ]; do
	case $1 in
	--suite) suite=$2; shift 2 ;;
	--as-root) user=root; shift ;;
	--out) out=$2; shift 2 ;;
	--root) root=$2; shift 2 ;;
	--keep) keep=1; shift ;;
	-h|--help) usage; exit 0 ;;
	--) shift; break ;;
	-*) usage >&2; exit 2 ;;
	*) break ;;
	esac
done
[ $# -gt 0 ] || set -- 'make bench' 'make test' 'make report'

# A root is removed at the end, so it must be ours: it has the mark, or what an older run.sh
# put into each of its roots.
mark=.mmbatch-fresh
is_ours() {
	[[ ! -e $1 || -e $1/$mark || (-e $1/etc/debian_version && -e $1/etc/sudoers.d/fresh) ]] ||
		[[ -d $1 && -z $(ls -A "$1") ]]
}
[ -z "$root" ] || is_ours "$root" ||
	fail "$root has files that this script did not make" 'give another directory with --root'

checkout=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
[ "$(id -u)" = 0 ] || fail 'only root may make one' 'run it with sudo'
command -v debootstrap >/dev/null || fail 'there is no debootstrap' 'apt-get install debootstrap'

if [ -z "${MMBATCH_FRESH:-}" ]; then
	out=${out:-fresh-$suite-$user}
	mkdir -p "$out"
	out=$(realpath "$out")
	[ -n "$root" ] && mkdir -p "$root" || root=$(mktemp -d /var/tmp/mmbatch-fresh.XXXXXX)
	root=$(realpath "$root")
	touch "$root/$mark"
	[ -n "$keep" ] || trap 'rm -rf --one-file-system "$root"' EXIT
	options=(--suite "$suite" --out "$out" --root "$root")
	[ "$user" = root ] && options+=(--as-root)
	MMBATCH_FRESH=1 unshare --mount --pid --fork --kill-child -- \
		"$(realpath "$0")" "${options[@]}" -- "$@" &
	child=$!
	trap 'kill -KILL "$child"' INT TERM # which ends all that runs in its namespaces
	status=0
	wait "$child" || status=$?
	exit $status
fi

# From here on, this runs in namespaces of its own.
. "$(dirname "$(realpath "$0")")/lib.sh"

if [ ! -e "$root/etc/debian_version" ]; then
	# Install what the README requires, and what any Debian in use has.
	make_root "$suite" "$root" "$out/debootstrap.log" sudo,git,make,gcc,libc6-dev,python3
	chroot "$root" useradd --create-home --shell /bin/bash fresh
	echo 'fresh ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/fresh"
fi

mount --make-rprivate /
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"

home=/home/fresh
[ "$user" = fresh ] || home=/root
in_root() { # run a shell command as the user, with nothing of our environment
	chroot "$root" env -i TERM=dumb LANG=C.UTF-8 PATH="$PATH" \
		su -s /bin/bash - "$user" -c "$1" </dev/null
}

git -C "$checkout" bundle create -q "$root/tmp/mmbatch.bundle" HEAD
chmod a+r "$root/tmp/mmbatch.bundle"
place="$home/a path"
in_root "rm -rf '$place' ~/.cache/mmbatch && mkdir '$place' &&
	git -c advice.detachedHead=false clone -q /tmp/mmbatch.bundle '$place/mmbatch'"
commit=$(git -C "$checkout" rev-parse --short HEAD)
before=$(chroot "$root" dpkg-query -f '.\n' -W | wc -l)

{
	echo "# $(. "$root/etc/os-release" && echo "$PRETTY_NAME"), as $user, commit $commit"
	echo
	echo "$(sed -n 's/^model name\t*: //p' /proc/cpuinfo | head -1)," \
		"$(nproc) CPUs; load before: $(cut -d' ' -f1 /proc/loadavg)"
	echo
	echo '| command | exit code | minutes | load after | cache |'
	echo '| --- | ---: | ---: | ---: | ---: |'
} | tee "$out/summary.md"

status=0 number=0
for command in "$@"; do
	number=$((number + 1)) start=$SECONDS code=0
	in_root "cd '$place/mmbatch' && $command" >"$out/$number.log" 2>&1 || code=$?
	[ $code = 0 ] || status=1
	cache=$(du -sh "$root$home/.cache/mmbatch" 2>/dev/null | cut -f1) || cache=-
	printf '| `%s` | %d | %d.%d | %s | %s |\n' "$command" $code \
		$(((SECONDS - start) / 60)) $(((SECONDS - start) % 60 / 6)) \
		"$(cut -d' ' -f1 /proc/loadavg)" "$cache" | tee -a "$out/summary.md"
done

after=$(chroot "$root" dpkg-query -f '.\n' -W | wc -l)
changed=$(in_root "cd '$place/mmbatch' && git status --porcelain --ignored") || status=1
# make report writes the page, and Python what it compiled.
changed=$(sed -e '/^!! report\.html$/d' -e '/^!! .*__pycache__\/$/d' <<<"$changed")
[ -z "$changed" ] || status=1
{
	echo
	echo "Debian packages: $before before, $after after."
	echo "Changed in the checkout: ${changed:-nothing}."
} | tee -a "$out/summary.md"
exit $status

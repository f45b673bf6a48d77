#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# new.sh NAME: copy this directory to speedups/NAME, and replace "template" by NAME in
# file names and in the code.
set -eu
case "${1-}" in
'' | [!a-z]* | *[!a-z0-9_]*)
	echo "usage: $0 NAME (lower-case letters, digits and _; a C identifier)" >&2
	exit 2
	;;
esac
here=$(cd "$(dirname "$0")" && pwd)
new=$(dirname "$here")/$1
if [ -e "$new" ]; then
	echo "error: cannot create speedups/$1: it exists" >&2
	exit 1
fi
upper=$(echo "$1" | tr a-z A-Z)
cp -R "$here" "$new"
rm "$new/new.sh"
find "$new" -type f | while IFS= read -r file; do
	sed -i "s/template/$1/g; s/TEMPLATE/$upper/g" "$file"
	name=$(basename "$file")
	case $name in
	*template*)
		mv "$file" "$(dirname "$file")/$(echo "$name" | sed "s/template/$1/g")"
		;;
	esac
done
echo "created speedups/$1; next: ./mmbatch bench $1 --quick"

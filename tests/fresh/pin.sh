#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Write constraints.txt: the newest versions that every supported Python can have.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install -q uv
"$place/venv/bin/uv" pip compile -q --universal --python-version 3.11 --fork-strategy fewest \
	--all-extras --no-header --no-annotate --upgrade -o "$place/new.txt" pyproject.toml
{
	echo '# SPDX-License-Identifier: GPL-2.0-only'
	echo '# The tested versions of the Python packages. To refresh them: tests/fresh/pin.sh'
	cat "$place/new.txt"
} >constraints.txt

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
	echo "# What the tests need besides Debian's packages, as tested. To refresh: tests/fresh/pin.sh"
	grep -vE '^(click|colorama|jinja2|markdown-it-py|markupsafe|mdurl|numpy|pygments|rich)=' \
		"$place/new.txt"
} >constraints.txt

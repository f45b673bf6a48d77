#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# lava.sh FILE: report each test of a KTAP file to LAVA. A missing or empty file is a failed test.
set -eu
report=${LAVA_TEST_CASE:-lava-test-case}
[ -s "$1" ] || exec "$report" "$(basename "$1" .ktap)" --result fail
awk '
	{ line = $0; sub(/^ *(not )?ok [0-9]+ *(- )?/, "", line); sub(/ *# .*/, "", line)
	  gsub(/[^A-Za-z0-9._+]+/, "-", line) }
	# The line of a suite follows those of its tests, which are kept until then.
	/^ +(not )?ok / { result[++n] = /# SKIP/ ? "skip" : /not ok/ ? "fail" : "pass"; test[n] = line }
	/^(not )?ok / { for (i = 1; i <= n; i++) print line "." test[i], result[i]; n = 0 }
' "$1" | while read -r test result; do "$report" "$test" --result "$result" </dev/null; done

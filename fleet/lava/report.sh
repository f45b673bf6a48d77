#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# report.sh FILE: report each test of a KTAP file to LAVA.
#
# A test is named after its suite and itself: "fsdax-100G auto" of the suite "zone_device on
# Linux 7.3.4" becomes zone_device-on-Linux-7.3.4.fsdax-100G-auto. A file that is missing or
# empty, because mmbatch ended early, is a failed test.
set -eu

report=${LAVA_TEST_CASE:-lava-test-case}

if [ ! -s "$1" ]; then
	"$report" "$(basename "$1" .ktap)" --result fail
	exit 0
fi
awk '
	function name(text) {
		gsub(/[^A-Za-z0-9._+]+/, "-", text)
		gsub(/^-+|-+$/, "", text)
		return text
	}
	function result(line) {
		if (line ~ /# SKIP/) return "skip"
		return line ~ /^ *not ok/ ? "fail" : "pass"
	}
	# The line of a suite follows those of its tests, which are kept until then.
	/^ +(not )?ok [0-9]+/ {
		line = $0
		outcome[++count] = result(line)
		sub(/^ *(not )?ok [0-9]+ *(- )?/, "", line)
		sub(/ *# .*/, "", line)
		test[count] = name(line)
	}
	/^(not )?ok [0-9]+/ {
		line = $0
		sub(/^(not )?ok [0-9]+ *(- )?/, "", line)
		sub(/ *# .*/, "", line)
		for (i = 1; i <= count; i++) print name(line) "." test[i], outcome[i]
		count = 0
	}' "$1" | while read -r test outcome; do
	"$report" "$test" --result "$outcome" </dev/null
done

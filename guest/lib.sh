# SPDX-License-Identifier: GPL-2.0-only
# Functions for the scripts that run in a guest. init reads this file before
# the first of them.

TRACING=/sys/kernel/tracing

uptime() { cut -d' ' -f1 /proc/uptime; }
start() { echo "@@ start $(uptime)"; }
begin() { echo "@@ begin $1 $(uptime)"; }

# The kernel prints on the same console, and may split a line. So the last line has
# the number of results, and the reader compares it with the number that arrived.
results=0
tell() {
	results=$((results + 1))
	echo "@@ $*"
}
pass() { tell pass "$*"; }
fail() { tell fail "$*"; }
skip() { tell skip "$*"; }
value() { tell value "$*"; }
end() { echo "@@ end $(uptime) $results"; }

# check NAME COMMAND...: passes if the command succeeds.
check() {
	check_name=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then
		pass "$check_name"
	else
		fail "$check_name: $* ($(tail -n 1 /tmp/check.out))"
		return 1
	fi
}

# no_race FUNCTIONS: in a kernel with KCSAN, no data race in a function that this pattern of
# grep finds. Other reports are about the rest of the kernel.
no_race() {
	race_kcsan=/sys/kernel/debug/kcsan
	[ -e $race_kcsan ] || return 0
	check "KCSAN: its own test passed" sh -c 'dmesg | grep "kcsan: selftest: 3/3 tests passed"'
	check "KCSAN: on" grep '^enabled: 1$' $race_kcsan
	if dmesg | grep "BUG: KCSAN: .*\($1\)" >/tmp/races; then
		fail "KCSAN: $(head -n 1 /tmp/races)"
	else
		pass "KCSAN: no data race in our functions"
	fi
	value "KCSAN: accesses watched $(sed -n 's/^setup_watchpoints: //p' $race_kcsan)"
	value "KCSAN: reports about the rest $(dmesg | grep 'BUG: KCSAN: ' | grep -vc "\($1\)")"
}

# counted EVENT RETURN COMMAND...: run a command, and print the mean time on the
# trace clock from one kprobe event to the other, over all calls.
counted() {
	counted_in=$1 counted_out=$2
	shift 2
	echo >$TRACING/trace
	echo 1 >$TRACING/events/kprobes/enable
	"$@" || return 1
	echo 0 >$TRACING/events/kprobes/enable
	awk -v first="$counted_in:" -v last="$counted_out:" '
		function clock(i) { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+:$/) return $i + 0 }
		$0 ~ " " first { from = clock() }
		$0 ~ " " last { sum += clock() - from; n++ }
		END { if (n) printf "%d\n", sum / n; else print "none" }' $TRACING/trace
}

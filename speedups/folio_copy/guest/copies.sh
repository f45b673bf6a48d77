# SPDX-License-Identifier: GPL-2.0-only
# Count with kprobes which functions copy folios, and how large the folios are.
# Sourced after /lib.sh.

# watch EVENT FUNCTION N: count its calls by the value of argument N.
watch() {
	echo "p:$1 $2 n=\$arg$3:u32" >>$TRACING/kprobe_events || return 1
	echo hist:keys=n >$TRACING/events/kprobes/$1/trigger || return 1
	echo 1 >$TRACING/events/kprobes/$1/enable
	watched="$watched $1"
}

# Forget all counts. Overwriting the file instead would remove the trigger.
forget() {
	for event in $watched; do
		echo hist:keys=n:clear >>$TRACING/events/kprobes/$event/trigger
	done
}

# calls EVENT [N]: print the number of calls, of those with argument N if it is given.
calls() {
	awk -v want="$2" '
		$1 == "{" && $2 == "n:" && (want == "" || $3 == want) { sum += $6 }
		END { print sum + 0 }' $TRACING/events/kprobes/$1/hist
}

watch_all() {
	watch mc folio_mc_copy 2 && watch plain folio_copy 2 &&
		watch page copy_mc_to_kernel 3 && watch auto folio_copy_auto 3 &&
		watch bulk folio_copy_bulk 3 && watch stream folio_copy_stream 3
}

# copies_of EVENT PAGES: print the number of copies of folios of PAGES pages. Base calls
# folio_mc_copy() only, whose number of pages is not among its arguments.
copies_of() {
	case $1 in
	pages) calls mc ;;
	*) calls "$1" "$2" ;;
	esac
}

# copied_by NAME EVENT FOLIOS PAGES: check that at least FOLIOS folios of PAGES pages
# were copied, by EVENT and by no other. A fork also copies single pages on write.
# The event "auto" copies by bulk and by stream.
copied_by() {
	check "$1: copied as folios of $4 pages" test "$(copies_of "$2" $4)" -ge "$3"
	for event in auto bulk stream; do
		case $2 in
		"$event" | auto) ;;
		*) check "$1: $event did not" test "$(calls $event $4)" -eq 0 ;;
		esac
	done
	case $2 in
	pages)
		check "$1: page by page" test "$(calls page 4096)" -ge $(($3 * $4))
		check "$1: not as single pages" test "$(calls mc)" -lt $(($3 * $4 / 2))
		;;
	*) check "$1: not page by page" test "$(calls page 4096)" -lt $(($3 * $4 / 2)) ;;
	esac
}

# by METHOD: print the event that counts the copies of a method.
by() {
	case $1 in
	base) echo pages ;;
	*) echo "$1" ;;
	esac
}

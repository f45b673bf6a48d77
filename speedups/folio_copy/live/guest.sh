# SPDX-License-Identifier: GPL-2.0-only
# Functions for guests with a stock kernel: copies of folios, each verified by the
# module folio_image. Sourced by live/guest/live.sh.

COPY=/sys/module/folio_image/parameters/copy

# copies ORDER: print the digest of what both functions wrote.
copies() { echo "$1" >$COPY && cat $COPY; }

# folio_copy_prepare STAGE: keep the digests of the unpatched kernel, unless compare.sh did.
folio_copy_prepare() {
	for order in 0 1 4 9; do
		[ -e "/tmp/copy.$order" ] || copies $order >"/tmp/copy.$order"
	done
}

# same_copies: succeeds if the digests of all orders are those that were kept.
same_copies() {
	for order in 0 1 4 9; do
		[ "$(copies $order)" = "$(cat "/tmp/copy.$order")" ] || return 1
	done
}

folio_copy_works() { same_copies; }

# Meanwhile two programs move small and huge pages between two nodes.
folio_copy_load() {
	move_pages 2>>/tmp/faults &
	movers=$!
	move_huge 2>>/tmp/faults >/tmp/moved &
	movers="$movers $!"
	while [ ! -e /tmp/stop ]; do
		echo 9 >$COPY || fault "folio_copy"
		sleep 1
	done
	kill $movers || fault "a mover ended early"
	wait
}

# Now and then a huge page can't be moved whole, for instance because the other node
# has no free one.
folio_copy_finish() {
	check "$1: huge pages moved as a whole ($(cat /tmp/moved))" \
		awk '{ good = $1 > 0 && $1 >= $3 / 2 } END { exit !good }' /tmp/moved
}

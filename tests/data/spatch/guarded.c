// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: one function that spatch can't parse without a macro file.

static int toy_first(int toy)
{
	return toy + 1;
}

static int toy_guarded(struct toy *toy)
{
	scoped_cond_guard(toy_try, return 0, &toy->lock) {
		toy->count++;
		toy_first(toy->count);
	}
	return 1;
}

static int toy_last(int toy)
{
	toy_grow(toy);
	toy_grow(toy + 1);
	return toy_first(toy);
}

// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: spatch stumbles in the very line that opens the function.

static int toy_first(int toy)
{
	return toy + 1;
}

TOY_DEFINE(toy) static int toy_open(int toy) toy_glued toy_painted
{
	return toy;
}

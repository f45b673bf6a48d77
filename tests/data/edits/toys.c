// SPDX-License-Identifier: GPL-2.0-only
int toy_first(int toy);

static int
toy_first(int toy)
{
	/* one */
	paint(toy);
	return toy;
}

static int toy_second(int toy,
		      int colour)
{
	/*
	 * Of all toys
	 * the red ones.
	 */
	paint(toy);
#ifdef TOYS
	glue(toy);
#endif
	return colour;
}

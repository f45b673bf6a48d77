// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simplest ways to write memory, whose fastest bounds what any code can reach.
 * Which of them that is depends on the CPU, and on whether the memory is in the
 * cache. All are written in assembly, because a compiler turns such a loop into
 * memset(), and into wider stores where it can.
 */
#include "host.h"

#define LINE	64UL

/* Some CPUs write zeroes at twice the speed, but no struct page is all zero. */
#define WORD	(hosted_bench.fills == HOSTED_FILLS_ZERO ? 0 : 0x0300000000002000UL)

#define STORE(op, reg, at)	op " " reg ", " #at "(%[at])\n\t"
#define LINE_OF_8(op)							\
	STORE(op, "%[word]", 0)  STORE(op, "%[word]", 8)		\
	STORE(op, "%[word]", 16) STORE(op, "%[word]", 24)		\
	STORE(op, "%[word]", 32) STORE(op, "%[word]", 40)		\
	STORE(op, "%[word]", 48) STORE(op, "%[word]", 56)
#define LINE_OF_16(op)							\
	STORE(op, "%%xmm0", 0)  STORE(op, "%%xmm0", 16)			\
	STORE(op, "%%xmm0", 32) STORE(op, "%%xmm0", 48)
#define LINE_OF_32(op)	STORE(op, "%%ymm0", 0) STORE(op, "%%ymm0", 32)
#define LINE_OF_64(op)	STORE(op, "%%zmm0", 0)

#define LOAD_8	""
#define LOAD_16	"movq %[word], %%xmm0\n\tpunpcklqdq %%xmm0, %%xmm0\n\t"
#define LOAD_32	"vmovq %[word], %%xmm0\n\tvpunpcklqdq %%xmm0, %%xmm0, %%xmm0\n\t" \
		"vinsertf128 $1, %%xmm0, %%ymm0, %%ymm0\n\t"
#define LOAD_64	"vpbroadcastq %[word], %%zmm0\n\t"

#define DRAIN	"sfence\n\t"
/* kernel_fpu_begin() of a later row would save the upper halves of registers too. */
#define CLEAN	"vzeroupper\n\t"

#define FILL(name, width, op, after)					\
static void fill_##name(void *image, unsigned long bytes)		\
{									\
	char *at = image, *end = at + ((bytes + LINE - 1) & -LINE);	\
									\
	asm volatile(LOAD_##width					\
		     "1:\n\t"						\
		     LINE_OF_##width(op)				\
		     "add $64, %[at]\n\t"				\
		     "cmp %[end], %[at]\n\t"				\
		     "jb 1b\n\t"					\
		     after						\
		     : [at] "+r"(at)					\
		     : [end] "r"(end), [word] "r"(WORD)			\
		     : "memory", "cc", "xmm0");				\
}

FILL(mov_8, 8, "movq", "")
FILL(mov_32, 32, "vmovdqa", CLEAN)
FILL(mov_64, 64, "vmovdqa64", CLEAN)
FILL(movnt_8, 8, "movntiq", DRAIN)
FILL(movnt_16, 16, "movntdq", DRAIN)
FILL(movnt_32, 32, "vmovntdq", DRAIN CLEAN)
FILL(movnt_64, 64, "vmovntdq", DRAIN CLEAN)

static void fill_stosq(void *image, unsigned long bytes)
{
	unsigned long words = (bytes + LINE - 1) / LINE * (LINE / 8);

	asm volatile("rep stosq" : "+D"(image), "+c"(words) : "a"(WORD) : "memory");
}

static bool has_avx(void)
{
	return __builtin_cpu_supports("avx");
}

static bool has_avx512f(void)
{
	return __builtin_cpu_supports("avx512f");
}

static const struct fill {
	struct hosted_limit limit;
	bool (*available)(void);	/* NULL: on every CPU */
} fills[] = {
	{ .limit = { .name = "rep stosq", .run = fill_stosq } },
	{ .limit = { .name = "mov 8", .run = fill_mov_8 } },
	{ .limit = { .name = "mov 32", .run = fill_mov_32 }, .available = has_avx },
	{ .limit = { .name = "mov 64", .run = fill_mov_64 }, .available = has_avx512f },
	{ .limit = { .name = "movnt 8", .run = fill_movnt_8 } },
	{ .limit = { .name = "movnt 16", .run = fill_movnt_16 } },
	{ .limit = { .name = "movnt 32", .run = fill_movnt_32 }, .available = has_avx },
	{ .limit = { .name = "movnt 64", .run = fill_movnt_64 }, .available = has_avx512f },
};

unsigned int fills_here(const struct hosted_limit **found)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < FILLS; i++) {
		if (!fills[i].available || fills[i].available())
			found[nr++] = &fills[i].limit;
	}
	return nr;
}

_Static_assert(sizeof(fills) / sizeof(*fills) == FILLS, "FILLS is how many there are");

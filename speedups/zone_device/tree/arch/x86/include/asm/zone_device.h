/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_ZONE_DEVICE_H
#define _ASM_X86_ZONE_DEVICE_H

/* Streaming methods. Only mm/zone_device_method.c includes this file. */

#ifdef CONFIG_X86_64

#include <linux/bug.h>
#include <asm/fpu/api.h>

/* movnti: one 8-byte store per word of the descriptor. */

static void zone_device_movnti_stamp(struct page *page, const struct page *tmpl,
				     unsigned long nr)
{
	for (; nr; nr--, page++)
		memcpy_streaming(page, tmpl, sizeof(*page));
}

static const struct zone_device_method zone_device_movnti = {
	.name		= "movnti",
	.streaming	= true,
	.usable		= IS_ALIGNED(sizeof(struct page), 8),
	.stamp		= zone_device_movnti_stamp,
};

/*
 * wide: 16-byte stores from four registers that hold the whole descriptor, so
 * that the loop loads nothing.
 */
struct zone_device_oword {
	u64 word[2];
};

static bool zone_device_wide_ready(void)
{
	return irq_fpu_usable();
}

static void zone_device_wide_begin(void)
{
	kernel_fpu_begin();
}

static void zone_device_wide_end(void)
{
	kernel_fpu_end();
}

static void zone_device_wide_stamp(struct page *page, const struct page *tmpl,
				   unsigned long nr)
{
	const struct zone_device_oword *from = (const void *)tmpl;
	struct zone_device_oword *to = (void *)page;

	/* The memmap is page aligned, and a descriptor is four owords. */
	if (WARN_ON_ONCE(!IS_ALIGNED((unsigned long)to, sizeof(*to)))) {
		zone_device_movnti_stamp(page, tmpl, nr);
		return;
	}

	/*
	 * The kernel is built without SSE, so the compiler keeps nothing in
	 * these registers, and no clobber is needed.
	 */
	asm volatile("movdqu %0, %%xmm0" : : "m" (from[0]));
	asm volatile("movdqu %0, %%xmm1" : : "m" (from[1]));
	asm volatile("movdqu %0, %%xmm2" : : "m" (from[2]));
	asm volatile("movdqu %0, %%xmm3" : : "m" (from[3]));

	for (; nr; nr--, to += 4) {
		asm volatile("movntdq %%xmm0, %0" : "=m" (to[0]));
		asm volatile("movntdq %%xmm1, %0" : "=m" (to[1]));
		asm volatile("movntdq %%xmm2, %0" : "=m" (to[2]));
		asm volatile("movntdq %%xmm3, %0" : "=m" (to[3]));
	}
}

static const struct zone_device_method zone_device_wide = {
	.name		= "wide",
	.streaming	= true,
	.usable		= sizeof(struct page) == 64,
	.ready		= zone_device_wide_ready,
	.begin		= zone_device_wide_begin,
	.stamp		= zone_device_wide_stamp,
	.end		= zone_device_wide_end,
};

/* In order of preference. */
static const struct zone_device_method *const arch_zone_device_methods[] = {
	&zone_device_wide,
	&zone_device_movnti,
	NULL
};

#else
#include <asm-generic/zone_device.h>
#endif /* CONFIG_X86_64 */

#endif /* _ASM_X86_ZONE_DEVICE_H */

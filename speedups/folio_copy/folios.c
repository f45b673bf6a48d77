// SPDX-License-Identifier: GPL-2.0-only
/* Memory with struct pages, and CPUs to copy it with. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <asm/mce.h>
#include <../mm/internal.h>

#include "hosted.h"
#include "folios.h"
#include "wanted.h"

HOSTED_ENTRY(enable_copy_mc_fragile);

/* Aligned to the largest folio. */
#define FIRST_PFN	(1UL << 20)

const struct folios_cpu folios_cpus[] = {
	{ "as found",	-1, -1, -1, -1, false },
	{ "rep_good",	 1,  0,  0,  0, false },
	{ "erms",	 1,  1,  0,  0, false },
	{ "fsrm",	 1,  0,  1,  0, false },
	{ "fragile",	-1, -1, -1, -1, true },
	{ "movdir64b",	 1,  1,  1,  1, false },
};

const unsigned int folios_nr_cpus = ARRAY_SIZE(folios_cpus);

const unsigned long *folios_times;
unsigned int folios_timed;

#ifdef WANTED_local_clock
u64 local_clock(void)
{
	static unsigned int readings;
	static u64 now;

	if (!folios_times)
		return hosted_now_ns();
	if (readings++ % 2)
		now += folios_times[folios_timed++ % FOLIOS_TIMES];
	return now;
}
#endif

void folios_map(void *memory, unsigned long bytes)
{
	static struct page *memmap;
	static unsigned long size;

	page_offset_base = (unsigned long)memory - PFN_PHYS(FIRST_PFN);
	if (bytes > size) {
		memmap = hosted_arena((bytes >> PAGE_SHIFT) * sizeof(*memmap));
		size = bytes;
	}
	memset(memmap, 0, (bytes >> PAGE_SHIFT) * sizeof(*memmap));
	hosted_memmap_at(memmap, FIRST_PFN);
}

struct page *folios_page(unsigned long i)
{
	return pfn_to_page(FIRST_PFN + i);
}

void *folios_address(unsigned long i)
{
	return page_address(folios_page(i));
}

unsigned long folios_index(unsigned long pfn)
{
	return pfn - FIRST_PFN;
}

struct folio *folios_make(unsigned long i, unsigned int order)
{
	struct folio *folio = (struct folio *)folios_page(i);

	memset(folio, 0, sizeof(struct page) << min(order, 2U));
	if (order) {
		__SetPageHead(&folio->page);
		folio_set_order(folio, order);
	}
	return folio;
}

static void force(const char *feature, int value, int found)
{
	hosted_cpu_force(feature, value < 0 ? found : value);
}

void folios_be(const struct folios_cpu *cpu)
{
	static int rep_good = -1, erms, fsrm, movdir64b;
	unsigned int layout, side;

	if (rep_good < 0) {
		rep_good = hosted_cpu_has("rep_good");
		erms = hosted_cpu_has("erms");
		fsrm = hosted_cpu_has("fsrm");
		movdir64b = hosted_cpu_has("movdir64b");
	}
	hosted_alternatives_restore();
	force("rep_good", cpu->rep_good, rep_good);
	force("erms", cpu->erms, erms);
	force("fsrm", cpu->fsrm, fsrm);
	force("movdir64b", cpu->movdir64b, movdir64b);
	hosted_alternatives_apply();

	hosted_keys_restore();
	for (layout = 0; cpu->fragile && layout < HOSTED_LAYOUTS; layout++) {
		for (side = 0; side < HOSTED_SIDES; side++)
			enable_copy_mc_fragile_of[layout][side]();
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The suite "vmap": its cases, its fixture, and the helpers that read a mapping
 * back from the page table and compare it with what was asked for.
 */

#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "vmap_reuse.h"
#include "vmap_kunit.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"vmap_kunit."

bool vmap_kunit_beside_readers;
module_param_named(beside_readers, vmap_kunit_beside_readers, bool, 0644);
MODULE_PARM_DESC(beside_readers,
		 "Another process reads page tables meanwhile, so vmap() may fall back to PTEs (default N)");

static bool vmap_grouped(pte_t pte)
{
#ifdef pte_cont
	return pte_cont(pte);
#else
	return false;
#endif
}

#if defined(CONFIG_X86)
static u64 vmap_pte_attributes(pte_t pte)
{
	return pte_flags(pte);
}

static u64 vmap_pmd_attributes(pmd_t pmd)
{
	return pgprot_val(pgprot_large_2_4k(__pgprot(pmd_flags(pmd) & ~_PAGE_PSE)));
}
#elif defined(CONFIG_ARM64)
/* All bits except the address and the size, which are compared separately. */
static u64 vmap_pte_attributes(pte_t pte)
{
	return pgprot_val(pte_pgprot(pte)) & ~(PTE_CONT | (PTE_TYPE_PAGE ^ PMD_TYPE_SECT));
}

static u64 vmap_pmd_attributes(pmd_t pmd)
{
	return vmap_pte_attributes(__pte(pmd_val(pmd)));
}
#else
static u64 vmap_pte_attributes(pte_t pte)
{
	return 0;
}

static u64 vmap_pmd_attributes(pmd_t pmd)
{
	return 0;
}
#endif

struct vmap_leaf vmap_kunit_leaf(unsigned long addr)
{
	struct vmap_leaf leaf = { .kind = VMAP_NONE };
	pgd_t *pgd = pgd_offset_k(addr);
	p4d_t *p4d;
	pud_t *pud;
	pmd_t pmd;
	pte_t pte;

	if (pgd_none(*pgd))
		return leaf;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(*p4d))
		return leaf;
	pud = pud_offset(p4d, addr);
	if (pud_none(*pud) || pud_leaf(*pud))
		return leaf;
	pmd = pmdp_get(pmd_offset(pud, addr));
	if (pmd_none(pmd))
		return leaf;
	if (pmd_leaf(pmd)) {
		leaf.kind = VMAP_BLOCK;
		leaf.pfn = pmd_pfn(pmd) + (addr & ~PMD_MASK) / PAGE_SIZE;
		leaf.attributes = vmap_pmd_attributes(pmd);
		return leaf;
	}
	pte = ptep_get(pte_offset_kernel(&pmd, addr));
	if (pte_none(pte))
		return leaf;
	leaf.kind = vmap_grouped(pte) ? VMAP_GROUP : VMAP_PAGE;
	leaf.pfn = pte_pfn(pte);
	leaf.attributes = vmap_pte_attributes(pte);

	return leaf;
}

u64 vmap_kunit_attributes(unsigned long pfn, pgprot_t prot)
{
	return vmap_pte_attributes(pfn_pte(pfn, prot));
}

static unsigned long vmap_want_pfn(const struct vmap_want *want, unsigned long i)
{
	return want->pages ? page_to_pfn(want->pages[i]) : want->pfn + i;
}

/* Whether a leaf entry of this size could map the pages from @i on. */
static bool vmap_want_leaf(const struct vmap_want *want, unsigned long i, unsigned int shift)
{
	unsigned long nr = BIT(shift - PAGE_SHIFT), first = vmap_want_pfn(want, i), k;

	if (shift > want->max_shift || i + nr > want->nr ||
	    !IS_ALIGNED(want->addr + i * PAGE_SIZE, BIT(shift)) || !IS_ALIGNED(first, nr))
		return false;
	for (k = 1; k < nr; k++) {
		if (vmap_want_pfn(want, i + k) != first + k)
			return false;
	}

	return true;
}

/* While others read page tables, no table of PTEs is freed for a huge PMD mapping. */
static bool vmap_table_is_kept(unsigned long addr)
{
	return READ_ONCE(vmap_kunit_beside_readers) && vmap_kunit_leaf(addr).kind != VMAP_BLOCK;
}

/*
 * Compare every page of a mapping, and the guard page after it, with @want. In the
 * message of a failure, expected values are in parentheses.
 */
bool vmap_kunit_verify(struct kunit *test, struct vmap_want *want)
{
	const unsigned int group = VMAP_GROUP_SHIFT;
	unsigned long i = 0, k, nr;
	enum vmap_kind kind;

	want->blocks = 0;
	want->groups = 0;
	while (i < want->nr) {
		kind = VMAP_PAGE;
		nr = 1;
		if (vmap_want_leaf(want, i, PMD_SHIFT) &&
		    !vmap_table_is_kept(want->addr + i * PAGE_SIZE)) {
			kind = VMAP_BLOCK;
			nr = BIT(PMD_SHIFT - PAGE_SHIFT);
			want->blocks++;
		} else if (group > PAGE_SHIFT && vmap_want_leaf(want, i, group)) {
			kind = VMAP_GROUP;
			nr = BIT(group - PAGE_SHIFT);
			want->groups++;
		}
		for (k = i; k < i + nr; k++) {
			unsigned long addr = want->addr + k * PAGE_SIZE;
			struct vmap_leaf leaf = vmap_kunit_leaf(addr);
			unsigned long pfn = vmap_want_pfn(want, k);
			u64 attributes = vmap_kunit_attributes(pfn, want->prot);

			if (leaf.kind == kind && leaf.pfn == pfn &&
			    leaf.attributes == attributes &&
			    vmalloc_to_pfn((void *)addr) == pfn)
				continue;
			KUNIT_FAIL(test, "%lu of %lu: kind %d (%d), pfn %#lx (%#lx), %#llx (%#llx)",
				   k, want->nr, leaf.kind, kind, leaf.pfn, pfn,
				   leaf.attributes, attributes);
			return false;
		}
		i += nr;
	}

	return vmap_kunit_expect_kind(test, want->addr + want->nr * PAGE_SIZE, 1, VMAP_NONE);
}

/* Fails the test unless @nr pages from @addr on are all mapped by @kind. */
bool vmap_kunit_expect_kind(struct kunit *test, unsigned long addr, unsigned long nr,
			    enum vmap_kind kind)
{
	unsigned long i;

	for (i = 0; i < nr; i++) {
		enum vmap_kind found = vmap_kunit_leaf(addr + i * PAGE_SIZE).kind;

		if (found == kind)
			continue;
		KUNIT_FAIL(test, "page %lu of %lu: kind %d, expected %d", i, nr, found, kind);
		return false;
	}

	return true;
}

/* The tag depends on the PFN, because an array may hold the same page more than once. */
static u64 vmap_tag(struct page *page, u64 which)
{
	return (page_to_pfn(page) * 2 + which) * 0x9e3779b97f4a7c15ULL;
}

/* Write through the linear map and read through the mapping, then the other way round. */
bool vmap_kunit_bytes(struct kunit *test, const struct vmap_want *want)
{
	unsigned long i, at = PAGE_SIZE - sizeof(u64);

	for (i = 0; i < want->nr; i++)
		*(u64 *)page_address(want->pages[i]) = vmap_tag(want->pages[i], 0);
	for (i = 0; i < want->nr; i++) {
		void *here = (void *)(want->addr + i * PAGE_SIZE);

		if (READ_ONCE(*(u64 *)here) != vmap_tag(want->pages[i], 0)) {
			KUNIT_FAIL(test, "page %lu of %lu: has the contents of another page",
				   i, want->nr);
			return false;
		}
		WRITE_ONCE(*(u64 *)(here + at), vmap_tag(want->pages[i], 1));
	}
	for (i = 0; i < want->nr; i++) {
		if (READ_ONCE(*(u64 *)(page_address(want->pages[i]) + at)) ==
		    vmap_tag(want->pages[i], 1))
			continue;
		KUNIT_FAIL(test, "page %lu of %lu: the write went to another page", i, want->nr);
		return false;
	}

	return true;
}

/* Pages 0 to VMAP_LOOSE - 1 are not compound; those of the compound page follow. */
struct page *vmap_kunit_page(const struct vmap_memory *memory, unsigned long i)
{
	return i < VMAP_LOOSE ? memory->loose + i : memory->compound + (i - VMAP_LOOSE);
}

void vmap_kunit_fill(struct vmap_memory *memory, unsigned long first, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		memory->pages[i] = vmap_kunit_page(memory, first + i);
}

struct vm_struct *vmap_kunit_area(unsigned long size, unsigned long flags)
{
	return __get_vm_area_node(size, PMD_SIZE, PAGE_SHIFT, flags, VMALLOC_START, VMALLOC_END,
				  NUMA_NO_NODE, GFP_KERNEL, __builtin_return_address(0));
}

static const struct vmap_param vmap_params[] = {
	{ "base" }, { "runs" }, { "pmd", true }, { "auto", true, true },
};

KUNIT_ARRAY_PARAM_DESC(vmap, vmap_params, name);

/*
 * Whether an option is on the command line. The variable that the kernel sets for
 * it is what the tests check, so they cannot rely on it.
 */
bool vmap_kunit_booted_with(const char *option)
{
	return strstr(saved_command_line, option);
}

unsigned int vmap_kunit_shift(const struct vmap_param *param, pgprot_t prot)
{
	if (param->large && IS_ENABLED(CONFIG_HAVE_ARCH_HUGE_VMALLOC) &&
	    !vmap_kunit_booted_with("nohugevmalloc") && arch_vmap_pmd_supported(prot))
		return PMD_SHIFT;
	return PAGE_SHIFT;
}

static int vmap_test_init(struct kunit *test)
{
	struct vmap_memory *memory;

	memory = kunit_kzalloc(test, sizeof(*memory), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, memory);
	memory->method_before = vmap_method();
	memory->free_blocks_before = VMAP_FREE_BLOCKS;
	WRITE_ONCE(vmap_free_blocks, 1);
	test->priv = memory;
	memory->pages = kunit_kcalloc(test, VMAP_LOOSE, sizeof(*memory->pages), GFP_KERNEL);
	memory->loose = alloc_pages(GFP_KERNEL, ilog2(VMAP_LOOSE));
	memory->compound = alloc_pages(GFP_KERNEL | __GFP_COMP, ilog2(VMAP_COMPOUND));
	KUNIT_ASSERT_NOT_NULL(test, memory->pages);
	KUNIT_ASSERT_NOT_NULL(test, memory->loose);
	KUNIT_ASSERT_NOT_NULL(test, memory->compound);
	if (test->param_value) {
		const struct vmap_param *param = test->param_value;

		KUNIT_ASSERT_EQ(test, vmap_set_method(param->name), 0);
	}

	return 0;
}

static void vmap_test_exit(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;

	if (!memory)
		return;
	vmap_set_method(memory->method_before);
	WRITE_ONCE(vmap_free_blocks, memory->free_blocks_before);
	if (memory->loose)
		__free_pages(memory->loose, ilog2(VMAP_LOOSE));
	if (memory->compound)
		__free_pages(memory->compound, ilog2(VMAP_COMPOUND));
}

static void vmap_names(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vmap_params); i++) {
		KUNIT_EXPECT_EQ(test, vmap_set_method(vmap_params[i].name), 0);
		KUNIT_EXPECT_STREQ(test, vmap_method(), vmap_params[i].name);
	}
	KUNIT_EXPECT_EQ(test, vmap_set_method("auto\n"), 0);
	KUNIT_EXPECT_EQ(test, vmap_set_method("no such"), -EINVAL);
	KUNIT_EXPECT_STREQ(test, vmap_method(), "auto");
}

static struct kunit_case vmap_test_cases[] = {
	KUNIT_CASE(vmap_names),
	KUNIT_CASE_PARAM(vmap_arrays, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_range, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_vmalloc, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_attribute, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_owned, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_put_pages, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_table, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_read_only, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_accessed, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_reuse, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_boundary, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_border, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_remap, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_vread, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_vread_hidden, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_vread_beside, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_vread_held, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_visit, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_sparse, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_map_ram, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_parts, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_atomic, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_percpu, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_bad_page, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_no_memory, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_no_table, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_no_space, vmap_gen_params),
	{}
};

static struct kunit_suite vmap_test_suite = {
	.name = "vmap",
	.init = vmap_test_init,
	.exit = vmap_test_exit,
	.test_cases = vmap_test_cases,
};

kunit_test_suite(vmap_test_suite);

MODULE_DESCRIPTION("KUnit tests for mappings of contiguous memory");
MODULE_LICENSE("GPL");

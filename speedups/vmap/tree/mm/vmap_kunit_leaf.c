// SPDX-License-Identifier: GPL-2.0-only
/* What is mapped at an address, read back from the page table, and what should be. */

#include <linux/vmalloc.h>

#include "vmap_internal.h"
#include "vmap_kunit.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"vmap_kunit."

bool vmap_kunit_beside_readers;
module_param_named(beside_readers, vmap_kunit_beside_readers, bool, 0644);
MODULE_PARM_DESC(beside_readers,
		 "Somebody reads the page table meanwhile: the kernel may leave large leafs out (default N)");

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
/* All but the address and the size, which are looked at by themselves. */
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

/* Whether one leaf of this size could map all from page @i on. */
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

/* Where a table is in the way of a large leaf, it stays while others read it. */
static bool vmap_left_out(unsigned long addr)
{
	return READ_ONCE(vmap_kunit_beside_readers) && vmap_kunit_leaf(addr).kind != VMAP_BLOCK;
}

/* Look at every page of a mapping, and at the hole behind it; what was wanted is in brackets. */
bool vmap_kunit_verify(struct kunit *test, struct vmap_want *want)
{
	const unsigned int group = ARCH_VMAP_GROUP_SHIFT;
	unsigned long i = 0, k, nr;
	enum vmap_kind kind;

	want->blocks = 0;
	want->groups = 0;
	while (i < want->nr) {
		kind = VMAP_PAGE;
		nr = 1;
		if (vmap_want_leaf(want, i, PMD_SHIFT) &&
		    !vmap_left_out(want->addr + i * PAGE_SIZE)) {
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

	return vmap_kunit_is(test, want->addr + want->nr * PAGE_SIZE, 1, VMAP_NONE);
}

/* Whether @nr pages from @addr on are all mapped in one way. */
bool vmap_kunit_is(struct kunit *test, unsigned long addr, unsigned long nr,
		   enum vmap_kind kind)
{
	unsigned long i;

	for (i = 0; i < nr; i++) {
		enum vmap_kind found = vmap_kunit_leaf(addr + i * PAGE_SIZE).kind;

		if (found == kind)
			continue;
		KUNIT_FAIL(test, "page %lu of %lu: kind %d, want %d", i, nr, found, kind);
		return false;
	}

	return true;
}

/* A page is known by its number, since an array may hold it more than once. */
static u64 vmap_tag(struct page *page, u64 which)
{
	return (page_to_pfn(page) * 2 + which) * 0x9e3779b97f4a7c15ULL;
}

/* What is written through the linear map is read here, and the other way round. */
bool vmap_kunit_bytes(struct kunit *test, const struct vmap_want *want)
{
	unsigned long i, at = PAGE_SIZE - sizeof(u64);

	for (i = 0; i < want->nr; i++)
		*(u64 *)page_address(want->pages[i]) = vmap_tag(want->pages[i], 0);
	for (i = 0; i < want->nr; i++) {
		void *here = (void *)(want->addr + i * PAGE_SIZE);

		if (READ_ONCE(*(u64 *)here) != vmap_tag(want->pages[i], 0)) {
			KUNIT_FAIL(test, "page %lu of %lu: holds another page's bytes",
				   i, want->nr);
			return false;
		}
		WRITE_ONCE(*(u64 *)(here + at), vmap_tag(want->pages[i], 1));
	}
	for (i = 0; i < want->nr; i++) {
		if (READ_ONCE(*(u64 *)(page_address(want->pages[i]) + at)) ==
		    vmap_tag(want->pages[i], 1))
			continue;
		KUNIT_FAIL(test, "page %lu of %lu: was written elsewhere", i, want->nr);
		return false;
	}

	return true;
}

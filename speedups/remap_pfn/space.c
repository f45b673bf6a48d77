// SPDX-License-Identifier: GPL-2.0-only
/* A process with page tables of its own, and the calls that map and unmap there. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/string.h>
#include <asm/pgalloc.h>

#include "space.h"

void remap_unmap(struct vm_area_struct *vma, unsigned long addr, unsigned long size);

HOSTED_ENTRY(remap_pfn_range);
HOSTED_ENTRY(remap_unmap);

static struct mm_struct space_mm;
static struct vm_area_struct space_vma;
static struct space_effects space_done;
static bool space_capable;

/* There is no TLB, and nothing waits for pages to be freed. */
void space_flush(struct mm_struct *mm, unsigned long start, unsigned long end)
	asm("flush_tlb_mm_range");
void space_flush(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	space_done.flushes++;
	space_done.flushed += start + 3 * end;
}

bool capable(int cap)
{
	space_done.asked++;
	return space_capable;
}

#define NOTHING(fn)	asm(".globl " #fn "\n" #fn ": ret\n")

NOTHING(flush_tlb_batched_pending);
NOTHING(lru_add_drain);

/* No driver has asked for another cache mode of this memory. */
#define ZERO(fn)	asm(".globl " #fn "\n" #fn ": xor %eax, %eax\nret\n")

ZERO(pfnmap_track);
ZERO(pfnmap_untrack);
ZERO(pfnmap_setup_cachemode);
ZERO(track_pfn_remap);
ZERO(untrack_pfn);

void space_init(unsigned long memory)
{
	hosted_memory_init(memory);
	hosted_early_sections(1);
	space_mm.pgd = page_address(alloc_pages(GFP_KERNEL | __GFP_ZERO, 0));
	spin_lock_init(&space_mm.page_table_lock);
	/* The caller of remap_pfn_range() has the lock for write: RWSEM_WRITER_LOCKED. */
	atomic_long_set(&space_mm.mmap_lock.count, 1);
}

/* Let a shared mapping be there, of which nothing is mapped yet. */
void space_begin(unsigned long start, unsigned long bytes)
{
	memset(&space_vma, 0, sizeof(space_vma));
	space_vma.vm_mm = &space_mm;
	space_vma.vm_start = start;
	/* A mapping of all of it would be tracked. */
	space_vma.vm_end = start + bytes + PAGE_SIZE;
	vm_flags_init(&space_vma, VM_READ | VM_WRITE | VM_MAYREAD | VM_MAYWRITE | VM_SHARED |
		      VM_MAYSHARE);
}

/* Let the CPU be one with L1TF, and the process one that may map any page. */
void space_l1tf(bool affected, bool capable)
{
	assign_bit(X86_BUG_L1TF, (unsigned long *)boot_cpu_data.x86_capability, affected);
	boot_cpu_data.x86_cache_bits = SPACE_CACHE_BITS;
	space_capable = capable;
}

void space_effects(struct space_effects *effects)
{
	*effects = space_done;
	effects->tables = mm_pgtables_bytes(&space_mm) / PAGE_SIZE + hosted_pages_used();
	memset(&space_done, 0, sizeof(space_done));
}

static pmd_t *space_pmd(unsigned long addr)
{
	p4d_t *p4d = p4d_offset(pgd_offset(&space_mm, addr), addr);
	pud_t *pud;

	if (p4d_none(*p4d))
		return NULL;
	pud = pud_offset(p4d, addr);
	return pud_none(*pud) ? NULL : pmd_offset(pud, addr);
}

/* Free the tables of PTEs of a range, which maps nothing any more. */
void space_drop_tables(unsigned long start, unsigned long bytes)
{
	unsigned long addr, end = start + bytes;

	for (addr = start & PMD_MASK; addr < end; addr += PMD_SIZE) {
		pmd_t *pmd = space_pmd(addr);

		if (!pmd || pmd_none(*pmd))
			continue;
		pte_free(&space_mm, pmd_page(*pmd));
		mm_dec_nr_ptes(&space_mm);
		pmd_clear(pmd);
	}
}

u64 space_pte(unsigned long addr)
{
	pmd_t *pmd = space_pmd(addr);

	if (!pmd || pmd_none(*pmd))
		return 0;
	return pte_val(*((pte_t *)pmd_page_vaddr(*pmd) + pte_index(addr)));
}

int space_remap(enum hosted_side side, unsigned long addr, unsigned long pfn,
		unsigned long bytes, pgprot_t prot)
{
	return HOSTED_CALL(remap_pfn_range, side, &space_vma, addr, pfn, bytes, prot);
}

void space_unmap(enum hosted_side side, unsigned long addr, unsigned long bytes)
{
	HOSTED_CALL(remap_unmap, side, &space_vma, addr, bytes);
}

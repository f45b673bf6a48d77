// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for kernel code that allocates: slab objects, and pages for the page
 * tables of init_mm. All of it comes from one arena, which serves as the direct
 * map. So page tables hold addresses of the arena, where code that walks the page
 * tables finds them. The hardware never walks them.
 *
 * asm() gives these functions their names, because kernels declare them with
 * different arguments after those that are used here.
 */
#include <linux/cpumask.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/pgtable.h>
#include <linux/slab.h>

#include "hosted.h"
#include "wanted.h"

#ifdef WANTED_init_mm

enum {
	HOSTED_SLAB_HEADER = 64,	/* keeps objects aligned to a cache line */
	HOSTED_SLAB_CLASSES = 12,	/* of 64 bytes to 128 KiB */
};

struct mm_struct init_mm;
unsigned int pgdir_shift = 39;
unsigned int ptrs_per_p4d = 1;
pteval_t __supported_pte_mask __read_mostly = ~0UL;
pteval_t __default_kernel_pte_mask __read_mostly = ~0UL;
atomic_t __num_online_cpus = ATOMIC_INIT(1);
atomic_long_t _totalram_pages;

static char *hosted_memory, *hosted_memory_end;

/* As in the kernel, what a CPU frees is what it allocates next, so CPUs don't contend. */
static struct {
	struct page *free_pages;
	void *free_slabs[HOSTED_SLAB_CLASSES];
	long pages_in_use;		/* may be negative, because others free pages, too */
	long slabs_in_use;
} __aligned(64) hosted_lists[HOSTED_CPUS];

static unsigned long hosted_allocations_good, hosted_allocations_bad;

/**
 * hosted_memory_init - give kernel code memory to allocate
 * @bytes: size of that memory
 *
 * Its first page is PFN 0. The memmap has struct pages for these pages only: the
 * struct page of any other page has an address, but must not be read or written.
 */
void hosted_memory_init(unsigned long bytes)
{
	void *memmap = hosted_arena(bytes / PAGE_SIZE * sizeof(struct page));

	hosted_memory = hosted_arena(bytes);
	hosted_memory_end = hosted_memory + bytes;
	page_offset_base = (unsigned long)hosted_memory;
	hosted_memmap_at(memmap, 0);
	atomic_long_set(&_totalram_pages, 1UL << 30);
	spin_lock_init(&init_mm.page_table_lock);

	init_mm.pgd = (pgd_t *)hosted_memory;
	memset(init_mm.pgd, 0, PAGE_SIZE);
	hosted_memory += PAGE_SIZE;
}

/**
 * hosted_allocations_fail - let kernel code run out of memory
 * @after: allocations that still succeed
 * @nr: allocations that fail after those; 0 lets all succeed
 */
void hosted_allocations_fail(unsigned long after, unsigned long nr)
{
	hosted_allocations_good = after;
	hosted_allocations_bad = nr;
}

/* Pages and slab objects in use, to find leaks. */
unsigned long hosted_pages_used(void)
{
	unsigned long used = 0;

	for (unsigned int cpu = 0; cpu < HOSTED_CPUS; cpu++)
		used += hosted_lists[cpu].pages_in_use;
	return used;
}

unsigned long hosted_slabs_used(void)
{
	unsigned long used = 0;

	for (unsigned int cpu = 0; cpu < HOSTED_CPUS; cpu++)
		used += hosted_lists[cpu].slabs_in_use;
	return used;
}

static bool hosted_may_allocate(void)
{
	if (!hosted_allocations_bad)
		return true;
	if (hosted_allocations_good) {
		hosted_allocations_good--;
		return true;
	}
	hosted_allocations_bad--;
	return false;
}

static void *hosted_memory_get(unsigned long bytes, unsigned long align)
{
	char *old = READ_ONCE(hosted_memory), *memory;

	do {
		memory = PTR_ALIGN(old, align);
		if (memory + bytes > hosted_memory_end)
			hosted_die("kernel code allocates more than the bench gave it");
	} while (!try_cmpxchg(&hosted_memory, &old, memory + bytes));
	return memory;
}

void *hosted_alloc_pages(gfp_t gfp, unsigned int order) asm("alloc_pages_noprof");
void *hosted_alloc_pages(gfp_t gfp, unsigned int order)
{
	struct page *page = hosted_lists[smp_processor_id()].free_pages;

	if (order)
		hosted_die("kernel code allocates more than one page at a time");
	if (!hosted_may_allocate())
		return NULL;
	if (page)
		hosted_lists[smp_processor_id()].free_pages = (struct page *)page->private;
	else
		page = virt_to_page(hosted_memory_get(PAGE_SIZE, PAGE_SIZE));

	memset(page, 0, sizeof(*page));
	atomic_set(&page->_mapcount, -1);
	set_page_count(page, 1);
	if (gfp & __GFP_ZERO)
		memset(page_address(page), 0, PAGE_SIZE);
	hosted_lists[smp_processor_id()].pages_in_use++;
	return page;
}

void hosted_free_page(struct page *page, unsigned int order) asm("__free_pages");
void hosted_free_page(struct page *page, unsigned int order)
{
	unsigned int cpu = smp_processor_id();

	page->private = (unsigned long)hosted_lists[cpu].free_pages;
	hosted_lists[cpu].free_pages = page;
	hosted_lists[cpu].pages_in_use--;
}

void hosted_free_page_at(unsigned long address, unsigned int order) asm("free_pages");
void hosted_free_page_at(unsigned long address, unsigned int order)
{
	hosted_free_page(virt_to_page((void *)address), order);
}

static void *hosted_slab_get(unsigned long bytes, gfp_t gfp)
{
	unsigned int class = bytes > 64 ? fls64(bytes - 1) - 6 : 0;
	unsigned int cpu = smp_processor_id();
	char *object;

	if (class >= HOSTED_SLAB_CLASSES)
		hosted_die("kernel code allocates an object of more than 128 KiB");
	if (!hosted_may_allocate())
		return NULL;
	object = hosted_lists[cpu].free_slabs[class];
	if (object) {
		hosted_lists[cpu].free_slabs[class] = *(void **)object;
	} else {
		object = hosted_memory_get(HOSTED_SLAB_HEADER + (64UL << class),
					   HOSTED_SLAB_HEADER);
		object += HOSTED_SLAB_HEADER;
		*(unsigned int *)(object - HOSTED_SLAB_HEADER) = class;
	}
	memset(object, gfp & __GFP_ZERO ? 0 : 0x5a, bytes);
	hosted_lists[cpu].slabs_in_use++;
	return object;
}

static void hosted_slab_put(char *object)
{
	unsigned int class, cpu = smp_processor_id();

	if (!object)
		return;
	class = *(unsigned int *)(object - HOSTED_SLAB_HEADER);
	*(void **)object = hosted_lists[cpu].free_slabs[class];
	hosted_lists[cpu].free_slabs[class] = object;
	hosted_lists[cpu].slabs_in_use--;
}

/* A cache is only the size of its objects; kmalloc() passes the size each time. */
struct kmem_cache *hosted_cache_create(const char *name, unsigned int size)
	asm("__kmem_cache_create_args");
struct kmem_cache *hosted_cache_create(const char *name, unsigned int size)
{
	return (void *)(unsigned long)size;
}

void *hosted_cache_alloc(unsigned long size, gfp_t gfp) asm("kmem_cache_alloc_noprof");
void *hosted_cache_alloc(unsigned long size, gfp_t gfp)
{
	return hosted_slab_get(size, gfp);
}

void *hosted_cache_alloc_node(unsigned long size, gfp_t gfp)
	asm("kmem_cache_alloc_node_noprof");
void *hosted_cache_alloc_node(unsigned long size, gfp_t gfp)
{
	return hosted_slab_get(size, gfp);
}

void hosted_cache_free(void *cache, void *object) asm("kmem_cache_free");
void hosted_cache_free(void *cache, void *object)
{
	hosted_slab_put(object);
}

kmem_buckets kmalloc_caches[NR_KMALLOC_TYPES];

void *hosted_kmalloc_cache(void *cache, gfp_t gfp, unsigned long size)
	asm("__kmalloc_cache_noprof");
void *hosted_kmalloc_cache(void *cache, gfp_t gfp, unsigned long size)
{
	return hosted_slab_get(size, gfp);
}

void *hosted_kmalloc_cache_node(void *cache, gfp_t gfp, int node, unsigned long size)
	asm("__kmalloc_cache_node_noprof");
void *hosted_kmalloc_cache_node(void *cache, gfp_t gfp, int node, unsigned long size)
{
	return hosted_slab_get(size, gfp);
}

void *hosted_kmalloc(unsigned long size, gfp_t gfp) asm("__kmalloc_noprof");
void *hosted_kmalloc(unsigned long size, gfp_t gfp)
{
	return hosted_slab_get(size, gfp);
}

void hosted_kfree(void *object) asm("kfree");
void hosted_kfree(void *object)
{
	hosted_slab_put(object);
}

/* No shrinker is ever called. */
static struct {
	long words[32];
} hosted_shrinker;

void *hosted_shrinker_alloc(void) asm("shrinker_alloc");
void *hosted_shrinker_alloc(void)
{
	return &hosted_shrinker;
}

/* Nobody takes these locks to write. */
asm(".globl down_read_trylock\n"
    "down_read_trylock: mov $1, %eax\n"
    "ret\n"
    ".globl up_read\n"
    "up_read: ret\n");

/* Nothing can be reclaimed, and nothing may be printed. */
#define HOSTED_ZERO(fn)		asm(".globl " #fn "\n" #fn ": xor %eax, %eax\nret\n")

HOSTED_ZERO(blocking_notifier_call_chain);
HOSTED_ZERO(__printk_ratelimit);

static unsigned long hosted_flushes_done, hosted_flushed_bytes;
static unsigned long hosted_flush_ns;

/**
 * hosted_flush_takes - let each flush of the kernel's TLB entries take a while
 * @ns: how long all CPUs take to do it; 0, as at the start, for no time at all
 */
void hosted_flush_takes(unsigned long ns)
{
	hosted_flush_ns = ns;
}

unsigned long hosted_flushes(void)
{
	return hosted_flushes_done;
}

unsigned long hosted_flushed(void)
{
	return hosted_flushed_bytes;
}

/* There is no TLB. */
void hosted_flush_tlb(unsigned long start, unsigned long end) asm("flush_tlb_kernel_range");
void hosted_flush_tlb(unsigned long start, unsigned long end)
{
	unsigned long begun;

	hosted_flushes_done++;
	hosted_flushed_bytes = end - start;
	if (!hosted_flush_ns)
		return;
	begun = hosted_now_ns();
	while (hosted_now_ns() - begun < hosted_flush_ns)
		cpu_relax();
}

/* There is no other page table, no statistics and no reclaim. */
#define HOSTED_NOTHING(fn)	asm(".globl " #fn "\n" #fn ": ret\n")

HOSTED_NOTHING(shrinker_register);
HOSTED_NOTHING(mod_node_page_state);
#ifdef WANTED_arch_sync_kernel_mappings
HOSTED_NOTHING(arch_sync_kernel_mappings);
#endif
#ifdef WANTED_lruvec_stat_mod_folio
HOSTED_NOTHING(lruvec_stat_mod_folio);
#endif
#ifdef WANTED___lruvec_stat_mod_folio
HOSTED_NOTHING(__lruvec_stat_mod_folio);
#endif
#ifdef WANTED___mod_lruvec_page_state
HOSTED_NOTHING(__mod_lruvec_page_state);
#endif

#endif /* WANTED_init_mm */

// SPDX-License-Identifier: GPL-2.0-only
// Precedes copy_page() in arch/x86/include/asm/page_64.h.

/* copy_pages() past the cache. On return the copy is ordered like plain stores. */
void copy_pages_streaming(void *to, const void *from, unsigned long npages);
#define copy_pages_streaming copy_pages_streaming

/* Whether it copies whole lines, which saves more than words do. */
#define copy_pages_streams_lines() cpu_feature_enabled(X86_FEATURE_MOVDIR64B)

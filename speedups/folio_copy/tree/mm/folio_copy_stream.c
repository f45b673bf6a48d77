// SPDX-License-Identifier: GPL-2.0-only
/* Copy large folios past the cache, if the architecture can. */

#include <linux/mm.h>
#include <linux/uaccess.h>

#include "folio_copy_method.h"
#include "internal.h"

unsigned long folio_copy_stream(void *to, const void *from, unsigned long npages)
{
#ifdef copy_mc_pages_streaming
	return copy_mc_pages_streaming(to, from, npages);
#else
	return folio_copy_bulk(to, from, npages);
#endif
}

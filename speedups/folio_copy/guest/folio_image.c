// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy folios in a guest with a stock kernel.
 *
 * Write an order to the parameter "copy": folio_copy() and folio_mc_copy() copy a
 * folio of that order into the first part of a larger one, all of which is
 * compared. Reading the parameter returns a digest of the result.
 */

#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#define FOLIO_IMAGE_BLANK	0x5a
#define FOLIO_IMAGE_PRIME	0x100000001b3ULL

static u64 folio_image_digest;

static void folio_image_fill(struct folio *src, struct folio *dst)
{
	u64 *words = folio_address(src), next = 0x9e3779b97f4a7c15ULL;
	unsigned long i;

	for (i = 0; i < folio_size(src) / sizeof(*words); i++) {
		next = next * 6364136223846793005ULL + 1442695040888963407ULL;
		words[i] = next;
	}
	memset(folio_address(dst), FOLIO_IMAGE_BLANK, folio_size(dst));
}

/* Check that @dst has all of @src and nothing more, and keep its digest. */
static int folio_image_check(struct folio *src, struct folio *dst)
{
	const u64 *words = folio_address(dst);
	size_t size = folio_size(src);
	unsigned long i;

	for (i = 0; i < size / sizeof(*words); i++)
		folio_image_digest = (folio_image_digest ^ words[i]) * FOLIO_IMAGE_PRIME;

	if (memcmp(words, folio_address(src), size) ||
	    memchr_inv(folio_address(dst) + size, FOLIO_IMAGE_BLANK,
		       folio_size(dst) - size)) {
		pr_err("folio_image: the copy of order %u differs\n", folio_order(src));
		return -EIO;
	}

	return 0;
}

static int folio_image_copy(struct folio *src, struct folio *dst)
{
	int err;

	folio_image_fill(src, dst);
	folio_copy(dst, src);
	err = folio_image_check(src, dst);
	if (err)
		return err;

	folio_image_fill(src, dst);
	err = folio_mc_copy(dst, src);
	return err ? err : folio_image_check(src, dst);
}

static struct folio *folio_image_alloc(unsigned int order)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP, order);

	return page ? page_folio(page) : NULL;
}

static int folio_image_set(const char *val, const struct kernel_param *kp)
{
	struct folio *src, *dst;
	unsigned int order;
	int err = -ENOMEM;

	if (kstrtouint(val, 0, &order) || order >= MAX_PAGE_ORDER)
		return -EINVAL;

	folio_image_digest = 0xcbf29ce484222325ULL;
	src = folio_image_alloc(order);
	dst = folio_image_alloc(order + 1);
	if (src && dst)
		err = folio_image_copy(src, dst);
	if (src)
		folio_put(src);
	if (dst)
		folio_put(dst);

	return err;
}

static int folio_image_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%016llx\n", folio_image_digest);
}

static const struct kernel_param_ops folio_image_ops = {
	.set = folio_image_set,
	.get = folio_image_get,
};

module_param_cb(copy, &folio_image_ops, NULL, 0600);
MODULE_PARM_DESC(copy, "order of the folio to copy");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: user of folio_copy(), for tests in guests");

// SPDX-License-Identifier: GPL-2.0-only
// Follows the plain copy in mm/zone_device.c.

static void zone_device_stream(struct page *page, const struct page *tmpl, unsigned long nr)
{
	for (; nr; nr--, page++)
		memcpy_streaming(page, tmpl, sizeof(*page));
}

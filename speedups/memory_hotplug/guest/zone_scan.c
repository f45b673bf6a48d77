// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print the flag zone->contiguous of each zone with memory, in a guest with a stock
 * kernel, and whether a scan of the zone finds a hole now.
 */

#include <linux/kernel.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/nodemask.h>
#include <linux/pageblock-flags.h>
#include <linux/sysfs.h>

static bool zone_scan_in(const struct zone *zone, unsigned long pfn)
{
	struct page *page = pfn_to_online_page(pfn);

	return page && page_zone(page) == zone;
}

static bool zone_scan(const struct zone *zone)
{
	unsigned long pfn, next;

	for (pfn = zone->zone_start_pfn; pfn < zone_end_pfn(zone); pfn = next) {
		next = min(pageblock_end_pfn(pfn), zone_end_pfn(zone));
		if (!zone_scan_in(zone, pfn) || !zone_scan_in(zone, next - 1))
			return false;
	}

	return true;
}

static int zone_scan_get(char *buffer, const struct kernel_param *kp)
{
	const struct zone *zone;
	int nid, at = 0, i;

	for_each_online_node(nid) {
		for (i = 0; i < MAX_NR_ZONES; i++) {
			zone = &NODE_DATA(nid)->node_zones[i];
			if (populated_zone(zone))
				at += sysfs_emit_at(buffer, at, "%d %s %d %d\n", nid, zone->name,
						    zone->contiguous, zone_scan(zone));
		}
	}

	return at;
}

static const struct kernel_param_ops zone_scan_ops = {
	.get = zone_scan_get,
};

module_param_cb(zones, &zone_scan_ops, NULL, 0400);
MODULE_PARM_DESC(zones, "for each zone with memory: node, name, flag, and what a scan finds");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: zone->contiguous, for tests in guests");

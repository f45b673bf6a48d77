/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_GENERIC_ZONE_DEVICE_H
#define _ASM_GENERIC_ZONE_DEVICE_H

/* There are no streaming methods here. mm/zone_device_method.c has the plain copy. */
static const struct zone_device_method *const arch_zone_device_methods[] = {
	NULL
};

#endif /* _ASM_GENERIC_ZONE_DEVICE_H */

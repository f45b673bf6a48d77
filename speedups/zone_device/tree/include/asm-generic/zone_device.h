/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_GENERIC_ZONE_DEVICE_H
#define _ASM_GENERIC_ZONE_DEVICE_H

/* No streaming stores worth having: mm/zone_device.c has plain copies only. */
#define ARCH_ZONE_DEVICE_METHODS

#endif /* _ASM_GENERIC_ZONE_DEVICE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __MM_INTERNAL_H
#define __MM_INTERNAL_H
int migrate_device_coherent_folio(struct folio *folio);

#endif	/* __MM_INTERNAL_H */

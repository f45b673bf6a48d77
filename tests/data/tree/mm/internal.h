/* SPDX-License-Identifier: GPL-2.0-only */
int migrate_device_coherent_folio(struct folio *folio);

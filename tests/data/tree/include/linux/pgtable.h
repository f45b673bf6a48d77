/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Made up for tests.
 *
 * Context: The caller holds the page table lock.  The pages all belong
 * to the same folio.  And so on.
 */

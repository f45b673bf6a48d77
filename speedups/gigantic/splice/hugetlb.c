// SPDX-License-Identifier: GPL-2.0-only
// Replaces the comment of memmap_stream() in mm/mm_init.c.

/**
 * memmap_stream() - copy a tail to the struct pages after it
 * @tail: tail of a compound page, complete but for the state of a folio
 * @nr: number of tails after it
 *
 * For memmaps that nobody reads soon: the copies bypass the cache. When this returns, they are
 * ordered like plain stores.
 *
 * Context: Any.
 * Return: false if each struct page must be made by itself. Then nothing was written.
 */

/* SPDX-License-Identifier: GPL-2.0-only */
#define __HAVE_ARCH_COPY_HIGHPAGE

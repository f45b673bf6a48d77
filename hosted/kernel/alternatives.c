// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU features and the code that depends on them, patched as the kernel does at
 * boot. The original bytes are kept, so that a process can also measure the
 * code that the kernel would choose on another CPU.
 */
#include <linux/bitops.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/alternative.h>
#include <asm/cpufeature.h>
#include <asm/processor.h>

#include "hosted.h"

extern struct alt_instr hosted_alt_start[], hosted_alt_end[];

enum { HOSTED_ALT_BYTES = 64 << 10 };

static u8 hosted_alt_saved[HOSTED_ALT_BYTES];
static bool hosted_alt_have_saved;

static const struct {
	const char *name;
	unsigned int bit;
} hosted_features[] = {
	{ "rep_good",	X86_FEATURE_REP_GOOD },
	{ "erms",	X86_FEATURE_ERMS },
	{ "fsrm",	X86_FEATURE_FSRM },
	{ "movdir64b",	X86_FEATURE_MOVDIR64B },
	{ "clzero",	X86_FEATURE_CLZERO },
};

static unsigned long *hosted_caps(void)
{
	return (unsigned long *)boot_cpu_data.x86_capability;
}

void hosted_cpu_from_cpuid(void)
{
	u32 *word = boot_cpu_data.x86_capability;
	u32 a, b, c, d;

	memset(word, 0, sizeof(boot_cpu_data.x86_capability));

	asm volatile("cpuid" : "=a" (a), "=b" (b), "=c" (c), "=d" (d) : "a" (1), "c" (0));
	word[CPUID_1_EDX] = d;
	word[CPUID_1_ECX] = c;
	boot_cpu_data.x86_clflush_size = ((b >> 8) & 0xff) * 8;
	asm volatile("cpuid" : "=a" (a), "=b" (b), "=c" (c), "=d" (d) : "a" (7), "c" (0));
	word[CPUID_7_0_EBX] = b;
	word[CPUID_7_ECX] = c;
	word[CPUID_7_EDX] = d;
	asm volatile("cpuid" : "=a" (a), "=b" (b), "=c" (c), "=d" (d) : "a" (7), "c" (1));
	word[CPUID_7_1_EAX] = a;
	asm volatile("cpuid" : "=a" (a), "=b" (b), "=c" (c), "=d" (d) : "a" (13), "c" (1));
	word[CPUID_D_1_EAX] = a;
	asm volatile("cpuid" : "=a" (a), "=b" (b), "=c" (c), "=d" (d) : "a" (0x80000001), "c" (0));
	word[CPUID_8000_0001_EDX] = d;
	word[CPUID_8000_0001_ECX] = c;
	asm volatile("cpuid" : "=a" (a), "=b" (b), "=c" (c), "=d" (d) : "a" (0x80000008), "c" (0));
	word[CPUID_8000_0008_EBX] = b;
	boot_cpu_data.x86_phys_bits = a & 0xff;
	boot_cpu_data.x86_virt_bits = (a >> 8) & 0xff;

	/* Linux's own bits, as it sets them on every 64-bit CPU. */
	set_bit(X86_FEATURE_ALWAYS, hosted_caps());
	set_bit(X86_FEATURE_REP_GOOD, hosted_caps());
	set_bit(X86_FEATURE_NOPL, hosted_caps());

	/* Instructions that only a kernel may use. */
	clear_bit(X86_FEATURE_SMAP, hosted_caps());
	clear_bit(X86_FEATURE_XSAVES, hosted_caps());
	/* Four levels of page tables reach the arenas. */
	clear_bit(X86_FEATURE_LA57, hosted_caps());
}

static int hosted_feature_bit(const char *feature)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hosted_features); i++) {
		if (!strcmp(hosted_features[i].name, feature))
			return hosted_features[i].bit;
	}
	return -1;
}

int hosted_cpu_has(const char *feature)
{
	int bit = hosted_feature_bit(feature);

	return bit < 0 ? bit : test_bit(bit, hosted_caps());
}

int hosted_cpu_force(const char *feature, int on)
{
	int bit = hosted_feature_bit(feature);

	if (bit < 0)
		return bit;
	if (on)
		set_bit(bit, hosted_caps());
	else
		clear_bit(bit, hosted_caps());
	return 0;
}

/* Copy the patchable instructions out of the text, or back into it. */
static void hosted_alt_save(bool restore)
{
	struct alt_instr *alt;
	u8 *saved = hosted_alt_saved;

	for (alt = hosted_alt_start; alt < hosted_alt_end; alt++) {
		u8 *text = (u8 *)&alt->instr_offset + alt->instr_offset;

		if (saved + alt->instrlen > hosted_alt_saved + HOSTED_ALT_BYTES)
			hosted_die("more alternatives than hosted_alt_saved holds");
		if (restore)
			memcpy(text, saved, alt->instrlen);
		else
			memcpy(saved, text, alt->instrlen);
		saved += alt->instrlen;
	}
}

/*
 * A replacement that begins with a relative branch was assembled for another
 * address, so its distance is adjusted. All others are position independent.
 */
static void hosted_alt_relocate(u8 *text, const u8 *from, unsigned int len)
{
	unsigned int at;

	if (len == 5 && (from[0] == 0xe8 || from[0] == 0xe9))
		at = 1;
	else if (len == 6 && from[0] == 0x0f && (from[1] & 0xf0) == 0x80)
		at = 2;
	else
		return;

	put_unaligned(get_unaligned((s32 *)(text + at)) + (s32)(from - text),
		      (s32 *)(text + at));
}

int hosted_alternatives_apply(void)
{
	struct alt_instr *alt;
	int applied = 0;

	if (!hosted_alt_have_saved)
		hosted_alt_save(false);
	hosted_alt_have_saved = true;

	for (alt = hosted_alt_start; alt < hosted_alt_end; alt++) {
		u8 *text = (u8 *)&alt->instr_offset + alt->instr_offset;
		u8 *from = (u8 *)&alt->repl_offset + alt->repl_offset;
		bool want = test_bit(alt->cpuid, hosted_caps());

		/* Calls through pv_ops; the hosted configuration has none. */
		if (alt->flags & ~ALT_FLAG_NOT)
			continue;
		if (alt->flags & ALT_FLAG_NOT)
			want = !want;
		if (!want)
			continue;

		memcpy(text, from, alt->replacementlen);
		hosted_alt_relocate(text, from, alt->replacementlen);
		memset(text + alt->replacementlen, 0x90,
		       alt->instrlen - alt->replacementlen);
		applied++;
	}

	return applied;
}

void hosted_alternatives_restore(void)
{
	if (hosted_alt_have_saved)
		hosted_alt_save(true);
}

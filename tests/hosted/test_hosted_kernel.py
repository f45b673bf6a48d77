# SPDX-License-Identifier: GPL-2.0-only
"""The hosted program of a real kernel: what it finds equal, names, switches and chooses."""

from pathlib import Path

import pytest

import real_kernel
from mmbatch.core import process
from mmbatch.hosted.events import (
    LIMIT_PREFIX,
    ONE_CPU,
    Case,
    Check,
    Engine,
    Equal,
    Event,
    Note,
    Sample,
    parse,
)
from mmbatch.hosted.program import Program
from mmbatch.splice.manifest import load
from real_kernel import hosted_events

SIZE = 4096

pytestmark = real_kernel.MARKS

SPLICE = """
title = "Toys"
[hosted]
own = ["toys.c"]
entries = ["toys_paint", "toys_count"]
shared = ["kernel/locking/spinlock.o", "kernel/locking/qspinlock.o"]
"""

PATCHED = """
#include <linux/bug.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/string.h>
void toys_paint(void *image, unsigned long bytes, int warned);
void toys_paint(void *image, unsigned long bytes, int warned)
{
	memset(image, 7, bytes);
	WARN_ON(warned);
}

static DEFINE_SPINLOCK(toys_spinlock);
static DEFINE_MUTEX(toys_mutex);

/* Each lock alone must make a plain addition safe. */
void toys_count(unsigned long *spun, unsigned long *slept);
void toys_count(unsigned long *spun, unsigned long *slept)
{
	spin_lock(&toys_spinlock);
	WRITE_ONCE(*spun, READ_ONCE(*spun) + 1);
	spin_unlock(&toys_spinlock);
	mutex_lock(&toys_mutex);
	WRITE_ONCE(*slept, READ_ONCE(*slept) + 1);
	mutex_unlock(&toys_mutex);
}
"""

BENCH = """
#include <linux/kernel.h>
#include <linux/string.h>
#include "hosted.h"

void toys_paint(void *image, unsigned long bytes, int warned);
HOSTED_ENTRY(toys_paint);
void toys_count(unsigned long *spun, unsigned long *slept);
HOSTED_ENTRY(toys_count);

static void *toys_image;
static const int warned = 1, counted = 64, locked = 2;
static int toys_runs;
static const struct hosted_case toys_cases[] = {
	{ "there",  "cold", 4096, 0, 0, NULL },
	{ "warned", "cold", 4096, 0, HOSTED_EXTRA_CASE, &warned },
	{ "hot",    "hot", 4096, 0, HOSTED_HOT, NULL },
	{ "flushed", "flushed", 4096, 0, HOSTED_FLUSHED, NULL },
	{ "lost",   "hot", 4096, 0, HOSTED_EXTRA_CASE | HOSTED_HOT | HOSTED_FLUSHED, NULL },
	{ "part",   "hot, LLC/4", 0, 4, HOSTED_EXTRA_CASE | HOSTED_HOT, NULL },
	{ "short",  "cold", 2, 0, HOSTED_FIXED | HOSTED_SHORT, NULL },
	{ "counted", "cold", 2, 0, HOSTED_FIXED | HOSTED_SHORT, &counted },
	{ "two",    "cold, 2 CPUs", 4096, 0, HOSTED_EXTRA_CASE, NULL, 2 },
	{ "locked", "cold, 2 CPUs", 4096, 0, HOSTED_EXTRA_CASE, &locked, 2 },
	{ "fresh",  "new", 4096, 0, HOSTED_EXTRA_CASE | HOSTED_FRESH, NULL },
	{ "other",  "no fills, 2 CPUs", 4096, 0, HOSTED_EXTRA_CASE | HOSTED_NO_FILLS, NULL, 2 },
};
static const struct hosted_variant toys_variants[] = {
	{ "base", HOSTED_BASE }, { "control", HOSTED_CONTROL }, { "auto", HOSTED_PATCHED },
};

static void toys_setup(void *image, unsigned long bytes)
{
	toys_image = image;
}

enum { TOYS_TIMES = 20000 };
static unsigned long toys_spun, toys_slept;

static void toys_count_often(unsigned int cpu, void *data)
{
	for (int i = 0; i < TOYS_TIMES; i++)
		HOSTED_CALL(toys_count, *(enum hosted_side *)data, &toys_spun, &toys_slept);
}

static void toys_run(const struct hosted_case *c, enum hosted_side side, unsigned long items)
{
	HOSTED_CALL(toys_paint, side, toys_image, items * 64, c->data == &warned);
	if (c->data == &counted && ++toys_runs > counted)
		hosted_die("ran more than 64 times");
	if (c->data != &locked)
		return;
	toys_spun = toys_slept = 0;
	hosted_on_cpus(c->cpus, toys_count_often, &side);
	if (toys_spun != c->cpus * TOYS_TIMES || toys_slept != c->cpus * TOYS_TIMES)
		hosted_die("two CPUs had a lock at the same time");
}

static unsigned long toys_touch(const void *item)
{
	return *(const unsigned char *)item;
}

static int toys_check(struct hosted_check *check)
{
	unsigned long code = (unsigned long)memcpy;

	OPTIMIZER_HIDE_VAR(code);
	hosted_format(check->text, sizeof(check->text), "%016lx %016lx",
			((unsigned long *)code)[0], ((unsigned long *)code)[1]);
	return -1;
}

const struct hosted_bench hosted_bench = {
	.speedup = "toys", .item = "toy", .item_bytes = 64, .item_memory = 64,
	.cases = toys_cases, .nr_cases = ARRAY_SIZE(toys_cases),
	.variants = toys_variants, .nr_variants = 3,
	.fills = true,
	.setup = toys_setup, .run = toys_run, .touch = toys_touch, .check = toys_check,
};
"""


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of a made-up speed-up, with a call of what no object here defines."""
    speedup_dir = tmp_path_factory.mktemp("speedups with spaces") / "toys"
    (speedup_dir / "splice").mkdir(parents=True)
    (speedup_dir / "speedup.toml").write_text(SPLICE)
    (speedup_dir / "bench.c").write_text(BENCH)
    (speedup_dir / "toys.c").write_text(PATCHED)
    return Program(real_kernel.newest(), [load(speedup_dir)]).path


def equals(events: list[Event]) -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for event in events:
        if isinstance(event, Equal):
            found.setdefault(event.case, {})[event.variant] = event.equal
    return found


def test_code_that_warns_goes_on_and_is_named(toys: Path) -> None:
    words = ("--case", "warned", "--items", str(SIZE), "--check-only")
    done = process.run([toys, *words], action="run toys")
    assert "WARN() in kernel code at 0x" in done.stderr
    assert "while 'auto' ran" in done.stderr
    assert '"variant":"auto","equal":true' in done.stdout


def test_what_is_not_touched_does_no_harm(toys: Path) -> None:
    events = hosted_events(toys, "--case", "there", "--items", str(SIZE), "--pairs", "2")
    assert equals(events) == {"there-4096": {"base": True, "control": True, "auto": True}}


def test_features_change_the_code_of_copies(toys: Path) -> None:
    def memcpy(*switched: str) -> str:
        words = [word for feature in switched for word in ("--cpu", feature)]
        done = process.run([toys, *words, "--check"], action="run toys", check=False)
        events = [parse(line) for line in done.stdout.splitlines()]
        return next(event.text for event in events if isinstance(event, Check))

    off = memcpy("rep_good=0", "erms=0", "fsrm=0")
    on = memcpy("rep_good=1", "erms=1", "fsrm=1")
    assert off != on
    assert memcpy("rep_good=0", "erms=0", "fsrm=0") == off
    assert memcpy() in {off, on, memcpy("rep_good=1", "erms=1", "fsrm=0")}


def order(program: Path, seed: int) -> list[tuple[str, int, int, int]]:
    """Return each sample's variant and place; a fill's name depends on what was fastest."""
    events = hosted_events(
        program, "--case", "there", "--items", "64", "--pairs", "4", "--seed", str(seed)
    )
    return [
        (
            "limit" if e.variant.startswith(LIMIT_PREFIX) and e.block else e.variant,
            e.block,
            e.half,
            e.pos,
        )
        for e in events
        if isinstance(e, Sample)
    ]


def timed_fills(toys: Path, name: str) -> tuple[set[str], dict[int, set[str]]]:
    """Return the fills of a case, and which of them each block timed."""
    events = hosted_events(toys, "--case", name, "--items", "64", "--pairs", "8")
    (case,) = (event for event in events if isinstance(event, Case))
    timed: dict[int, set[str]] = {}
    for event in events:
        if isinstance(event, Sample) and event.variant.startswith(LIMIT_PREFIX):
            timed.setdefault(event.block, set()).add(event.variant)
    return {variant for variant in case.variants if variant.startswith(LIMIT_PREFIX)}, timed


def test_all_fills_are_timed_once_and_the_two_fastest_go_on(toys: Path) -> None:
    fills, timed = timed_fills(toys, "there")
    assert {"limit:rep stosq", "limit:mov 8", "limit:movnt 8", "limit:movnt 16"} <= fills
    assert len(timed) >= 4
    assert timed.pop(0) == fills
    assert {len(kept) for kept in timed.values()} == {2}
    assert len({frozenset(kept) for kept in timed.values()}) == 1


def test_in_a_case_for_two_cpus_the_two_fastest_fills_of_one_go_on_as_well(toys: Path) -> None:
    fills, kept = timed_fills(toys, "two")
    alone = {variant for variant in fills if variant.endswith(ONE_CPU)}
    assert alone == {variant + ONE_CPU for variant in fills - alone}
    assert kept.pop(0) == fills
    assert {(len(each & alone), len(each - alone)) for each in kept.values()} == {(2, 2)}


def test_locks_keep_two_cpus_apart(toys: Path) -> None:
    """The program ends if two CPUs have a spinlock or a mutex at the same time."""
    events = hosted_events(toys, "--case", "locked", "--items", "64", "--check-only")
    assert equals(events) == {"locked-64": {"base": True, "control": True, "auto": True}}


def test_a_case_that_is_not_what_its_regime_says_is_noted(toys: Path) -> None:
    words = [word for name in ("there", "hot", "flushed", "lost") for word in ("--case", name)]
    right, wrong = {"hot-4096", "flushed-4096"}, {"there-4096", "lost-4096"}
    noted: dict[str, str] = {}
    for _ in range(30):  # other programs can make any of them slow, though not every time
        engine, *events = hosted_events(toys, *words, "--pairs", "2")
        assert isinstance(engine, Engine)
        if not engine.cached_bytes:
            pytest.skip("memory is as fast as the cache here")
        notes = {event.case: event.text for event in events if isinstance(event, Note)}
        noted |= {case: text for case, text in notes.items() if case in wrong}
        right -= right - notes.keys()
        if not right and noted.keys() == wrong:
            break
    assert right == set(), "always noted"
    assert noted["there-4096"].startswith("not cold here")
    assert noted["lost-4096"].startswith("not hot here")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--cached", "0"], 16),  # unknown, so a quarter of it is taken
        (["--cached", str(1 << 60)], 4),
        (["--cached", "0", "--llc", str(8 << 20)], 4),  # given by the user
    ],
)
def test_the_size_of_a_hot_case(toys: Path, words: list[str], part: int) -> None:
    engine, *events = hosted_events(toys, "--case", "part", "--list", *words)
    (case,) = (event for event in events if isinstance(event, Case))
    assert isinstance(engine, Engine)
    assert engine.llc_bytes // part - case.bytes in range(engine.llc_bytes // 1000)


def test_a_sample_of_a_short_case_is_many_runs(toys: Path) -> None:
    events = hosted_events(toys, "--case", "short", "--pairs", "2")
    (case,) = (event for event in events if isinstance(event, Case))
    assert (case.regime, case.items) == ("cold, 64 times", 2 * 64)
    # One run of each variant is compared, one warms up, and two are timed.
    done = process.run([toys, "--case", "counted", "--pairs", "2"], action="run toys", check=False)
    assert "ran more than 64 times" in done.stderr


def test_a_seed_gives_one_order_and_another_one_another(toys: Path) -> None:
    first = order(toys, 5)
    assert first == order(toys, 5)
    assert first != order(toys, 6)
    per_half: dict[tuple[int, int], list[str]] = {(block, half): [] for _, block, half, _ in first}
    for variant, block, half, _ in first:
        per_half[block, half].append(variant)
    assert all(per_half[b, 1] == per_half[b, 0][::-1] for b, half in per_half if half == 0)

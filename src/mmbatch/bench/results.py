# SPDX-License-Identifier: GPL-2.0-only
"""From a run to the record: which numbers there are, and what they show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mmbatch.bench import statistics
from mmbatch.bench.limits import choose, defects, on_one_cpu
from mmbatch.bench.machine import Machine
from mmbatch.bench.record import (
    SCHEMA,
    Control,
    Detail,
    EngineName,
    KernelInfo,
    Limit,
    PostedInfo,
    Record,
    Row,
    RowRatio,
)
from mmbatch.bench.runs import CaseRun, Run
from mmbatch.bench.statistics import Ratio, Verdict
from mmbatch.core.errors import ExitCode
from mmbatch.core.outcomes import CaseOutcome
from mmbatch.hosted.events import AUTO, BASE, CONTROL, LIMIT_PREFIX, ONE_CPU, is_limit


@dataclass(frozen=True)
class _CaseParts:
    rows: list[Row]
    limits: list[Limit]
    control: Control | None


def _ratio(case: CaseRun, first: str, second: str) -> Ratio | None:
    pairs = case.pairs(first, second)
    if not pairs.blocks:
        return None
    return statistics.paired_ratio(pairs.first, pairs.second, pairs.blocks, pairs.starts)


def _interval(ratio: Ratio | None) -> tuple[float, float] | None:
    return (ratio.lo, ratio.hi) if ratio and ratio.pairs >= statistics.MIN_PAIRS else None


def _row_ratio(vs: str, ratio: Ratio | None) -> RowRatio | None:
    return RowRatio(vs, ratio.median, _interval(ratio)) if ratio else None


def _limits(case: CaseRun, speedup: str) -> list[Limit]:
    limits = []
    for variant in filter(is_limit, case.case.variants):
        if times := case.times(variant):
            median = statistics.summary(times).median
            limits.append(
                Limit(
                    speedup,
                    case.case.case,
                    variant.removeprefix(LIMIT_PREFIX),
                    case.case.unit,
                    tuple(times),
                    median,
                    median / case.case.items,
                )
            )
    return limits


def _control(case: CaseRun, speedup: str, ratio: Ratio | None) -> Control | None:
    if CONTROL not in case.case.variants:
        return None
    times = case.times(CONTROL)
    median = statistics.summary(times).median if times else None
    band = statistics.control_band(ratio) if ratio and _interval(ratio) else None
    return Control(
        speedup,
        case.case.case,
        case.case.unit,
        tuple(times),
        median,
        None if median is None else median / case.case.items,
        ratio.median if ratio else None,
        _interval(ratio),
        band,
        bool(band and band > statistics.WIDE),
        case.equality(CONTROL),
    )


def _verdict(case: CaseRun, variant: str, ratio: Ratio | None, control: Ratio | None) -> Verdict:
    if case.equality(variant) is False or case.equality(BASE) is False:
        return Verdict.NOT_EQUAL
    if variant == BASE:
        return Verdict.BASE
    if case.equality(variant) is None:
        return Verdict.NOT_CHECKED
    return statistics.verdict(ratio, control)


def _row(
    case: CaseRun, speedup: str, variant: str, control: Ratio | None, limit: Limit | None
) -> Row:
    times = case.times(variant)
    numbers = statistics.summary(times) if times else None
    ratio = _ratio(case, BASE, variant) if variant != BASE else None
    limit_name = LIMIT_PREFIX + limit.name if limit else ""
    of_limit = _ratio(case, variant, limit_name) if limit else None
    pairs = case.pairs(BASE, variant)
    p = statistics.wilcoxon_p(pairs.first, pairs.second) if ratio else None
    return Row(
        speedup=speedup,
        case=case.case.case,
        regime=case.case.regime,
        variant=variant,
        unit=case.case.unit,
        samples=tuple(times),
        median=numbers.median if numbers else None,
        item=case.case.item,
        items=case.case.items,
        per_item=numbers.median / case.case.items if numbers else None,
        ratio=_row_ratio(BASE, ratio),
        of_limit=_row_ratio(limit_name, of_limit),
        verdict=_verdict(case, variant, ratio, control),
        image_equal=True if variant == BASE and numbers else case.equality(variant),
        detail=(
            Detail(len(pairs.blocks), numbers.minimum, numbers.mad, p, None) if numbers else None
        ),
        starts=_starts(case, variant) if numbers else (),
        of_best=_of_best(case) if variant == AUTO else None,
        of_one_cpu=_of_one_cpu(case, variant, variant + ONE_CPU),
    )


def _of_one_cpu(case: CaseRun, variant: str, one: str) -> RowRatio | None:
    """Compare a row with one of another name that does the same on one CPU, if there is one."""
    return _row_ratio(one, _ratio(case, one, variant)) if one in case.case.variants else None


def _starts(case: CaseRun, variant: str) -> tuple[int, ...]:
    counts = Counter(sample.start for sample in case.samples[variant].values())
    return tuple(counts[start] for start in sorted(counts))


def _of_best(case: CaseRun) -> RowRatio | None:
    """Compare `auto` with the variant that has the lowest median of all that it could choose."""
    medians = {
        variant: statistics.summary(times).median
        for variant in case.case.variants
        if variant not in (BASE, CONTROL, AUTO, *case.case.posted) and not is_limit(variant)
        if (times := case.times(variant))
    }
    if not medians:
        return None
    best = min(medians, key=medians.__getitem__)
    return _row_ratio(best, _ratio(case, best, AUTO))


def _case_parts(case: CaseRun, speedup: str) -> _CaseParts:
    control = _ratio(case, BASE, CONTROL) if CONTROL in case.case.variants else None
    limits = _limits(case, speedup)
    limit = choose(limits, case.case.reads)
    one = on_one_cpu(limits, case.case.reads)
    if limit and one:
        names = (LIMIT_PREFIX + limit.name, LIMIT_PREFIX + one.name)
        own = replace(limit, of_one_cpu=_of_one_cpu(case, *names))
        limits[limits.index(limit)] = own
    rows = [
        _row(case, speedup, variant, control, limit)
        for variant in case.case.variants
        if variant != CONTROL and not is_limit(variant)
    ]
    return _CaseParts(rows, limits, _control(case, speedup, control))


def _with_holm(rows: Sequence[Row]) -> Iterable[Row]:
    ps = [row.detail.p for row in rows if row.detail and row.detail.p is not None]
    adjusted = iter(statistics.holm(ps))
    for row in rows:
        if row.detail and row.detail.p is not None:
            yield replace(row, detail=replace(row.detail, p_holm=next(adjusted)))
        else:
            yield row


def _notes(run: Run) -> Iterable[str]:
    for note in run.notes:
        yield f"{note.case}: {note.text}" if note.case else note.text
    for name, case in run.cases.items():
        pairs = len(case.samples[BASE])
        if run.complete and 0 < pairs < case.case.pairs:
            yield f"{name}: {pairs} pairs instead of {case.case.pairs}, to end in time"
    for name, case in run.cases.items():
        for variant, checks in case.checks.items():
            for check in checks:
                if not check.equal:
                    detail = f": {check.detail}" if check.detail else ""
                    yield f"{name}: {variant} left other bytes than base{detail}"
                    break  # each start may find the same, with other pointers
        yield from _shown_unequal(case)


def _shown_unequal(case: CaseRun) -> Iterable[str]:
    """Yield a sentence for each posted variant that was timed although its memory differs."""
    for variant in case.case.posted:
        pairs = case.unproven_pairs(BASE, variant)
        if case.equality(variant) is not False or not pairs.blocks:
            continue
        ratio = statistics.paired_ratio(pairs.first, pairs.second, pairs.blocks, pairs.starts)
        interval = f" ({ratio.lo:.3f} to {ratio.hi:.3f})" if _interval(ratio) else ""
        median = statistics.summary(pairs.second).median
        yield (
            f"{case.case.case}: {variant} takes {median:.0f} {case.case.unit}, ratio "
            f"{ratio.median:.3f}{interval}, but it is NOT EQUAL, so it does other work than base"
        )


def build_record(
    run: Run,
    machine: Machine,
    kernel_info: KernelInfo,
    command: str,
    started: str,
    *,
    engine: EngineName = "hosted",
    posted: Sequence[PostedInfo] = (),
) -> Record:
    """Make the record of a run.

    Args:
        run: the engine's output in order.
        machine: where it ran.
        kernel_info: the kernel it measured.
        command: what to type to reproduce it, quoted for a shell.
        started: ISO 8601 time with an offset.
        engine: which engine.
        posted: somebody else's code that was measured.

    Returns:
        The record; a variant without a passed equality check has no number in it.
    """
    speedup = run.engine.speedup
    parts = [_case_parts(case, speedup) for case in run.cases.values()]
    rows = [row for part in parts for row in part.rows]
    return Record(
        schema=SCHEMA,
        command=command,
        started=started,
        machine=replace(machine, cached_bytes=run.engine.cached_bytes or None),
        kernel=kernel_info,
        engine=engine,
        rows=tuple(_with_holm(rows)),
        limits=tuple(limit for part in parts for limit in part.limits),
        controls=tuple(part.control for part in parts if part.control),
        notes=(*_notes(run), *defects(rows)),
        samples_sha256=run.sha256,
        posted=tuple(posted),
    )


def exit_code(record: Record) -> ExitCode:
    """The exit code that a record stands for.

    Args:
        record: what was measured.

    Returns:
        FAILED if a variant or the control lacks a passed equality check, or if `auto` or posted
        code is slower than base in any case; INCONCLUSIVE if noise hides in a case whether one
        of them is; else GOOD.
    """
    checks = [row.image_equal for row in record.rows]
    checks += [control.image_equal for control in record.controls]
    judged = {AUTO, *(code.label for code in record.posted)}
    slower = any(row.variant in judged and row.verdict == Verdict.SLOWER for row in record.rows)
    if slower or not all(checks):
        return ExitCode.FAILED
    return ExitCode.INCONCLUSIVE if hidden(record) else ExitCode.GOOD


def outcomes(record: Record) -> Iterator[CaseOutcome]:
    """Yield how each variant fared in each case; those that fail make `exit_code` FAILED.

    A variant that only shows what a method does may be slower. One in which noise hides what is
    asked for counts as skipped.
    """
    suite = f"{record.rows[0].speedup} on {record.kernel.release}"
    posted = {code.label for code in record.posted}
    decisive = asked(record)
    for control in record.controls:
        problem = None if control.image_equal else "it was not seen to leave the memory of base"
        yield CaseOutcome(suite, f"{control.case}: {CONTROL}", problem)
    for row in record.rows:
        problem = skipped = None
        if row.image_equal is not True:
            problem = "it left other memory than base" if row.image_equal is False else row.verdict
        elif row.verdict == Verdict.SLOWER and row.variant in {AUTO, *posted}:
            problem = "it is slower than base"
        elif row.verdict == Verdict.TOO_NOISY and row in decisive:
            skipped = "noise hides the result"
        detail = str(row.verdict)
        if row.ratio is not None:
            detail += f": {row.ratio.median:.3f} times as fast as base"
            if row.ratio.ci95:
                detail += ", 95 % interval {:.3f} to {:.3f}".format(*row.ratio.ci95)
        yield CaseOutcome(suite, f"{row.case}: {row.variant}", problem, skipped, detail)


def hidden(record: Record) -> list[str]:
    """Return the cases in which noise hides what is asked for."""
    noisy = {row.case for row in asked(record) if row.verdict == Verdict.TOO_NOISY}
    return [name for name in dict.fromkeys(row.case for row in record.rows) if name in noisy]


def asked(record: Record) -> list[Row]:
    """Return the rows that are asked for in each case.

    They are what a user gets, which is `auto` or else the last row, and posted code.
    """
    posted = {code.label for code in record.posted}
    judged: dict[tuple[str, str], Row] = {}
    for row in record.rows:
        label = row.variant if row.variant in posted else ""
        if (row.case, label) not in judged or judged[row.case, label].variant != AUTO:
            judged[row.case, label] = row
    return list(judged.values())

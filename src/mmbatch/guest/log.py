# SPDX-License-Identifier: GPL-2.0-only
"""Read what a guest said: its scripts' marks, the KUnit results and the kernel's complaints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_STAMP = re.compile(r"^(?:<\d+>)?\[\s*\d+\.\d+\](?:\[\s*[TC]\d+\])? ?")
_RESULT = re.compile(
    r"^(?P<indent> *)(?P<word>ok|not ok) \d+(?: -)? ?(?P<name>[^#]*?)\s*(?P<rest>#.*)?$"
)
_SKIP = re.compile(r"# SKIP\b")
_TOLD = ("pass", "fail", "skip", "value")
_EXPECTATION = re.compile(r"^# \S+: (?:EXPECTATION|ASSERTION) FAILED at ")
_COUNT = re.compile(r"^\w+_bench: case=(\S+) method=(\S+) ns=(\d+) items=(\d+)$")
_SUMMARY = re.compile(r"^Summary: (\w+) passed: (\d+) failed: (\d+) ")
_COMPLAINTS = re.compile(
    r"cut here|Call [Tt]race:|WARNING: |\bBUG: |\bBUG \S+ \(|kernel BUG at |\bKASAN: |\bUBSAN: |"
    r"rcu\S* .*detected .*stall|soft lockup|INFO: task .* blocked for more|"
    r"possible (?:circular|recursive) locking|inconsistent lock state|suspicious RCU usage|"
    r"non-static key|lockdep is turned off|sleeping function called|"
    r"Kernel panic|Oops: |Internal error: |general protection fault|Unable to handle kernel|"
    r"Bad page (?:state|map)|pagealloc: |list_\w+ corruption|unregister_netdevice"
)


@dataclass(frozen=True)
class Case:
    """One KUnit case, or one of its parameters.

    Attributes:
        name: "suite.case" or "suite.case.parameter".
        state: "ok", "not ok" or "skipped".
        detail: what the test said about it.
    """

    name: str
    state: str
    detail: str


@dataclass
class Heard:
    """What a guest said.

    Attributes:
        passed: checks of the scripts that passed.
        failed: checks of the scripts that did not, each with what was seen.
        skipped: checks that this machine can't make.
        values: what was measured, in order: name and number.
        stages: scripts that began, and the guest's uptime then.
        suites: the KUnit suites that came to their end, and whether they passed.
        cases: the KUnit cases.
        complaints: what the kernel complained of.
        finished: whether the guest came to its end.
    """

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    values: list[tuple[str, float]] = field(default_factory=list)
    stages: list[tuple[str, float]] = field(default_factory=list)
    suites: dict[str, bool] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    finished: bool = False

    def verdicts(self, suites: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
        """Return (passed, failed, skipped) by name; a suite that did not run has failed.

        Args:
            suites: those that have to have run.
        """
        passed = [*self.passed]
        failed = [*self.failed]
        skipped = [*self.skipped]
        for case in self.cases:
            place = {"ok": passed, "not ok": failed, "skipped": skipped}[case.state]
            place.append(f"{case.name}: {case.detail}" if case.detail else case.name)
        for suite in suites:
            if suite not in self.suites:
                failed.append(f"{suite}: the KUnit suite did not run to its end")
                continue
            states = {case.state for case in self.cases if case.name.startswith(f"{suite}.")}
            if not self.suites[suite] and "not ok" not in states:
                failed.append(f"{suite}: the KUnit suite failed")
            elif self.suites[suite] and "ok" not in states:
                failed.append(f"{suite}: nothing in the KUnit suite ran")
        failed += [f"the kernel complained: {line}" for line in self.complaints]
        return passed, failed, skipped


def read(lines: Iterable[str]) -> Heard:
    """Read all lines that a guest printed on its console."""
    heard = Heard()
    log: list[str] = []
    in_log = False
    told = 0
    for line in lines:
        mark = re.search(r"@@ (\w+)(?: (.*))?$", line)
        if mark is not None:
            told += mark[1] in _TOLD
            _mark(heard, mark[1], (mark[2] or "").strip(), told)
            if mark[1] == "dmesg":
                in_log = True
                log.clear()  # the log has all that the console had
        elif _STAMP.match(line) or in_log:
            log.append(line)
    kernel = [_STAMP.sub("", line) for line in log]
    _read_ktap(heard, kernel)
    _read_counts(heard, kernel)
    heard.complaints = [line.strip() for line in kernel if _COMPLAINTS.search(line)]
    return heard


def _mark(heard: Heard, word: str, rest: str, told: int) -> None:
    if word == "pass":
        heard.passed.append(rest)
    elif word == "fail":
        heard.failed.append(rest)
    elif word == "skip":
        heard.skipped.append(rest)
    elif word == "begin":
        name, _, uptime = rest.partition(" ")
        heard.stages.append((name, float(uptime or 0)))
    elif word == "value":
        name, _, number = rest.rpartition(" ")
        if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d{1,2})?", number):
            heard.values.append((name, float(number)))
        else:
            heard.failed.append(f"{name or rest}: '{number}' is no number")
    elif word == "end":
        heard.finished = True
        _, _, number = rest.partition(" ")
        if number != str(told):
            heard.failed.append(f"{told} of {number or 'unknown'} results arrived whole")


def _read_counts(heard: Heard, lines: Sequence[str]) -> None:
    """Read what the kernel itself measured, and the summaries of its own tests."""
    for line in lines:
        if count := _COUNT.match(line):
            case, method, number, items = count.groups()
            heard.values += [(f"{case} {method}", float(number)), (f"{case} items", float(items))]
        elif test := _SUMMARY.match(line):
            name = test[1]
            if test[3] == "0" and test[2] != "0":
                if name not in heard.passed:  # each of its threads prints one
                    heard.passed.append(name)
            else:
                heard.failed.append(f"{name}: {test[3]} failed, {test[2]} passed")


def _read_ktap(heard: Heard, lines: Sequence[str]) -> None:
    """Read KTAP: suites at the left edge, cases one step in, parameters two."""
    waiting: list[tuple[int, str, str, str]] = []
    said: list[list[str]] = []
    for line in lines:
        match = _RESULT.match(line)
        if match is None:
            _hear(said, line.strip())
            continue
        depth = len(match["indent"]) // 4
        rest = match["rest"] or ""
        state = "skipped" if match["word"] == "ok" and _SKIP.match(rest) else match["word"]
        detail = rest.lstrip("# ").removeprefix("SKIP").strip()
        if state == "not ok" and said:
            more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
            detail = "; ".join(said[0]) + more
        said.clear()
        if depth > 0:
            waiting.append((depth, match["name"], state, detail))
            continue
        heard.suites[match["name"]] = match["word"] == "ok"
        heard.cases += _named(match["name"], waiting)
        waiting.clear()


def _hear(said: list[list[str]], line: str) -> None:
    """Add a line to what failed expectations say; each begins with its place in the source."""
    if _EXPECTATION.search(line):
        said.append([line.rpartition(" at ")[2]])
    elif said and line and not re.match(r"#|KTAP version|\d+\.\.\d+", line):
        said[-1].append(line)


def _named(suite: str, waiting: Sequence[tuple[int, str, str, str]]) -> list[Case]:
    """Give parameters, which come before their case, its name, and leave it out."""
    cases: list[Case] = []
    inner: list[tuple[str, str, str]] = []
    for depth, name, state, detail in waiting:
        if depth > 1:
            inner.append((name, state, detail))
            continue
        if inner:
            cases += [Case(f"{suite}.{name}.{other}", st, text) for other, st, text in inner]
        else:
            cases.append(Case(f"{suite}.{name}", state, detail))
        inner = []
    return cases

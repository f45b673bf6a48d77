# SPDX-License-Identifier: GPL-2.0-only
"""Read the console of a guest: results of scripts and of KUnit, and the kernel's complaints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_STAMP = re.compile(r"^(?:<\d+>)?\[\s*\d+\.\d+\](?:\[\s*[TC]\d+\])? ?")
_RESULT = re.compile(
    r"^(?P<indent> *)(?P<word>ok|not ok) \d+(?: -)? ?(?P<name>[^#]*?)\s*(?P<rest>#.*)?$"
)
_SKIP = re.compile(r"# SKIP\b")
_EXPECTATION = re.compile(r"^# \S+: (?:EXPECTATION|ASSERTION) FAILED at ")
_COUNT = re.compile(r"^\w+_bench: case=(\S+) method=(\S+) ns=(\d+) items=(\d+)$")
_SUMMARY = re.compile(r"^Summary: (\w+) passed: (\d+) failed: (\d+) ")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d{1,2})?")
# KCSAN reports data races all over a kernel. Scripts look for those that concern them.
_COMPLAINTS = re.compile(
    r"cut here|Call [Tt]race:|WARNING: |\bBUG: (?!KCSAN: )|\bBUG \S+ \(|kernel BUG at |"
    r"\bKASAN: |\bUBSAN: |rcu\S* .*detected .*stall|soft lockup|INFO: task .* blocked for more|"
    r"possible (?:circular|recursive) locking|inconsistent lock state|suspicious RCU usage|"
    r"non-static key|lockdep is turned off|sleeping function called|"
    r"Kernel panic|Oops: |Internal error: |general protection fault|Unable to handle kernel|"
    r"Bad page (?:state|map)|pagealloc: |list_\w+ corruption|unregister_netdevice"
)


@dataclass(frozen=True)
class Case:
    """One KUnit case, or one of its parameters."""

    name: str  # "suite.case" or "suite.case.parameter"
    state: str  # "ok", "not ok" or "skipped"
    detail: str  # the message of the test


@dataclass
class Outcome:
    """What the console of a guest shows; checks of its scripts by their messages."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # impossible on this machine
    values: list[tuple[str, float]] = field(default_factory=list)  # that were measured, in order
    suites: dict[str, bool] = field(default_factory=dict)  # of KUnit: whether each passed
    cases: list[Case] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)  # of the kernel, in its log
    finished: bool = False  # whether all scripts ended

    def numbers(self, key: str) -> list[float]:
        """Return all numbers that were measured under a name."""
        return [number for name, number in self.values if name == key]

    def verdicts(self, suites: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
        """Return (passed, failed, skipped) by name; a wanted suite that did not run has failed."""
        passed, failed, skipped = [*self.passed], [*self.failed], [*self.skipped]
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


def read(lines: Iterable[str]) -> Outcome:
    """Read all lines that a guest printed on its console."""
    outcome = Outcome()
    places = {"pass": outcome.passed, "fail": outcome.failed, "skip": outcome.skipped}
    log: list[str] = []
    in_log = False
    results = 0
    for line in lines:
        mark = re.search(r"@@ (\w+)(?: (.*))?$", line)
        if mark is not None:
            word, text = mark[1], (mark[2] or "").strip()
            results += word in places or word == "value"
            if word in places:
                places[word].append(text)
            elif word == "value":
                _read_value(outcome, text)
            elif word == "end":
                outcome.finished = True
                _, _, number = text.partition(" ")
                if number != str(results):  # the kernel printed within a line, which was lost
                    whole = f"{results} of {number or 'unknown'} results arrived whole"
                    outcome.failed.append(whole)
            elif word == "dmesg":
                in_log = True
                log.clear()  # the log repeats what the console had
        elif _STAMP.match(line) or in_log:
            log.append(line)
    kernel = [_STAMP.sub("", line) for line in log]
    _read_ktap(outcome, kernel)
    _read_counts(outcome, kernel)
    outcome.complaints = [line.strip() for line in kernel if _COMPLAINTS.search(line)]
    return outcome


def _read_value(outcome: Outcome, text: str) -> None:
    name, _, number = text.rpartition(" ")
    if _NUMBER.fullmatch(number):
        outcome.values.append((name, float(number)))
    else:
        outcome.failed.append(f"{name or text}: '{number}' is not a number")


def _read_counts(outcome: Outcome, lines: Sequence[str]) -> None:
    """Read what the kernel itself measured, and the summaries of its own tests."""
    for line in lines:
        if count := _COUNT.match(line):
            case, method, number, items = count.groups()
            outcome.values += [(f"{case} {method}", float(number)), (f"{case} items", float(items))]
        elif test := _SUMMARY.match(line):
            name = test[1]
            if test[3] == "0" and test[2] != "0":
                if name not in outcome.passed:  # each of its threads prints one
                    outcome.passed.append(name)
            else:
                outcome.failed.append(f"{name}: {test[3]} failed, {test[2]} passed")


def _read_ktap(outcome: Outcome, lines: Sequence[str]) -> None:
    """Read KTAP: suites at the left edge, cases one step in, parameters two."""
    waiting: list[tuple[int, str, str, str]] = []
    messages: list[list[str]] = []
    for line in lines:
        match = _RESULT.match(line)
        if match is None:
            _add_message(messages, line.strip())
            continue
        depth = len(match["indent"]) // 4
        comment = match["rest"] or ""
        state = "skipped" if match["word"] == "ok" and _SKIP.match(comment) else match["word"]
        detail = comment.lstrip("# ").removeprefix("SKIP").strip()
        if state == "not ok" and messages:
            more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
            detail = "; ".join(messages[0]) + more
        messages.clear()
        if depth > 0:
            waiting.append((depth, match["name"], state, detail))
            continue
        outcome.suites[match["name"]] = match["word"] == "ok"
        outcome.cases += _named(match["name"], waiting)
        waiting.clear()


def _add_message(messages: list[list[str]], line: str) -> None:
    """Add a line to the messages of failed expectations; each starts with a source line."""
    if _EXPECTATION.search(line):
        messages.append([line.rpartition(" at ")[2]])
    elif messages and line and not re.match(r"#|KTAP version|\d+\.\.\d+", line):
        messages[-1].append(line)


def _named(suite: str, waiting: Sequence[tuple[int, str, str, str]]) -> list[Case]:
    """Return the cases. Parameters come before their case, and replace it under its name."""
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

# SPDX-License-Identifier: GPL-2.0-only
"""How tests ended, as KTAP and JUnit, which LAVA, KernelCI and other CI systems read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

from mmbatch.hosted.events import CaseOutcome

_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def ktap(outcomes: Sequence[CaseOutcome]) -> str:
    """Return outcomes in version 1 of KTAP, with a subtest for each suite."""
    suites = _by_suite(outcomes)
    lines = ["KTAP version 1", f"1..{len(suites)}"]
    for number, (suite, cases) in enumerate(suites.items(), 1):
        lines += ["    KTAP version 1", f"    # Subtest: {_name(suite)}", f"    1..{len(cases)}"]
        for index, case in enumerate(cases, 1):
            texts = "\n".join(text for text in (case.detail, case.problem) if text)
            lines += [f"    # {line}" for line in texts.splitlines()]
            skip = "" if case.skipped is None else f" # SKIP {_name(case.skipped)}"
            word = "not ok" if case.problem is not None else "ok"
            lines.append(f"    {word} {index} {_name(case.name)}{skip}")
        failed = any(case.problem is not None for case in cases)
        skip = "" if any(case.skipped is None for case in cases) else " # SKIP all of its tests"
        lines.append(f"{'not ok' if failed else 'ok'} {number} {_name(suite)}{skip}")
    return "\n".join(lines) + "\n"


def junit(outcomes: Sequence[CaseOutcome]) -> str:
    """Return outcomes as JUnit XML, with a <testsuite> for each suite."""
    top = ET.Element("testsuites", name="mmbatch")
    for suite, cases in _by_suite(outcomes).items():
        part = ET.SubElement(top, "testsuite", {"name": _text(suite), **_counts(cases)})
        for case in cases:
            words = {"classname": _text(suite), "name": _text(case.name)}
            words["time"] = f"{case.seconds or 0:.3f}"
            element = ET.SubElement(part, "testcase", words)
            for tag, text in (("failure", case.problem), ("skipped", case.skipped)):
                if text is not None:
                    ET.SubElement(element, tag, message=_text(text))
            if case.detail:
                ET.SubElement(element, "system-out").text = _text(case.detail)
    for name, value in _counts(outcomes).items():
        top.set(name, value)
    ET.indent(top)
    return ET.tostring(top, encoding="unicode", xml_declaration=True) + "\n"


def _by_suite(outcomes: Iterable[CaseOutcome]) -> dict[str, list[CaseOutcome]]:
    suites: dict[str, list[CaseOutcome]] = {}
    for outcome in outcomes:
        suites.setdefault(outcome.suite, []).append(outcome)
    return suites


def _counts(outcomes: Sequence[CaseOutcome]) -> dict[str, str]:
    return {
        "tests": str(len(outcomes)),
        "failures": str(sum(outcome.problem is not None for outcome in outcomes)),
        "errors": "0",
        "skipped": str(sum(outcome.skipped is not None for outcome in outcomes)),
        "time": f"{sum(outcome.seconds or 0 for outcome in outcomes):.3f}",
    }


def _name(text: str) -> str:
    """Return a text for a line of KTAP, in which "#" begins a directive."""
    printable = (" " if char == "#" or not char.isprintable() else char for char in text)
    return " ".join("".join(printable).split())


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)

# SPDX-License-Identifier: GPL-2.0-only
"""The tool stays small: lines by package, modules in all (see CONTRIBUTING.md)."""

from mmbatch.core.paths import ROOT

CEILINGS = {
    "bench": 1_182,
    "cli": 1_720,
    "core": 890,
    "guest": 1_520,
    "hosted": 1_600,
    "kernel": 1_190,
    "live": 2_180,
    "report": 1_120,
    "series": 491,
    "splice": 1_437,
}
MODULES = 65
TESTS = 11_720


def _lines(paths: list[str]) -> int:
    return sum(len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in paths)


def _python(directory: str) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in (ROOT / directory).rglob("*.py")]


def test_each_package_stays_below_its_ceiling() -> None:
    found = {name: _lines(_python(f"src/mmbatch/{name}")) for name in CEILINGS}
    above = {name: lines for name, lines in found.items() if lines > CEILINGS[name]}
    assert above == {}


def test_there_are_few_modules() -> None:
    assert sum(not path.endswith("__init__.py") for path in _python("src")) <= MODULES


def test_the_tests_stay_smaller_than_the_tool() -> None:
    own = [path for path in _python("speedups") if "/tests/" in path]
    assert _lines(_python("tests") + own) <= TESTS

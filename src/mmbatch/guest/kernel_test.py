# SPDX-License-Identifier: GPL-2.0-only
"""A test of the kernel itself, built in or a module, that runs a list of tests by a mask."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import load
from mmbatch.core.errors import MmbatchError

_ONLY_A_MODULE = re.compile(r"^\s+depends on m$", re.MULTILINE)


@dataclass(frozen=True)
class KernelTest:
    """How such a test is found and run.

    Each of its threads prints a line for each test, which `mmbatch.guest.log` reads:
    "Summary: NAME passed: N failed: N".

    Attributes:
        module: name of the module.
        source: its file in the kernel's source.
        tests: pattern whose first group is the name of a test there.
        kconfig: the file that has its option.
        option: the option, without CONFIG_.
        mask: the parameter that chooses tests, bit 0 the first.
        threads: the parameter that says how many threads run each test.
        parameters: all parameters that it gets, those two among them.
    """

    module: str
    source: str
    tests: load.Pattern
    kconfig: str
    option: str
    mask: str
    threads: str
    parameters: Mapping[str, load.Count]

    def __post_init__(self) -> None:
        """Raise ValueError if the parameters lack one that is needed here."""
        for name in (self.mask, self.threads):
            if name not in self.parameters:
                raise ValueError(f"'parameters' has no {name}")

    @property
    def cmdline(self) -> tuple[str, ...]:
        """The kernel's command line that runs it where it is built in."""
        return tuple(f"{self.module}.{name}={value}" for name, value in self.parameters.items())

    def settings(self, tree: Path) -> dict[str, str]:
        """Return the shell variables for the script that loads it.

        TEST_PARAMETERS are the module's, and TEST_SUMMARIES is the number of lines that it
        prints.
        """
        words = (f"{name}={value}" for name, value in self.parameters.items())
        summaries = len(self.chosen(tree)) * self.parameters[self.threads]
        return {"TEST_PARAMETERS": " ".join(words), "TEST_SUMMARIES": str(summaries)}

    def chosen(self, tree: Path) -> list[str]:
        """Return the names of the tests that run, of those in a kernel's source.

        Raises:
            MmbatchError: the source has none at the expected place.
        """
        path = tree / self.source
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        names = re.findall(self.tests, text, re.MULTILINE)
        if not names:
            raise MmbatchError(
                f"list the tests of {self.module}",
                f"there is no list of tests in {self.source}",
                "see where this kernel has them, and correct guest.toml",
            )
        mask = self.parameters[self.mask]
        return [name for bit, name in enumerate(names) if mask >> bit & 1]

    def only_a_module(self, tree: Path) -> bool:
        """Return whether it cannot be built in, so that a script must load it."""
        path = tree / self.kconfig
        pattern = rf"^config {re.escape(self.option)}\n((?:[ \t].*\n|\n)*)"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        entry = re.search(pattern, text, re.MULTILINE)
        return entry is not None and _ONLY_A_MODULE.search(entry[1]) is not None

    def absent(self, tree: Path, passed: Iterable[str]) -> list[str]:
        """Return a sentence for each test that should have passed and did not."""
        there = set(passed)
        return [
            f"{self.module}: {name} did not pass" for name in self.chosen(tree) if name not in there
        ]

# SPDX-License-Identifier: GPL-2.0-only
"""Intervals of kernel series, as the manifests write them."""

from __future__ import annotations

import re
from dataclasses import dataclass

Version = tuple[int, int]

SERIES = ("7.3", "7.2", "6.12")
"""The kernel series that the speed-ups are made for, newest first."""

_TERM = re.compile(r"(>=|<)(\d+)\.(\d+)")


def version(series: str) -> Version:
    """Return a series or release, "7.3" or "7.3.4", as (major, minor)."""
    major, minor = series.split(".")[:2]
    return int(major), int(minor)


def release_numbers(release: str) -> list[int]:
    """Return all numbers in a release, by which releases can be ordered: 6.12 before 7.2."""
    return [int(digits) for digits in re.findall(r"\d+", release)]


@dataclass(frozen=True)
class Interval:
    """Kernel series from `low` on and below `high`, as "(major, minor)".

    Written in the manifest as ">=6.12,<7.0"; either end may be left out.
    """

    low: Version = (0, 0)
    high: Version = (999, 0)

    def __contains__(self, series: object) -> bool:
        """Return whether a series, "7.3", lies in the interval."""
        return isinstance(series, str) and self.low <= version(series) < self.high

    def __str__(self) -> str:
        """Return the interval as the manifest writes it."""
        low = f">={self.low[0]}.{self.low[1]}" if self.low > (0, 0) else ""
        high = f"<{self.high[0]}.{self.high[1]}" if self.high < (999, 0) else ""
        return ",".join(part for part in (low, high) if part)

    def __and__(self, other: Interval) -> Interval:
        """Return what two intervals share."""
        return Interval(max(self.low, other.low), min(self.high, other.high))

    @classmethod
    def parse(cls, text: str) -> Interval:
        """Read an interval.

        Raises:
            ValueError: it is none; says so in a phrase.
        """
        low, high = cls.low, cls.high
        for term in text.split(","):
            match = _TERM.fullmatch(term.strip())
            if match is None:
                raise ValueError(f"'{text}' is not an interval of kernels like '>=6.12,<7.0'")
            bound = (int(match[2]), int(match[3]))
            if match[1] == ">=":
                low = bound
            else:
                high = bound
        return cls(low, high)


EVERY = Interval()
"""All kernels."""

# SPDX-License-Identifier: GPL-2.0-only
"""What `load` has, by an older name, for callers that are not converted yet."""

from mmbatch.core.load import EVERY, SERIES, Interval, release_numbers, version

__all__ = ["EVERY", "SERIES", "Interval", "release_numbers", "version"]

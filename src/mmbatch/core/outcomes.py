# SPDX-License-Identifier: GPL-2.0-only
"""`CaseOutcome`, for whoever does not import it from `core.errors` yet."""

from mmbatch.core.errors import CaseOutcome

__all__ = ["CaseOutcome"]

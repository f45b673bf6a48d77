# SPDX-License-Identifier: GPL-2.0-only
"""The text of an exported series' cover letter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmbatch.bench.record import Record
from mmbatch.kernel.sources import Source
from mmbatch.report import text as mail
from mmbatch.report.words import who_benefits
from mmbatch.splice.manifest import Manifest


def text(
    manifests: Sequence[Manifest],
    source: Source,
    measured: Record | None,
    explained: Sequence[str] = (),
) -> str:
    """Write the body of the cover letter.

    Args:
        manifests: the speed-ups of the series, the one that it is about last.
        source: the kernel that it is made for.
        measured: a run of that one on this kernel; None where there is none.
        explained: what checkpatch says and why it stays.

    Returns:
        ASCII of at most 72 columns, but for words that are longer.
    """
    return "\n".join(_lines(manifests, source, measured, explained)) + "\n"


def _lines(
    manifests: Sequence[Manifest],
    source: Source,
    measured: Record | None,
    explained: Sequence[str],
) -> Iterator[str]:
    manifest = manifests[-1]
    for paragraph in who_benefits(manifest.directory):
        yield from mail.paragraph(paragraph, "")
        yield ""
    others = [other.speedup for other in manifests[:-1]]
    if others:
        yield from mail.paragraph(f"The first patches are {', '.join(others)}, which it needs.", "")
        yield ""
    yield from mail.paragraph(f"Made for Linux {source.release} ({source.origin}).", "")
    yield ""
    if measured is None:
        yield from mail.paragraph("Not measured by the sender. To measure it:", "")
        yield ""
        yield from mail.command(f"./mmbatch bench {manifest.speedup} --kernel {source.series}")
    else:
        yield from mail.paragraph(
            "Measured with the kernel's own objects, base and patched, linked into one process, "
            "after both had produced identical memory. The first line repeats it.",
            "",
        )
        yield ""
        yield from mail.run(measured).rstrip("\n").split("\n")
    if explained:
        yield ""
        yield from mail.paragraph("What checkpatch.pl --strict says of the series:", "")
        for one in explained:
            yield from mail.paragraph(f"- {one}")

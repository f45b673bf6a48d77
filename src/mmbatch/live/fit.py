# SPDX-License-Identifier: GPL-2.0-only
"""Whether a kernel is one that a livepatch module may be made for, and what it is told of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.live.btf import Btf
from mmbatch.live.manifest import Function, LiveManifest, Terms


def of_series(live: LiveManifest, series: str, release: str) -> LiveManifest:
    """Return what a speed-up's module is in kernels of a series.

    Raises:
        MmbatchError: it is not made for them.
    """
    if series not in live.series:
        made = ", ".join(live.series)
        raise unfit(live, release, f"'{live.speedup}' is made for Linux {made} so far")
    return live.of(series)


def require_config(live: LiveManifest, terms: Terms, config: Mapping[str, str], rel: str) -> None:
    """Raise MmbatchError unless a kernel's configuration allows the module.

    Args:
        live: the speed-up.
        terms: what every module needs.
        config: the options that are set.
        rel: the kernel's release.
    """
    for one in (terms, live.terms):
        for option, reason in one.needs.items():
            if option not in config:
                raise unfit(live, rel, f"it lacks {option}: {reason}")
        for option, reason in one.refuses.items():
            if option in config:
                raise unfit(live, rel, f"it has {option}: {reason}")


def require_types(live: LiveManifest, terms: Terms, types: Btf, release: str) -> None:
    """Raise MmbatchError unless functions and structs are in a kernel as the speed-up knows them.

    Args:
        live: the speed-up.
        terms: what every module needs.
        types: the kernel's.
        release: the kernel's.
    """
    for function in _functions(live, terms):
        if not types.has_function(function.name):
            found = f"it has no {function.name}(), or only inlined"
            raise unfit(live, release, found)
        found_signature = types.signature(function.name)
        if found_signature is None:
            raise unfit(live, release, f"it has {function.name}() more than once")
        if found_signature != function.signature:
            raise unfit(
                live,
                release,
                f"{function.name}() is {_spelled(found_signature)} there, "
                f"not {_spelled(function.signature)}",
            )
    for struct, members in live.structs.items():
        if types.size_of(struct) is None:
            raise unfit(live, release, f"it has no struct {struct}")
        for member in members:
            if types.place(struct, member) is None:
                raise unfit(live, release, f"its struct {struct} has no member {member}")


def tables(live: LiveManifest, terms: Terms, types: Btf) -> str:
    """Return live_tables.h: what the module compares with the kernel, by compiler and at load.

    Args:
        live: the speed-up.
        terms: what every module needs.
        types: those of the kernel that the module is built for, which fit.
    """
    return "\n".join(_tables(live, terms, types)) + "\n"


def _tables(live: LiveManifest, terms: Terms, types: Btf) -> Iterator[str]:
    yield "/* SPDX-License-Identifier: GPL-2.0-only */"
    yield "/* Made by mmbatch for one kernel. */"
    yield from (f"#include <{name}>" for name in live.includes)
    yield f'#define LIVE_TITLE "{live.title}"'
    for function in live.replaces:
        yield f"extern typeof({function.name}) {function.by};"
    for struct, members in live.structs.items():
        size = types.size_of(struct)
        yield f'static_assert(sizeof(struct {struct}) == {size}, "layout of struct {struct}");'
        for member in members:
            place = types.place(struct, member)
            assert place is not None
            yield (
                f"static_assert(offsetof(struct {struct}, {member}) == {place.offset} && "
                f"sizeof_field(struct {struct}, {member}) == {place.size}, "
                f'"layout of struct {struct}: {member}");'
            )
    yield "static const struct live_place live_places[] = {"
    for struct, members in live.structs.items():
        yield f'\t{{ "{struct}", NULL, 0, sizeof(struct {struct}) }},'
        for member in members:
            yield (
                f'\t{{ "{struct}", "{member}", offsetof(struct {struct}, {member}), '
                f"sizeof_field(struct {struct}, {member}) }},"
            )
    yield "};"
    yield "static const struct live_signature live_signatures[] = {"
    for function in _functions(live, terms):
        returns, *params = (f'"{text}"' for text in function.signature)
        yield f'\t{{ "{function.name}", {returns}, {{ {", ".join(params) or "NULL"} }} }},'
    yield "};"
    yield "static const struct live_entry live_entries[] = {"
    for one in live.replaces:
        yield f'\t{{ "{one.name}", {one.name}, {"0" if one.local else "LIVE_ENTRY_BYTES"} }},'
    yield "};"
    yield "static struct klp_func live_functions[] = {"
    yield from (f'\t{{ .old_name = "{one.name}", .new_func = {one.by} }},' for one in live.replaces)
    yield "\t{ }"
    yield "};"


def symbols(live: LiveManifest, terms: Terms) -> list[str]:
    """Return the symbols that are not exported and are resolved when the module loads."""
    functions = [function.name for function in _functions(live, terms)]
    return [*functions, *live.terms.variables, *terms.variables]


def unfit(live: LiveManifest, release: str, problem: str) -> MmbatchError:
    """Return the error of a kernel that a module can't be made for."""
    return MmbatchError(
        f"make {live.module} for Linux {release}",
        problem,
        "use another kernel, or build one with the speed-up in it (mmbatch apply)",
        ExitCode.NOT_APPLICABLE,
    )


def _functions(live: LiveManifest, terms: Terms) -> list[Function]:
    return [*live.replaces, *live.terms.calls, *terms.calls]


def _spelled(signature: tuple[str, ...]) -> str:
    returns, *params = signature
    return f"{returns}({', '.join(params)})"

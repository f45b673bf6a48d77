# SPDX-License-Identifier: GPL-2.0-only
"""Put a header into the C file that includes it.

Our sources include small headers for what differs between kernels. A series is for one kernel, so
its patches have the content of such a header where it is used.
"""

from __future__ import annotations

import re

from mmbatch.splice.edits import mismatch, split_lines

_GUARD = re.compile(
    r"\A/\* SPDX-License-Identifier: [^\n]*\n#ifndef (\w+)\n#define \1\n"
    r"(.*)\n#endif /\* \1 \*/\n\Z",
    re.DOTALL,
)
_INCLUDE = re.compile(r'^#include [<"].*\n', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def fold(content: str, header: str, name: str, file: str) -> str:
    """Return a C file with the content of a header in the place of its #include.

    What the header includes goes to the other #include lines, sorted, and what it defines follows
    them. Its comments go with its definitions; if it has none, its comments are about the
    #include lines, and are left out.

    Args:
        content: the C file.
        header: the header, with SPDX line and guard.
        name: by which the C file includes the header.
        file: the C file's path, for error messages.

    Raises:
        MmbatchError: exit code 3; the C file does not include the header exactly once, or the
            header has no guard.
    """
    lines = split_lines(content)
    own = f'#include "{name}"\n'
    guarded = _GUARD.match(header)
    if lines.count(own) != 1 or guarded is None:
        problem = f"it includes {name} {lines.count(own)} times instead of once"
        raise mismatch(file, problem if guarded else f"{name} has no guard")
    lines.remove(own)
    for include in _INCLUDE.findall(guarded[2]):
        _add_include(lines, include)
    body = _INCLUDE.sub("", guarded[2]).strip("\n")
    if _COMMENT.sub("", body).strip():
        last = max(i for i, line in enumerate(lines) if _INCLUDE.match(line))
        lines.insert(last + 1, f"\n{body}\n")
    return "".join(lines)


def _add_include(lines: list[str], include: str) -> None:
    """Insert an #include into the lines of its kind, <> or "", at the place of its name."""
    kind = include[: len("#include <")]
    found = [i for i, line in enumerate(lines) if line.startswith(kind)]
    if include in lines:
        return
    later = [i for i in found if lines[i] > include]
    every = [i for i, line in enumerate(lines) if _INCLUDE.match(line)]
    lines.insert(later[0] if later else (found or every)[-1] + 1, include)

# SPDX-License-Identifier: GPL-2.0-only
"""Packages of the tool import downwards only."""

import ast
from pathlib import Path

import mmbatch

SOURCES = Path(mmbatch.__file__).parent
ORDER = (
    "core",
    "kernel",
    "splice",
    "hosted",
    "bench",
    "report",
    "series",
    "live",
    "guest",
    "cli",
)
"""From the bottom up; a package imports itself and those before it."""


def imported_packages(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "mmbatch" and len(parts) > 1 and (SOURCES / parts[1]).is_dir():
                found.add(parts[1])
    return found


def test_every_package_has_its_place() -> None:
    packages = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    assert packages == set(ORDER)


def test_imports_go_down() -> None:
    upwards = [
        f"{path.relative_to(SOURCES)} imports {package}"
        for path in sorted(SOURCES.rglob("*.py"))
        if path.parent != SOURCES
        for package in sorted(imported_packages(path))
        if ORDER.index(package) > ORDER.index(path.parent.name)
    ]
    assert upwards == []

# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch live install` and `live uninstall`: the speed-ups at each boot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from mmbatch.cli import answers, options
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console, output_options
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import ExitCode
from mmbatch.live import boot, install, manifest
from mmbatch.live import kernel as kernels
from mmbatch.live.install import Fit, System
from mmbatch.live.load import Kernel
from mmbatch.live.manifest import LiveManifest

_root = click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    default="/",
    show_default=True,
    metavar="DIR",
    help="Change the system below this directory, such as an image that will be booted",
)
_dry_run = click.option("-n", "--dry-run", is_flag=True, help="Show what would change")


@click.command("install", short_help="Load the speed-ups at each boot, before devices are bound")
@options.live_speedups
@_root
@_dry_run
@options.json_file
@output_options
def run_install(
    console: Console,
    /,
    speedups: tuple[str, ...],
    root: Path,
    dry_run: bool,
    json_file: Path | None,
) -> int:
    """Install SPEEDUPs, by default all, so that each boot loads them before devices are bound.

    They are Debian packages: one for each speed-up, from which DKMS builds its module for every
    kernel, and mmbatch-boot, which loads the modules. What is loaded now does not change.
    """
    options.require_writable(("--json", json_file))
    system = System(root)
    chosen = manifest.load_all(speedups, "install")
    names = {live.speedup for live in chosen}
    lives = [*chosen, *(live for live in install.installed(system) if live.speedup not in names)]
    lives.sort(key=lambda live: live.speedup)
    found = install.fits(system, lives)
    install.require_fit(system, found)
    install.require_free(system, lives)
    cache = Cache.open()
    if dry_run:
        changed, files = _preview(cache, system, lives)
    else:
        changed = install.install(cache, system, lives, found, console.say)
        files = system.files(sorted(system.installed()))
    would = "would be " if dry_run else ""
    console.result(f"{would}installed: {', '.join(changed) or 'nothing, because all is there'}")
    _show_kernels(console, found)
    _show_drivers(console, lives)
    for file in files:
        console.result(f"file: {file}")
    if changed and not dry_run and system.own:
        console.result("They are loaded at the next boot. To load them now: ./mmbatch live load")
    answer = answers.LiveInstall(
        root=str(root),
        dry_run=dry_run,
        changed=changed,
        speedups=[live.speedup for live in lives],
        kernels=[answers.LiveFit(fit.release, fit.speedup, fit.problem) for fit in found],
        drivers=boot.drivers(lives),
        files=files,
    )
    options.write_answer(json_file, "live install", answer)
    return ExitCode.GOOD


def _preview(
    cache: Cache, system: System, lives: Sequence[LiveManifest]
) -> tuple[list[str], list[str]]:
    """Return the packages that an installation would change, and the files that they have."""
    with temporary_dir(cache.downloads, "install") as place:
        packages = install.build(cache, lives, place)
        return install.differing(system, packages), install.files_of(packages)


def _show_kernels(console: Console, found: Sequence[Fit]) -> None:
    rows: dict[tuple[str, str], list[str]] = {}
    for fit in found:
        rows.setdefault((fit.release, fit.problem), []).append(fit.speedup)
    for (release, problem), own in rows.items():
        names = ", ".join(own)
        console.result(
            f"Linux {release}: {names}"
            if not problem
            else f"Linux {release}: not {names}, because {problem}"
        )


def _show_drivers(console: Console, lives: Sequence[LiveManifest]) -> None:
    rows: dict[str, list[str]] = {}
    for driver, modules in boot.drivers(lives).items():
        rows.setdefault(" and ".join(modules), []).append(driver)
    for names, drivers in rows.items():
        console.result(f"{names} before {', '.join(drivers)}")


@click.command("uninstall", short_help="Remove what `live install` installed")
@options.live_speedups
@_root
@_dry_run
@options.json_file
@output_options
def run_uninstall(
    console: Console,
    /,
    speedups: tuple[str, ...],
    root: Path,
    dry_run: bool,
    json_file: Path | None,
) -> int:
    """Remove SPEEDUPs, by default everything that `live install` installed.

    Modules that are loaded stay until `live unload` or the next boot.
    """
    options.require_writable(("--json", json_file))
    system = System(root)
    lives = manifest.load_all(speedups, "uninstall") if speedups else []
    if dry_run:
        removed = install.removable(system, lives)
        files = system.files(removed)
    else:
        files = []
        removed = install.uninstall(Cache.open(), system, lives)
    would = "would be " if dry_run else ""
    console.result(f"{would}removed: {', '.join(removed) or 'nothing, because nothing is there'}")
    for file in files:
        console.result(f"file: {file}")
    if system.own and not dry_run:
        _show_loaded(console, lives)
    options.write_answer(
        json_file, "live uninstall", answers.LiveUninstall(str(root), dry_run, removed)
    )
    return ExitCode.GOOD


def _show_loaded(console: Console, lives: Sequence[LiveManifest]) -> None:
    running = Kernel(kernels.running())
    loaded = [
        live.speedup
        for live in lives or manifest.load_all(())
        if (running.sys / "module" / live.module).exists()
    ]
    if loaded:
        console.result(
            f"Until the next boot, these stay loaded: {', '.join(loaded)}. "
            f"To unload them now: ./mmbatch live unload {' '.join(loaded)}"
        )

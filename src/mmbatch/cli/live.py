# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch live`: the speed-ups in a distribution's kernel, while it runs and at each boot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click

from mmbatch.bench import record
from mmbatch.cli import guest, options, usage
from mmbatch.cli.options import Names, flag, value, values, verb
from mmbatch.cli.usage import Misuse
from mmbatch.core import log
from mmbatch.core.cache import temporary_dir
from mmbatch.live import build, install, kernel, load, manifest, plan
from mmbatch.live.install import System
from mmbatch.live.load import Kernel
from mmbatch.live.plan import Device, Plan, Source
from mmbatch.report import compare
from mmbatch.splice.manifest import ALL

_PROOFS = {
    "passed": "the proof before use passed",
    "failed": "the proof before use FAILED for some memory, which is left to the kernel",
    "none": "no proof yet, because nothing used it",
}
_REMEDY = "boot another kernel, such as Debian's, or one with the speed-up in it (mmbatch apply)"
_UNCHANGED = "Unchanged: whatever else a bind does, such as mapping the memory and its memmap."
_GPUS = (
    "GPUs: no gain is claimed. Their drivers gain only if they register device pages, which "
    "`grep -A 9 'zone *Device' /proc/zoneinfo` shows: 'spanned' grows when the driver is loaded."
)
_Key = TypeVar("_Key")


@click.group("live", cls=usage.Group)
def command() -> None:
    """Put the speed-ups into a distribution's kernel as livepatches, while it runs."""


command.add_command(guest.live_test)

_speedups = options.speedups_of(manifest.known)
_named = options.speedups_of(manifest.known, required=True)
_limit = options.number(
    "--limit N", "Wait at most N seconds for all tasks to switch", default=60, show_default=True
)
_EXISTING = click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path)
_sysfs = value("--sysfs DIR", "Read this sysfs", type=_EXISTING, default="/sys")
_root = value(
    "--root DIR", "Change this system, such as an image's root", type=_EXISTING, default="/"
)


@verb("build", command)
def _build(
    speedups: Names = _speedups,
    name: str | None = options.live_kernel,
    until: str = options.until(ALL),
) -> None:
    """Build livepatch modules for the running kernel or another one.

    The kernel's headers are those that are installed, or Debian's packages of them, unpacked
    into the cache.
    """
    lives = manifest.load_all(speedups, until)
    for module in build.build_all(lives, kernel.choose(name)):
        log.result(str(module))


@verb("load", command)
def _load(
    speedups: Names = _named,
    parameters: Names = values(
        "--set SPEEDUP.PARAMETER=VALUE",
        "Set a parameter of a module",
        options.like(r"\w+\.\w+=.*", "SPEEDUP.PARAMETER=VALUE", "NAME.method=base"),
    ),
    file: Path | None = value(
        "--module FILE",
        "Load this file, such as one that you have signed, instead of building one",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
    ),
    until: str = options.until(ALL),
    limit: int = _limit,
) -> None:
    """Load modules into the running kernel, built where necessary.

    They are loaded one by one, each when the one before it is in use.
    """
    if file is not None and (len(speedups) != 1 or until != ALL):
        raise Misuse("--module is for one speed-up", "name one speed-up, and leave out --until")
    for setting in parameters:
        if setting.partition(".")[0] not in speedups:
            raise Misuse(f"--set {setting} is for a speed-up that is not named", "name it as well")
    running = Kernel(kernel.running())
    for live in manifest.load_all(speedups, until):
        own = [setting for setting in parameters if setting.startswith(f"{live.speedup}.")]
        if running.patch(live.module).exists():
            if file or until != ALL:
                path = file or build.build_all([live], running.release)[0]
                load.require_same(live, path, running)
            load.set_parameters(live, own, running)
            change = f"; it has {' and '.join(own)} now" if own else ""
            log.result(f"{live.module} is loaded already{change}")
            continue
        path = file or build.build_all([live], running.release)[0]
        load.require_loadable(live, path, running)
        load.require_parameters(path, own)
        for words in live.slower:
            log.result(f"{live.speedup}: slower: {words}")
        log.say(f"loading {live.module}")
        load.load(live, path, own, running, limit)
        _show_functions(load.functions(live, running))


@verb("status", command)
def _status(
    speedups: Names = _speedups,
    sysfs: Path = _sysfs,
    json_file: Path | None = options.json_file,
) -> None:
    """Show what runs for each function that a speed-up replaces.

    For speed-ups that are loaded, also how many calls and pages they handled, how many calls they
    left to the kernel and why, their method, and whether their proof before use passed.
    """
    running = Kernel(kernel.running(), sysfs)
    lives = manifest.load_all(speedups)
    functions = [row for live in lives for row in load.functions(live, running)]
    _show_functions(functions)
    states = [load.state(live, running) for live in lives]
    for state in states:
        method = f"method {state.method}" if state.method else ""
        text = ", ".join(word for word in (method, _PROOFS.get(state.proof or "", "")) if word)
        if state.loaded and text:
            log.result(f"{state.speedup}: {text}")
    if not any(state.loaded for state in states):
        log.result("nothing is loaded")
    _show_support(running.release, states)
    answer = {"release": running.release, "functions": list(map(asdict, functions))}
    answer["speedups"] = list(map(asdict, states))
    options.write_answer(json_file, "live status", answer)


def _show_functions(rows: Sequence[load.Function]) -> None:
    def counted(row: load.Function) -> str:
        left = "".join(f"; left {each.calls:,} to the kernel: {each.reason}" for each in row.left)
        each = f", {plan.amount_text(row.ns / row.calls)} a call" if row.ns and row.calls else ""
        return "" if row.calls is None else f"{row.calls:,} calls, {row.pages:,} pages{each}{left}"

    log.table([(f"{row.speedup}:", f"{row.function}():", row.runs, counted(row)) for row in rows])


def _joined(pairs: Iterable[tuple[_Key, str]]) -> Iterable[tuple[_Key, str]]:
    """Return the names of each key, joined."""
    found: dict[_Key, list[str]] = {}
    for key, name in pairs:
        found.setdefault(key, []).append(name)
    return [(key, ", ".join(names)) for key, names in found.items()]


def _show_support(release: str, states: Sequence[load.Speedup]) -> None:
    """Print which speed-ups can run on the running kernel, and why not the others."""
    for problem, names in _joined((each.problem, each.speedup) for each in states if each.problem):
        log.result(f"{names} can't run on Linux {release}: {problem}\nhint: {_REMEDY}")
    able = [state.speedup for state in states if not state.problem and not state.loaded]
    if able:
        log.result(f"{', '.join(able)} can run on Linux {release}: ./mmbatch live load NAME")


@verb("unload", command)
def _unload(speedups: Names = _speedups, limit: int = _limit) -> None:
    """Give the kernel its own functions back, and remove the modules."""
    running = Kernel(kernel.running())
    for live in manifest.load_all(speedups):
        if load.unload(live.module, running, limit):
            _show_functions(load.functions(live, running))
        else:
            log.result(f"{live.module} is not loaded")


@verb("plan", command)
def _plan(
    speedups: Names = _speedups,
    files: Names = values(
        "--record FILE",
        "Use the times of this record of bench, not those of the most similar CPU in results/",
    ),
    sysfs: Path = _sysfs,
    json_file: Path | None = options.json_file,
) -> None:
    """Estimate how much faster this machine's devices bind.

    It reads which NVDIMM namespaces and DAX devices are bound, takes the times that a page takes
    from a record, and says what binding each device takes in the kernel's own functions and with
    the speed-ups. It needs neither root nor a compiler, and changes nothing.
    """
    running = Kernel(kernel.running(), sysfs)
    lives = [live for live in manifest.load_all(speedups) if live.devices]
    given = {}
    for file in map(Path, files):
        held = record.read(file)
        if held.speedup not in [live.speedup for live in lives]:
            hint = f"give one that bench wrote of {', '.join(live.speedup for live in lives)}"
            raise Misuse(f"{file} has nothing of what devices gain from", hint)
        if not held.timed and len(lives) > 1:
            raise Misuse(f"{file} has no times", f"name only {held.speedup}, to plan its counts")
        given[held.speedup] = (file, held, "as given")
    found, sources = plan.devices(sysfs), {}
    for live in lives:
        usual = (live.speedup, running.release)
        file, held, similar = given.get(live.speedup) or plan.most_similar(*usual)
        rates = plan.rates(held)
        gained = [plan.estimate(live, device, rates) for device in found]
        if gained != found:
            code = compare.age(held)
            similar += "" if code.is_today else f"; {code.sentence}"
            sources[live.speedup] = Source(file.name, held.where, held.kernel.release, similar)
        found = gained
    timed = all(held.timed for _, held, _ in given.values())
    answer = plan.total(running.release, found, sources, "ns" if timed else "instructions")
    _show_plan(answer)
    _show_support(running.release, [load.state(live, running) for live in lives])
    options.write_answer(json_file, "live plan", asdict(answer))


def _show_plan(answer: Plan) -> None:
    def amount(number: float | None) -> str:
        return "-" if number is None else plan.amount_text(number, answer.unit)

    def row(device: Device) -> tuple[str, ...]:
        less = None if device.now is None or device.then is None else device.now - device.then
        reasons = "" if device.bound else "not bound, no claim"
        if device.bound and not device.speedup:
            reasons = "no gain" if device.size else "no claim"
        words = "; ".join(word for word in (device.speedup, reasons, device.note) if word)
        facts = (device.device, device.mode, plan.size_text(device.size) if device.size else "-")
        node = "-" if device.node < 0 else str(device.node)
        return (*facts, device.memmap, node, *map(amount, (device.now, device.then, less)), words)

    if answer.sources:
        low, high = map(amount, answer.less)
        log.result(
            f"To gain: {amount(answer.now - answer.then)} of {amount(answer.now)} each time all of "
            f"these devices are bound (noise: {low} to {high})."
        )
    elif all(device.size for device in answer.devices) and answer.devices:
        log.result("Nothing to gain that is bound now.")
    elif answer.devices:
        log.result("No gain is claimed: memory may come, and sysfs does not say how much.")
    else:
        log.result("Nothing to gain: this machine has no NVDIMM namespace and no DAX device.")
    if answer.devices:
        head = ("device", "mode", "size", "memmap", "node", "now", "then", "less", "speed-up")
        log.table([head, *map(row, answer.devices)])
    kind = "times" if answer.unit == "ns" else "counts"
    for name, source in answer.sources.items():
        log.result(
            f"{name}: {kind} of {source.file}, measured on {source.cpu} with Linux {source.kernel} "
            f"({source.similar})"
        )
    if answer.sources:
        log.result(_UNCHANGED)
    log.result(_GPUS)


@verb("dkms", command)
def _dkms(
    speedups: Names = _named,
    output: Path = value(
        "-o, --output DIR",
        "Write the packages into this directory",
        type=options.DIRECTORY,
        default=".",
    ),
    name: str | None = options.live_kernel,
) -> None:
    """Make Debian packages that build the modules through DKMS.

    They build them for each kernel, and load them at boot. With --kernel, the modules are built
    here instead, for this kernel alone, and no compiler is needed where they are installed.
    """
    release = kernel.choose(name) if name else ""
    for path in install.packages(manifest.load_all(speedups), output, release):
        log.result(str(path))


@verb("install", command)
def _install(
    speedups: Names = _named,
    root: Path = _root,
    dry_run: bool = flag("-n, --dry-run", "Show what would change"),
) -> None:
    """Load the speed-ups at each boot, before devices are bound.

    They are Debian packages: one for each speed-up, from which DKMS builds its module for every
    kernel, and mmbatch-boot, which loads the modules. What is loaded now does not change.
    """
    system = System(root)
    chosen = {live.speedup: live for live in manifest.load_all(speedups)}
    every = {**{live.speedup: live for live in system.speedups()}, **chosen}
    lives = [every[name] for name in sorted(every)]
    found = install.fits(system, lives)
    install.require_free(system, lives)
    if dry_run:
        with temporary_dir("install") as place:
            made = install.packages(lives, place)
            changed, files = install.differing(system, made), install.files_of(made)
    else:
        changed = install.install(system, lives, found)
        files = system.files(sorted(system.installed()))
    would = "would be " if dry_run else ""
    log.result(f"{would}installed: {', '.join(changed) or 'nothing, because all is there'}")
    for (release, problem), names in _joined(((f.release, f.problem), f.speedup) for f in found):
        log.result(f"Linux {release}: {f'not {names}, because {problem}' if problem else names}")
    before = install.drivers(lives).items()
    for names, own in _joined((" and ".join(modules), driver) for driver, modules in before):
        log.result(f"{names} before {own}")
    log.result("\n".join(f"file: {file}" for file in files))
    log.result(f"DKMS signs them with the key of {install.certificate(system)}")
    if changed and not dry_run and system.own:
        names = " ".join(chosen)
        log.result(
            f"They are loaded at the next boot. To load them now: ./mmbatch live load {names}"
        )


@verb("uninstall", command)
def _uninstall(speedups: Names = _speedups, root: Path = _root) -> None:
    """Remove what `live install` installed.

    Modules that are loaded stay until `live unload` or the next boot.
    """
    system = System(root)
    chosen = manifest.load_all(speedups)
    removed = install.uninstall(system, chosen if speedups else system.speedups())
    log.result(f"removed: {', '.join(removed) or 'nothing, because nothing is there'}")
    running = Kernel(kernel.running())
    loaded = " ".join(live.speedup for live in chosen if running.is_loaded(live.module))
    if system.own and loaded:
        log.result(f"Until the next boot, these stay loaded: {loaded}")
        log.result(f"To unload them now: ./mmbatch live unload {loaded}")

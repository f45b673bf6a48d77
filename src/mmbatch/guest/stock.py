# SPDX-License-Identifier: GPL-2.0-only
"""Guests with a distribution's kernel, and all that is loaded into it: livepatches first of all."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from mmbatch.core import cache, log, paths
from mmbatch.core.load import SERIES
from mmbatch.core.process import run
from mmbatch.guest import boots, initramfs, misfits, plan
from mmbatch.guest.kernel import ARCHES, GuestKernel
from mmbatch.guest.plan import Boot, Plan
from mmbatch.guest.qemu import Guest
from mmbatch.kernel import foreign
from mmbatch.live import build, kernel, manifest
from mmbatch.live.kernel import Headers

_SERIES, _SUITE = "6.12", "bookworm-backports"
"""Where the kernel is from that is tested unless another one is named.

All machines test the same kernel, whichever newer ones their own release has.
"""

_SUBJECT = "/CN=mmbatch, a key for one test"
_RIVAL = "rival"  # a second livepatch that replaces a function of the one that the tool loads
_SPARE = "dummy"  # a module of the stock kernel that nobody needs
_PACKAGES = ("click", "numpy", "rich")
_DIRECTORIES = ("live", "speedups", "src")
_LEFT_OUT = re.compile("__pycache__|ensurepip|idlelib|lib2to3|site-packages|tests?|tkinter")

_BROKEN = ("cx16",)
"""With this CPU feature, a stock kernel dies under QEMU 7.2 before any of our modules is loaded:
its flags are garbage after cmpxchg16b."""


def choose(name: str | None) -> str:
    """Return the release of the kernel that is tested: what is named, or the default."""
    return kernel.choose(name) if name else kernel.newest(_SERIES, _SUITE)


class Stock:
    """A distribution's kernel as it is, unpacked: its image, and the modules of its package."""

    def __init__(self, release: str, directory: Path) -> None:
        self.release = release
        self._boot = directory / "boot"
        merged = directory / "usr/lib/modules" / release
        self._library = merged if merged.exists() else directory / "lib/modules" / release
        lines = (self._library / "modules.builtin").read_text(encoding="utf-8").splitlines()
        self._built_in = {_module_name(line) for line in lines}
        self._files = {_module_name(str(path)): path for path in self._library.rglob("*.ko*")}

    def modules(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return modules that are not built in, and those that they need, in order of loading."""
        found: dict[str, bytes] = {}

        def visit(name: str) -> None:
            if name in found or name in self._built_in:
                return
            content = kernel.module_content(self._files[name])
            depends = re.search(rb"(?:^|\0)depends=([^\0]+)", content)
            for needed in depends[1].decode().split(",") if depends else []:
                visit(_module_name(needed))
            found[name] = content

        for name in names:
            visit(name)
        return found

    def has(self, name: str) -> bool:
        """Return whether the kernel has a module, or has it built in."""
        return name in self._built_in or name in self._files

    def part(self, name: str) -> Path:
        """Return a file that is in boot/, or beside the modules in newer packages."""
        in_boot = self._boot / f"{name}-{self.release}"
        return in_boot if in_boot.exists() else self._library / name


def _module_name(path: str) -> str:
    return Path(path).name.partition(".")[0].replace("-", "_")


class Livepatched:
    """Guests with a distribution's kernel, which load every livepatch, built for it.

    Speed-ups whose drivers the kernel lacks are left out, and named.
    """

    def __init__(self, release: str) -> None:
        """Raise MmbatchError if a module can't be built for this kernel."""
        self._stock = Stock(release, kernel.fetch_image(release))
        self._plans = []
        for name in manifest.known(paths.SPEEDUPS):
            own = plan.plans()[name]
            lacking = [driver for driver in own.drivers if not self._stock.has(driver)]
            if lacking:
                log.result(f"not {name}: Linux {release} has no {' and no '.join(lacking)}")
            else:
                self._plans.append(own)
        self._files, self._settings = _payload(self._stock, kernel.find(release), self._plans)

    def prepare(self, boot: Boot) -> Guest:
        """Return a guest that can be booted."""
        scripts = ["start"]
        for script in boot.scripts:
            folder, _, name = script.rpartition("/")
            speedups = [each.speedup for each in self._plans] if folder == plan.ALL else [folder]
            scripts += [f"{speedup}/{name}".lstrip("/") for speedup in speedups]
        files = boots.files_of(self._plans, scripts, {**self._settings, **boot.settings})
        if {"tool", "faults", "plan"} & {name.rpartition("/")[2] for name in scripts}:
            files |= _tool_files(self._settings["TOOL_SPEEDUP"])
        stock = self._stock
        config, image = stock.part("config"), stock.part("vmlinuz")
        origin = f"Debian's {stock.release}"
        found = GuestKernel(stock.release, origin, ARCHES["x86_64"], image, config)
        boot = replace(boot, without=(*boot.without, *_BROKEN))
        return Guest(boot, found, initramfs.make({**files, **self._files}))


def _payload(
    stock: Stock, headers: Headers, plans: Sequence[Plan]
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files that guests can load, and the shell variables that name them."""
    names = [each.speedup for each in plans]
    lives = dict(zip(names, manifest.load_all(names), strict=True))
    tested = next(each for each in plans if each.tool)
    subject = lives[tested.speedup]
    rival = replace(subject, speedup=_RIVAL)
    built = build.build_all([*lives.values(), rival], headers.release)
    paths_of = dict(zip([*names, _RIVAL], built, strict=True))
    good = paths_of[tested.speedup]
    optional = [name for each in plans for name in each.optional if stock.has(name)]
    drivers = stock.modules([*(name for each in plans for name in each.drivers), *optional])
    modules = drivers | stock.modules([_SPARE])
    modules |= {f"mmbatch_{name}": path.read_bytes() for name, path in paths_of.items()}
    modules |= {"older": misfits.older(good), "rebuilt": misfits.rebuilt(good)}
    compiler = foreign.find_compiler(headers.release, headers.config)
    for each in (plan.common(), *plans):
        for name in (*each.modules, *each.observers):
            modules[name] = build.plain(each.find(f"{name}.c"), headers, compiler)
    files = {f"modules/{name}.ko": content for name, content in modules.items()}
    files["refused/signed.ko"] = _sign(headers, good)
    refused = {
        f"{speedup}_{name}": variant
        for speedup, live in lives.items()
        for name, variant in misfits.variants(live, paths_of[speedup]).items()
    }
    for name, (content, words) in refused.items():
        files |= {f"refused/{name}.ko": content, f"refused/{name}.txt": words.encode()}
    return files, {
        "SPEEDUPS": " ".join(names),
        "OBSERVERS": " ".join(name for each in plans for name in each.observers),
        "DRIVER_MODULES": " ".join(drivers),
        "SPARE_MODULE": _SPARE,
        "REFUSED": " ".join(refused),
        "RIVAL": _RIVAL,
        "TOOL_SPEEDUP": tested.speedup,
        "TOOL_FUNCTION": subject.replaced(headers.series)[0].name,
        **{f"TOOL_{key.upper()}": value for key, value in tested.tool.items()},
    }


def _sign(headers: Headers, module: Path) -> bytes:
    """Return a module with a signature that no kernel trusts."""
    action = f"sign {module.name}"
    with cache.temporary_dir("key") as directory:
        key, certificate = directory / "key.priv", directory / "key.der"
        signed = directory / module.name
        argv = ["openssl", "req", "-new", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha256"]
        argv += ["-days", "2", "-subj", _SUBJECT, "-outform", "DER"]
        run([*argv, "-keyout", key, "-out", certificate], action=action)
        program = headers.path / "scripts/sign-file"
        run([program, "sha256", key, certificate, module, signed], action=action)
        return signed.read_bytes()


def _tool_files(speedup: str) -> dict[str, bytes]:
    """Return python3, its library, setpriv, and this tool in /mmbatch, as files by name.

    `live plan` reads the records of the speed-up.
    """
    python = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    setpriv = Path("/usr/bin/setpriv")  # busybox's lacks --pdeathsig
    found = {"bin/python3": python.read_bytes(), "bin/setpriv": setpriv.read_bytes()}
    place = f"usr/lib/{library.name}"
    for path, name in _below(library, place):
        if not name.startswith((f"{place}/config-", f"{place}/dist-packages")):
            found[name] = path.read_bytes()
    places = {f"site/{name}": Path(str(find_spec(name).origin)).parent for name in _PACKAGES}  # type: ignore[union-attr]
    places |= {name: paths.ROOT / name for name in _DIRECTORIES}
    for name, directory in places.items():
        for path, target in _below(directory, f"mmbatch/{name}"):
            found[target] = path.read_bytes()
    for path in paths.ROOT.glob(f"results/{speedup}-{SERIES[0]}-*.json"):
        found[f"mmbatch/results/{path.name}"] = path.read_bytes()
    numpy = places["site/numpy"].rglob("*.so")
    for program in (python, setpriv, *library.glob("lib-dynload/*.so"), *numpy):
        for needed in initramfs.libraries(program):
            found[needed.lstrip("/")] = Path(needed).read_bytes()
    return found


def _below(directory: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Yield the files below a directory, each with its name in the guest."""
    for path in sorted(directory.iterdir()):
        if _LEFT_OUT.fullmatch(path.name):
            continue
        if path.is_dir():
            yield from _below(path, f"{name}/{path.name}")
        else:
            yield path, f"{name}/{path.name}"

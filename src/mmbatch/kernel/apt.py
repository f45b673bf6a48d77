# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages: those of suites that the system does not follow, and its own to install.

Packages are fetched with apt states of our own in the cache. Nothing of the system's apt changes;
the archives are those that it is configured with, and signatures are always checked.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from mmbatch.core import cache, log
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import PACKAGES, Result, run, stream

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

GUEST_PROGRAMS = {
    "x86_64": ("qemu-system-x86_64", "busybox", "ndctl", "daxctl", "mke2fs", "openssl"),
    "arm64": ("qemu-system-aarch64", "aarch64-linux-gnu-gcc"),
}
"""What booting guests of an architecture needs."""

_MAX_AGE_S = 24 * 3600
_LIMIT_S = 3600
_ROOT_DIRECTORIES = "/usr/sbin:/sbin:/usr/bin:/bin"
_SUITE = re.compile(
    r"(bookworm|trixie|forky|sid|experimental|(?:old)?stable|testing|unstable)(?:-.+)?"
)
# What we look into besides the suites that the system follows: the releases that carry a kernel
# which we support. The index of sid is large, and most of what we want is in a stable release.
_STABLE = ("trixie", "trixie-backports", "bookworm-backports")
_SECURITY = ("trixie-security",)
_UNSTABLE = ("forky", "sid", "experimental")
# Suites that are not there are none, and hints neither.
_FAILURES = re.compile(
    r"^(?!.*does not have a Release file)(?:E: .*|.*(?:Failed to fetch|GPG error).*)", re.MULTILINE
)
_ERRORS = re.compile(r"^Err:\d+ (.+ (?!Release$)\S+)\n +(.+)", re.MULTILINE)
_CONFIG = """\
// Written by mmbatch; read after the system's own configuration.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
Acquire::Languages "none";
Acquire::AllowInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
APT::Sandbox::User "root";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Dir::Etc::sourcelist "{root}/debian.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{root}/state";
Dir::State::lists "{root}/state/lists";
Dir::State::status "{root}/nothing-installed";
Dir::Cache "{root}/cache";
Dir::Cache::archives "{root}/cache/archives";
Dir::Log "{root}/log";
"""


def find(package: str, version: str = "") -> list[tuple[str, str]]:
    """Return the (version, suite) pairs of a package, newest first; empty when none has it.

    Unstable suites are only looked into for what no other one has, or for a version that is
    preferred to newer ones of more stable suites.
    """
    with cache.lock("apt", "fetches lists of Debian's packages"):
        first: list[tuple[str, str]] = []
        for state in _states():
            found = state.find(package)
            if found and (not version or version in dict(found)):
                return found
            first = first or found
            if state.complaint and not state.has_lists() and not first:
                action = f"fetch {package} from the Debian mirror"
                hint = "check the network; where a command takes --tree DIR, DIR needs none"
                raise MmbatchError(action, state.complaint, hint)
        return first


def need(package: str, version: str = "") -> tuple[str, str]:
    """Return a package's newest version, or the wanted one where there is such, and its suite."""
    found = find(package, version)
    if not found:
        action = f"fetch {package} from the Debian mirror"
        hint = "choose another with --kernel, or give an unpacked kernel with --tree DIR"
        raise MmbatchError(action, "no suite there carries it", hint)
    return (version, dict(found)[version]) if version in dict(found) else found[0]


def depends(package: str, version: str) -> list[str]:
    """Return the packages that a package which `find` found needs; of choices, all."""
    shown = [state.ask("show", f"{package}={version}") for state in _states()]
    words = re.findall(r"^Depends: (.*)$", "".join(shown), re.M)
    return [word.split()[0] for line in words[:1] for word in re.split("[,|]", line)]


def names(prefix: str) -> list[str]:
    """Return the packages whose names begin so, in the suites that were asked before."""
    every = (sorted(state.ask("pkgnames", prefix).split()) for state in _states())
    return next(filter(None, every), [])


def download(package: str, version: str, directory: Path, *, needs: bool = False) -> list[Path]:
    """Fetch a package file, with `needs` also all that it depends on, and return their paths.

    When the mirror no longer has that version (point releases move), the lists are fetched again,
    and the newest version is taken instead.
    """
    state = next(state for state in _states() if version in dict(state.find(package)))
    try:
        return state.download(package, version, directory, needs=needs)
    except MmbatchError:
        log.say(f"{package} {version} could not be fetched; asking the mirror again")
        with cache.lock("apt", "fetches lists of Debian's packages"):
            state.update()
        newest = [found for found, _ in state.find(package)]
        return state.download(package, [*newest, version][0], directory, needs=needs)


def unpack(package: str, version: str, directory: Path, *, needs: bool = False) -> None:
    """Fetch a package, with `needs` also all that it depends on, and unpack the files."""
    with cache.temporary_dir(package) as downloads:
        for path in download(package, version, downloads, needs=needs):
            run(["dpkg-deb", "--extract", path, directory], action=f"unpack {path.name}")


def followed() -> list[tuple[str, str]]:
    """Return the (suite, address) pairs of Debian's that this system's apt is configured with."""
    argv = ["apt-get", "update", "--print-uris", "-o", "Dir::State::lists=/nonexistent"]
    printed = run(argv, action="ask apt for its sources", check=False).stdout
    found = re.findall(r"^'(\S+?)/dists/(\S+?)/main/binary-", printed, re.M)
    suites = {suite: uri for uri, suite in reversed(found) if _SUITE.fullmatch(suite)}
    if not suites:
        problem = "apt's sources on this system name no Debian suite"
        hint = "give an unpacked kernel with --tree DIR"
        action = "find the mirror that carries the Debian archive"
        raise MmbatchError(action, problem, hint, ExitCode.NOT_APPLICABLE)
    return list(reversed(suites.items()))


def _states() -> list[_State]:
    return _states_at(cache.root() / "apt")


@functools.cache
def _states_at(directory: Path) -> list[_State]:
    suites = dict(followed())
    security = [uri for suite, uri in suites.items() if suite.endswith("-security")]
    main = [uri for uri in suites.values() if uri not in security] or security
    every = dict.fromkeys((*_STABLE, *_UNSTABLE), main[0])
    every |= dict.fromkeys(_SECURITY, security[0]) if security else {}
    every |= suites
    names = [name for name in (*_UNSTABLE, "testing", "unstable") if name in every]
    unstable = {name: every.pop(name) for name in names}
    return [_State(directory / "stable", every), _State(directory / "unstable", unstable)]


class _State:
    """Some suites, less those that their archive lacks, with an apt state of their own."""

    def __init__(self, root: Path, suites: dict[str, str]) -> None:
        self.root = root
        self.suites = suites
        self.complaint = ""
        signed = f"Signed-By: {KEYRING}\n" if KEYRING.exists() else ""
        # Each suite has a stanza, so that one that is missing spoils no other.
        self.sources = "\n".join(
            f"Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: main\nTargets: Packages\n"
            f"PDiffs: no\n{signed}"
            for suite, uri in suites.items()
        )
        self._stamp = root / "updated"
        self._updated = False

    def has_lists(self) -> bool:
        """Return whether any suite's index is here."""
        return any((self.root / "state/lists").glob("*_Packages*"))

    def find(self, package: str) -> list[tuple[str, str]]:
        """Return a package's (version, suite), newest first.

        Lists older than a day are fetched again first, and so are those that lack it.
        """
        found = self._madison(package) if self._is_fresh() else []
        if not found and not self._updated:
            self.update()
            found = self._madison(package)
        return found

    def _is_fresh(self) -> bool:
        if not self._stamp.exists() or self._stamp.read_text() != self.sources:
            return False
        return time.time() - self._stamp.stat().st_mtime < _MAX_AGE_S

    def _madison(self, package: str) -> list[tuple[str, str]]:
        printed = self.ask("madison", package)
        found = re.findall(r"^[^|]*\| *(\S+) *\| \S+ ([^/\s]+)/\S+ \S+ Packages$", printed, re.M)
        return list(dict.fromkeys(found))

    def update(self) -> None:
        """Fetch the lists. Suites that the mirror does not have are no error."""
        log.say(f"fetching Debian's package lists ({', '.join(self.suites)})")
        self._updated = True
        for name in ("state/lists/partial", "cache/archives/partial", "log"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "nothing-installed").touch()
        cache.atomic_write(self.root / "apt.conf", _CONFIG.format(root=self.root))
        # A mirror's address may hold a password.
        cache.atomic_write(self.root / "debian.sources", self.sources, 0o600)
        argv = [*self._program("apt-get"), "-q", "update"]
        done = run(argv, action="fetch Debian's package lists", timeout_s=_LIMIT_S, check=False)
        failures = _FAILURES.findall(done.stderr)
        # Where a suite is missing, apt does not repeat at the end what else went wrong.
        failures += [f"{suite}: {reason}" for suite, reason in _ERRORS.findall(done.stdout)]
        self.complaint = re.sub(r"^[EW]: ", "", failures[0]) if failures else ""
        if not failures:
            cache.atomic_write(self._stamp, self.sources)
        elif self.has_lists():
            log.say(f"doing without what could not be fetched: {self.complaint}")

    def download(self, package: str, version: str, directory: Path, *, needs: bool) -> list[Path]:
        """Fetch a package, and with `needs` all that it depends on, into a directory."""
        argv = [*self._program("apt-get"), "-q", "-o", "APT::Status-Fd=1"]
        if needs:
            suite = dict(self._madison(package)).get(version, "")
            (directory / "partial").mkdir(exist_ok=True)
            argv += ["-o", f"Dir::Cache::archives={directory}", "-t", suite, "-y"]
            argv += ["install", "--download-only", "--no-install-recommends"]
        else:
            argv.append("download")
        action = f"fetch {package} {version}"
        printed = stream([*argv, f"{package}={version}"], action=action, cwd=directory)
        with log.progress(f"fetching {package} {version}", 100, "%") as show:
            for line in printed:
                if done := re.match(r"dlstatus:\d+:([\d.]+):", line):
                    show(completed=round(float(done[1])))
        return sorted(directory.glob("*.deb"))

    def ask(self, question: str, word: str) -> str:
        """Return what apt-cache prints."""
        argv = [*self._program("apt-cache"), question, word]
        return run(argv, action="read Debian's package lists", check=False).stdout

    def _program(self, name: str) -> list[str | Path]:
        return [name, "-c", self.root / "apt.conf"]


def missing(packages: Iterable[str]) -> list[str]:
    """Return those packages that this system does not have, in the order given."""
    wanted = list(dict.fromkeys(packages))
    argv = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Abbrev}\n", *wanted]
    printed = run(argv, action="ask dpkg what is installed", check=False).stdout
    present = re.findall(r"^(\S+) ii", printed, re.M)
    return [name for name in wanted if name not in present]


def install_command(packages: Sequence[str]) -> str:
    """Return the one command that a person types to install packages."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install --no-install-recommends {' '.join(packages)}"


def install(packages: Sequence[str]) -> None:
    """Install packages with the system's apt, as root or through sudo, after saying which."""
    lacking = missing(packages)
    if not lacking:
        return
    action = f"install {' '.join(lacking)}"
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    # It asks for a password on a terminal only.
    asks = shutil.which("sudo") and sys.stdin.isatty()
    if sudo and not asks and run(["sudo", "-n", "true"], action=action, check=False).rc != 0:
        hint = f"run: {install_command(lacking)}"
        raise MmbatchError(action, "we are not root and sudo can't be used here", hint)
    log.say(f"installing Debian packages: {' '.join(lacking)}")

    def apt(*arguments: str, check: bool = True) -> Result:
        argv = [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
        return run(
            [*argv, "-o", "DPkg::Lock::Timeout=120", *arguments],
            action=action,
            log=cache.logs() / "apt-install.log",
            timeout_s=_LIMIT_S,
            check=check,
            foreground=bool(sudo),
            finish=True,
        )

    order = ("install", "--no-install-recommends", "-y", *lacking)
    if apt(*order, check=False).rc == 0:
        return
    log.say("fetching the system's package lists (apt-get update)")
    apt("update", check=False)
    apt(*order)


def require(purpose: str, programs: Iterable[str], *, may_install: bool) -> None:
    """Make sure that some programs are here, which have a purpose ("boot guests")."""
    lacking = [program for program in programs if find_program(program) is None]
    packages = sorted({PACKAGES.get(program, program) for program in lacking})
    if lacking and may_install:
        install(packages)
    elif lacking:
        hint = f"give --install, or run: {install_command(packages)}"
        raise MmbatchError(purpose, f"there is no {' and no '.join(lacking)} here", hint)


def find_program(program: str) -> Path | None:
    """Return where a program is; the directories of root's programs are looked into as well."""
    found = shutil.which(program) or shutil.which(program, path=_ROOT_DIRECTORIES)
    return None if found is None else Path(found)

# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages, also of suites that the system does not follow, by a private apt state.

Nothing of the system's own apt changes: indexes and packages live below our cache, the
archives and the keys are those that the system is configured with, and signatures are always
checked.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shlex
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_write, temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import Result, run
from mmbatch.debian import archives
from mmbatch.debian.archives import Suite

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_MAX_AGE_S = 24 * 3600
_UPDATE_LIMIT_S = 300
_DOWNLOAD_LIMIT_S = 1800
_ERRORS = re.compile(r"^Err:\d+ (.+ (?!Release$)\S+)\n +(.+)", re.MULTILINE)
_CONFIG = """\
// Written by mmbatch; read after the system's own configuration.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
#clear Acquire::Languages;
Acquire::Languages "none";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
APT::Sandbox::User "root";
APT::Architecture "{architecture}";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{root}/sources";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{root}/state";
Dir::State::lists "{root}/state/lists";
Dir::State::status "/var/lib/dpkg/status";
Dir::State::extended_states "{root}/state/extended_states";
Dir::Cache "{root}/cache";
Dir::Cache::archives "{root}/cache/archives";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
Dir::Log "{root}/log";
"""


class Apt:
    """Debian's packages of all suites that we know of.

    Raises:
        MmbatchError: this system has no apt, or gets no Debian suite by it.
    """

    def __init__(self, cache: Cache, say: Callable[[str], None]) -> None:
        """Read the system's configuration; nothing is fetched yet."""
        self._cache = cache
        self._say = say
        suites = [
            archives.with_keyring(suite, _KEYRING) for suite in archives.configured(source_files())
        ]
        stable, unstable = archives.stages(suites)
        architecture = run(
            ["dpkg", "--print-architecture"], action="ask dpkg for this machine's architecture"
        ).stdout.strip()
        # The index of sid is large, and most of what we want is in a stable release.
        self._stages = [
            State(cache.apt / "stable", stable, architecture),
            State(cache.apt / "unstable", unstable, architecture),
        ]
        self._updated: set[Path] = set()
        self._complaint = ""

    def madison(self, package: str, version: str = "") -> list[tuple[str, str]]:
        """Return the (version, suite) pairs of a package, newest first; empty when none has it.

        Unstable suites are only looked into for what no other one has, or for a version that is
        preferred to newer ones of more stable suites. Indexes older than a day are fetched again
        first, and so are those that lack it.

        Raises:
            MmbatchError: an archive can't be reached, and no other one has the package.
        """
        with self._lock():
            return self._find(package, version)[1]

    def download(self, package: str, version: str, dest: Path) -> Path:
        """Fetch one package file into a directory, verified by apt against the signed indexes.

        When the mirror no longer has that version (point releases move) the indexes are
        fetched again and the newest version is taken instead.

        Returns:
            The path of the .deb file.

        Raises:
            MmbatchError: it can't be fetched or does not verify.
        """
        with self._lock():
            stage = next((s for s in self._stages if version in dict(s.madison(package))), None)
            if stage is not None:
                with contextlib.suppress(MmbatchError):
                    return self._fetch(stage, package, version, dest)
            self._say(f"{package} {version} could not be fetched; asking the mirror again")
            self._updated.clear()
            self._complaint = ""
            for stale in self._stages:
                stale.forget()
            stage, found = self._find(package)
            if stage is None:
                raise not_there(package)
            return self._fetch(stage, package, found[0][0], dest)

    def size(self, package: str, version: str) -> int | None:
        """Return the bytes of a package file that `madison` found; None when not known."""
        sizes = (stage.size(package, version) for stage in self._stages if stage.has_indexes())
        return next((size for size in sizes if size is not None), None)

    def depends(self, package: str, version: str) -> list[str]:
        """Return the packages that a package which `madison` found needs; of choices, all."""
        for stage in self._stages:
            if stage.has_indexes() and (found := stage.depends(package, version)):
                return found
        return []

    def in_suite(self, package: str, suite: str) -> str | None:
        """Return the newest version of a package in one suite, None where it has none.

        Raises:
            MmbatchError: nothing is known of that suite, and the mirror can't be reached.
        """
        with self._lock():
            for stage in self._stages:
                if suite in stage.suites:
                    if stage.age_s() >= _MAX_AGE_S:
                        self._update(stage)
                    if not stage.has_indexes() and self._complaint:
                        raise self._unreachable(package)
                    found = (version for version, place in stage.madison(package) if place == suite)
                    return next(found, None)
        return None

    def names(self, prefix: str) -> list[str]:
        """Return the packages whose names begin so, in the first suites that have any.

        Only suites that were asked before.
        """
        stages = (stage for stage in self._stages if stage.has_indexes())
        return next((names for stage in stages if (names := sorted(stage.names(prefix)))), [])

    def _lock(self) -> contextlib.AbstractContextManager[object]:
        return self._cache.lock("apt", "fetches packages of Debian", self._say)

    def _find(self, package: str, version: str = "") -> tuple[State | None, list[tuple[str, str]]]:
        """Return the first stage that has a package, and its versions there; see `madison`."""
        first: tuple[State | None, list[tuple[str, str]]] = (None, [])
        for stage in self._stages:
            found = stage.madison(package) if stage.age_s() < _MAX_AGE_S else []
            if not found and stage.root not in self._updated:
                self._update(stage)
                found = stage.madison(package)
            if found and (not version or version in dict(found)):
                return stage, found
            first = first if first[1] else (stage, found)
            if self._complaint and not stage.has_indexes():
                break  # no use in waiting for the next stages' time-outs
        if self._complaint and not first[1]:
            raise self._unreachable(package)
        return first

    def _update(self, stage: State) -> None:
        if stage.root not in self._updated:
            self._say(f"fetching Debian's package lists ({', '.join(stage.suites)})")
            complaint = stage.update()
            self._updated.add(stage.root)
            self._complaint = complaint or self._complaint
            if complaint and stage.has_indexes():
                self._say(f"doing without what could not be fetched: {complaint}")

    def _unreachable(self, package: str) -> MmbatchError:
        return MmbatchError(
            f"fetch {package} from the Debian mirror",
            self._complaint,
            "check the network; where a command takes --tree DIR, a kernel in DIR needs none",
        )

    @staticmethod
    def _fetch(stage: State, package: str, version: str, dest: Path) -> Path:
        with temporary_dir(dest, package) as directory:
            path = stage.download(package, version, directory)
            return path.rename(dest / path.name)


def not_there(package: str) -> MmbatchError:
    """Return the error for a package that no suite carries."""
    return MmbatchError(
        f"fetch {package} from the Debian mirror",
        "no suite there carries it",
        "choose another with --kernel, or give an unpacked kernel with --tree DIR",
    )


def source_files() -> list[Path]:
    """Return the files that this system's apt reads its sources from."""
    printed = run(
        ["apt-config", "shell", "L", "Dir::Etc::sourcelist/f", "P", "Dir::Etc::sourceparts/d"],
        action="read apt's configuration",
    ).stdout
    values = dict(line.split("=", 1) for line in shlex.split(printed))
    parts = Path(values.get("P", "/etc/apt/sources.list.d"))
    return [
        path
        for path in (
            Path(values.get("L", "/etc/apt/sources.list")),
            *sorted(parts.glob("*.list")),
            *sorted(parts.glob("*.sources")),
        )
        if path.is_file()
    ]


class State:
    """Some suites with an apt state of their own, less those that their archive lacks."""

    def __init__(self, root: Path, suites: list[Suite], architecture: str) -> None:
        """Write nothing yet."""
        self.suites = [suite.name for suite in suites]
        self.root = root
        self._config = root / "apt.conf"
        self._sources = archives.write_sources(suites, architecture)
        self._architecture = architecture
        self._stamp = root / "updated"

    def age_s(self) -> float:
        """Seconds since the last update that went well with these very sources."""
        try:
            if self._stamp.read_text() != self._digest():
                return float("inf")
            return max(0.0, time.time() - self._stamp.stat().st_mtime)
        except OSError:
            return float("inf")

    def forget(self) -> None:
        """Take the indexes for outdated."""
        self._stamp.unlink(missing_ok=True)

    def _digest(self) -> str:
        return hashlib.sha256(self._sources.encode()).hexdigest()

    def update(self) -> str:
        """Fetch the indexes.

        Returns:
            What went wrong with the mirror, empty when nothing; suites that it does not
            have are no error.
        """
        self._make_directories()
        atomic_write(self._config, _CONFIG.format(root=self.root, architecture=self._architecture))
        sources = self.root / "sources" / "mmbatch.sources"
        atomic_write(sources, self._sources)
        sources.chmod(0o600)  # a mirror's address may hold a password
        done = self._apt("apt-get", "-q", "update", limit_s=_UPDATE_LIMIT_S)
        lists = self.root / "state" / "lists"
        if f"{lists}/" in done.stderr:  # a list is damaged, and apt would keep it until it changes
            shutil.rmtree(lists)
            self._make_directories()
            done = self._apt("apt-get", "-q", "update", limit_s=_UPDATE_LIMIT_S)
        failures = [line for line in done.stderr.splitlines() if _is_failure(line)]
        # Where a suite is missing, apt does not repeat at the end what else went wrong.
        failures += [f"{suite}: {reason}" for suite, reason in _ERRORS.findall(done.stdout)]
        if not failures:
            atomic_write(self._stamp, self._digest())
            return ""
        return re.sub(r"^[EW]: ", "", failures[0])

    def _make_directories(self) -> None:
        for directory in ("sources", "state/lists/partial", "cache/archives/partial", "log"):
            (self.root / directory).mkdir(parents=True, exist_ok=True)

    def has_indexes(self) -> bool:
        """Return whether any suite's index is here."""
        return any((self.root / "state" / "lists").glob("*_Packages*"))

    def madison(self, package: str) -> list[tuple[str, str]]:
        """Return a package's (version, suite), newest first."""
        printed = self._apt("apt-cache", "madison", package, limit_s=60).stdout
        return parse_madison(printed)

    def names(self, prefix: str) -> list[str]:
        """Return the packages whose names begin so."""
        printed = self._apt("apt-cache", "pkgnames", prefix, limit_s=60).stdout
        return printed.split()

    def size(self, package: str, version: str) -> int | None:
        """Return the bytes of a package file, None when that is not known."""
        shown = self._apt("apt-cache", "show", f"{package}={version}", limit_s=60).stdout
        match = re.search(r"^Size: (\d+)$", shown, re.MULTILINE)
        return int(match[1]) if match else None

    def depends(self, package: str, version: str) -> list[str]:
        """Return the names in a package's Depends, an empty list when it is not known."""
        shown = self._apt("apt-cache", "show", f"{package}={version}", limit_s=60).stdout
        match = re.search(r"^Depends: (.*)$", shown, re.MULTILINE)
        words = re.split(r"[,|]", match[1]) if match else []
        return [word.split()[0] for word in words if word.strip()]

    def download(self, package: str, version: str, directory: Path) -> Path:
        """Fetch and verify a package file into a directory; MmbatchError when that fails."""
        self._apt(
            "apt-get",
            "-q",
            "download",
            f"{package}={version}",
            limit_s=_DOWNLOAD_LIMIT_S,
            cwd=directory,
            action=f"fetch {package} {version}",
        )
        return next(directory.glob("*.deb"))

    def _apt(self, *argv: str, limit_s: float, cwd: Path | None = None, action: str = "") -> Result:
        program, *arguments = argv
        return run(
            [program, "-c", self._config, *arguments],
            action=action or "read Debian's package lists",
            timeout_s=limit_s,
            check=bool(action),
            cwd=cwd,
        )


def _is_failure(line: str) -> bool:
    """Return whether a line of apt-get update is more than a hint or a suite that is not there."""
    if "does not have a Release file" in line:
        return False
    return line.startswith("E: ") or re.search(r"Failed to fetch|GPG error", line) is not None


def parse_madison(text: str) -> list[tuple[str, str]]:
    """Return the (version, suite) pairs in what `apt-cache madison` printed, in its order."""
    found = []
    for line in text.splitlines():
        columns = [column.strip() for column in line.split("|")]
        if len(columns) == 3 and columns[2].endswith(" Packages"):
            words = columns[2].split()
            found.append((columns[1], words[1].partition("/")[0]))
    return list(dict.fromkeys(found))

# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of suites the system does not follow, through a private apt state.

Nothing of the system's own apt changes: indexes and packages live below our cache, the
mirror and the keys are those that the system is configured with, and signatures are always
checked.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path

from mmbatch.apt_sources import Mirror, find_mirror, with_keyring, write_sources
from mmbatch.cache import Cache, atomic_write, temporary_dir
from mmbatch.errors import MmbatchError
from mmbatch.process import Result, run

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_MAX_AGE_S = 24 * 3600
_UPDATE_LIMIT_S = 300
_DOWNLOAD_LIMIT_S = 1800
# Small indexes first: most of what we want is in backports, and sid's index is large.
_STAGES = (
    ("backports", ("{own}-backports", "trixie-backports", "bookworm-backports")),
    ("releases", ("{own}", "trixie", "forky")),
    ("unstable", ("sid", "experimental")),
)
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


class _Stage:
    """Some suites with an apt state of their own."""

    def __init__(self, root: Path, mirror: Mirror, suites: list[str], architecture: str) -> None:
        self.suites = suites
        self.root = root
        self._config = root / "apt.conf"
        self._sources = write_sources(mirror, suites, architecture)
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
        for folder in ("sources", "state/lists/partial", "cache/archives/partial", "log"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        atomic_write(self._config, _CONFIG.format(root=self.root, architecture=self._architecture))
        sources = self.root / "sources" / "mmbatch.sources"
        atomic_write(sources, self._sources)
        sources.chmod(0o600)  # a mirror's address may hold a password
        said = self._apt("apt-get", "-q", "update", limit_s=_UPDATE_LIMIT_S).stderr
        failures = [line for line in said.splitlines() if _is_failure(line)]
        if not failures:
            atomic_write(self._stamp, self._digest())
            return ""
        return re.sub(r"^[EW]: ", "", failures[0])

    def has_indexes(self) -> bool:
        """Tell whether any suite's index is here."""
        return any((self.root / "state" / "lists").glob("*_Packages*"))

    def madison(self, package: str) -> list[tuple[str, str]]:
        """Return a package's (version, suite), newest first."""
        said = self._apt("apt-cache", "madison", package, limit_s=60).stdout
        return parse_madison(said)

    def download(self, package: str, version: str, folder: Path) -> Path:
        """Fetch and verify a package file into a folder; MmbatchError when that fails."""
        self._apt(
            "apt-get",
            "-q",
            "download",
            f"{package}={version}",
            limit_s=_DOWNLOAD_LIMIT_S,
            cwd=folder,
            tried=f"fetch {package} {version}",
        )
        return next(folder.glob("*.deb"))

    def _apt(self, *argv: str, limit_s: float, cwd: Path | None = None, tried: str = "") -> Result:
        program, *arguments = argv
        return run(
            [program, "-c", self._config, *arguments],
            tried=tried or "read Debian's package lists",
            timeout_s=limit_s,
            check=bool(tried),
            cwd=cwd,
        )


class Apt:
    """Debian's packages of all suites that we know of.

    Args:
        cache: where indexes and packages are kept.
        say: told what is being fetched.
        mirror: where from; by default what this system's apt is configured with.

    Raises:
        MmbatchError: this system has no apt, or gets no Debian suite by it.
    """

    def __init__(
        self, cache: Cache, say: Callable[[str], None], mirror: Mirror | None = None
    ) -> None:
        """Read the system's configuration; nothing is fetched yet."""
        self._cache = cache
        self._say = say
        if mirror is None:
            mirror = with_keyring(find_mirror(source_files()), _KEYRING)
        architecture = run(
            ["dpkg", "--print-architecture"], tried="ask dpkg for this machine's architecture"
        ).stdout.strip()
        self._stages = []
        seen: set[str] = set()
        for name, patterns in _STAGES:
            suites = [pattern.format(own=mirror.suite) for pattern in patterns]
            new = [suite for suite in dict.fromkeys(suites) if suite not in seen]
            seen.update(new)
            self._stages.append(_Stage(cache.apt / name, mirror, new, architecture))
        self._updated: set[Path] = set()
        self._complaint = ""

    def madison(self, package: str) -> list[tuple[str, str]]:
        """Return the (version, suite) pairs of a package, newest first; empty when none has it.

        Indexes older than a day are fetched again first, and so are those that lack it.

        Raises:
            MmbatchError: the mirror can't be reached and nothing is known from before.
        """
        with self._lock():
            return self._find(package)[1]

    def download(self, package: str, version: str, dest: Path) -> Path:
        """Fetch one package file, verified by apt against the signed indexes.

        When the mirror no longer has that version (point releases move) the indexes are
        fetched again and the newest version is taken instead.

        Args:
            package: its name.
            version: the version, as `madison` tells it.
            dest: folder for the file; nothing else is left there.

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
            self._say(f"{package} {version} could not be fetched; asking the mirror anew")
            self._updated.clear()
            self._complaint = ""
            for stale in self._stages:
                stale.forget()
            stage, found = self._find(package)
            if stage is None:
                raise _not_there(package)
            return self._fetch(stage, package, found[0][0], dest)

    def _lock(self) -> contextlib.AbstractContextManager[None]:
        return self._cache.lock("apt", "fetches packages of Debian", self._say)

    def _find(self, package: str) -> tuple[_Stage | None, list[tuple[str, str]]]:
        """Return the first stage that has a package, and its versions there."""
        for stage in self._stages:
            found = stage.madison(package) if stage.age_s() < _MAX_AGE_S else []
            if not found and stage.root not in self._updated:
                self._say(f"fetching Debian's package lists ({', '.join(stage.suites)})")
                self._complaint = stage.update() or self._complaint
                self._updated.add(stage.root)
                found = stage.madison(package)
            if found:
                return stage, found
            if self._complaint and not stage.has_indexes():
                break  # no use in waiting for the next stages' time-outs
        if self._complaint:
            raise MmbatchError(
                f"fetch {package} from the Debian mirror",
                self._complaint,
                "check the network, or give an unpacked kernel with --tree DIR",
            )
        return None, []

    @staticmethod
    def _fetch(stage: _Stage, package: str, version: str, dest: Path) -> Path:
        with temporary_dir(dest, package) as folder:
            path = stage.download(package, version, folder)
            return path.rename(dest / path.name)


def _is_failure(line: str) -> bool:
    """Tell whether a line of apt-get update is more than a hint or a suite that is not there."""
    if "does not have a Release file" in line:
        return False
    return line.startswith("E: ") or re.search(r"Failed to fetch|GPG error", line) is not None


def _not_there(package: str) -> MmbatchError:
    return MmbatchError(
        f"fetch {package} from the Debian mirror",
        "no suite there carries it",
        "choose another with --kernel, or give an unpacked kernel with --tree DIR",
    )


def parse_madison(text: str) -> list[tuple[str, str]]:
    """Return the (version, suite) pairs in what `apt-cache madison` printed, in its order."""
    found = []
    for line in text.splitlines():
        columns = [column.strip() for column in line.split("|")]
        if len(columns) == 3 and columns[2].endswith(" Packages"):
            words = columns[2].split()
            found.append((columns[1], words[1].partition("/")[0]))
    return list(dict.fromkeys(found))


def source_files() -> list[Path]:
    """Return the files that this system's apt reads its sources from."""
    said = run(
        ["apt-config", "shell", "L", "Dir::Etc::sourcelist/f", "P", "Dir::Etc::sourceparts/d"],
        tried="read apt's configuration",
    ).stdout
    values = dict(line.split("=", 1) for line in shlex.split(said))
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

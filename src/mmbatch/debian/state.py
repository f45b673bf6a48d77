# SPDX-License-Identifier: GPL-2.0-only
"""A private apt state: indexes of a few suites below our cache, signatures always checked."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path

from mmbatch.core.disk import atomic_write
from mmbatch.core.process import Result, run
from mmbatch.debian.archives import Mirror, write_sources

_UPDATE_LIMIT_S = 300
_DOWNLOAD_LIMIT_S = 1800
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


class State:
    """Some suites with an apt state of their own.

    Args:
        root: folder for it.
        mirror: where from.
        suites: their names; those that the mirror does not have are passed over.
        architecture: as dpkg calls it.
    """

    def __init__(self, root: Path, mirror: Mirror, suites: list[str], architecture: str) -> None:
        """Write nothing yet."""
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

    def names(self, prefix: str) -> list[str]:
        """Return the packages whose names begin so."""
        said = self._apt("apt-cache", "pkgnames", prefix, limit_s=60).stdout
        return said.split()

    def size(self, package: str, version: str) -> int | None:
        """Return the bytes of a package file, None when that is not known."""
        said = self._apt("apt-cache", "show", f"{package}={version}", limit_s=60).stdout
        match = re.search(r"^Size: (\d+)$", said, re.MULTILINE)
        return int(match[1]) if match else None

    def depends(self, package: str, version: str) -> list[str]:
        """Return the names in a package's Depends, an empty list when it is not known."""
        said = self._apt("apt-cache", "show", f"{package}={version}", limit_s=60).stdout
        match = re.search(r"^Depends: (.*)$", said, re.MULTILINE)
        words = re.split(r"[,|]", match[1]) if match else []
        return [word.split()[0] for word in words if word.strip()]

    def download(self, package: str, version: str, folder: Path) -> Path:
        """Fetch and verify a package file into a folder; MmbatchError when that fails."""
        self._apt(
            "apt-get",
            "-q",
            "download",
            f"{package}={version}",
            limit_s=_DOWNLOAD_LIMIT_S,
            cwd=folder,
            action=f"fetch {package} {version}",
        )
        return next(folder.glob("*.deb"))

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
    """Tell whether a line of apt-get update is more than a hint or a suite that is not there."""
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

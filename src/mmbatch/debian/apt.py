# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of suites the system does not follow, through a private apt state.

Nothing of the system's own apt changes: indexes and packages live below our cache, the
mirror and the keys are those that the system is configured with, and signatures are always
checked.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable
from pathlib import Path

from mmbatch.core.cache import Cache
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.debian.archives import Mirror, find_mirror, with_keyring
from mmbatch.debian.state import State

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_MAX_AGE_S = 24 * 3600
# Small indexes first: most of what we want is in backports, and sid's index is large.
_STAGES = (
    ("backports", ("{own}-backports", "trixie-backports", "bookworm-backports")),
    ("releases", ("{own}", "trixie", "forky")),
    ("unstable", ("sid", "experimental")),
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
            ["dpkg", "--print-architecture"], action="ask dpkg for this machine's architecture"
        ).stdout.strip()
        self._stages = []
        seen: set[str] = set()
        for name, patterns in _STAGES:
            suites = [pattern.format(own=mirror.suite) for pattern in patterns]
            new = [suite for suite in dict.fromkeys(suites) if suite not in seen]
            seen.update(new)
            self._stages.append(State(cache.apt / name, mirror, new, architecture))
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
                    found = (one for one, where in stage.madison(package) if where == suite)
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

    def _find(self, package: str) -> tuple[State | None, list[tuple[str, str]]]:
        """Return the first stage that has a package, and its versions there."""
        for stage in self._stages:
            found = stage.madison(package) if stage.age_s() < _MAX_AGE_S else []
            if not found and stage.root not in self._updated:
                self._update(stage)
                found = stage.madison(package)
            if found:
                return stage, found
            if self._complaint and not stage.has_indexes():
                break  # no use in waiting for the next stages' time-outs
        if self._complaint:
            raise self._unreachable(package)
        return None, []

    def _update(self, stage: State) -> None:
        if stage.root not in self._updated:
            self._say(f"fetching Debian's package lists ({', '.join(stage.suites)})")
            self._complaint = stage.update() or self._complaint
            self._updated.add(stage.root)

    def _unreachable(self, package: str) -> MmbatchError:
        return MmbatchError(
            f"fetch {package} from the Debian mirror",
            self._complaint,
            "check the network, or give an unpacked kernel with --tree DIR",
        )

    @staticmethod
    def _fetch(stage: State, package: str, version: str, dest: Path) -> Path:
        with temporary_dir(dest, package) as folder:
            path = stage.download(package, version, folder)
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
    said = run(
        ["apt-config", "shell", "L", "Dir::Etc::sourcelist/f", "P", "Dir::Etc::sourceparts/d"],
        action="read apt's configuration",
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

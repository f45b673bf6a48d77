# SPDX-License-Identifier: GPL-2.0-only
"""The DKMS package, installed with Debian's own dkms: in a root that goes away with the test.

The root is this machine's, below a layer in memory that takes all that is written. It is
mounted in a mount namespace of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mmbatch.core import cache
from mmbatch.kernel import foreign
from mmbatch.live import install, kernel, manifest
from mmbatch.live.kernel import Headers

pytestmark = pytest.mark.kernel

_LIMIT_S = 300

_ROOT = """\
set -e
mount -t tmpfs none {scratch}
mkdir {scratch}/upper {scratch}/work {scratch}/root
mount -t overlay none -o lowerdir=/,upperdir={scratch}/upper,workdir={scratch}/work {scratch}/root
"""

_OUTSIDE = """\
mount --bind /proc {scratch}/root/proc
mount --bind /dev {scratch}/root/dev
mkdir {scratch}/root/packages {scratch}/root/headers
mount --bind {packages} {scratch}/root/packages
mount --bind {headers} {scratch}/root/headers
exec chroot {scratch}/root sh -e -c "$INSIDE"
"""

_INSIDE = """\
export DEBIAN_FRONTEND=noninteractive
# comes RELEASE HEADERS: a kernel is installed, with the headers of one.
comes() {{
	mkdir -p /lib/modules/$1
	ln -s /headers/headers-$2/usr/src/linux-headers-$2 /lib/modules/$1/build
	touch /lib/modules/$1/modules.order /lib/modules/$1/modules.builtin
}}

dpkg -i /packages/dkms_*.deb /packages/kmod_*.deb
comes {unfit} {fit}
comes {newer} {newer}
mkdir /aside
for program in {programs}; do
	[ ! -e /usr/bin/$program ] || mv /usr/bin/$program /aside
done
echo "@@ unfit"
dpkg -i /packages/mmbatch-*-dkms_*.deb
find /lib/modules -name 'mmbatch*'
echo "@@"

{compilers}
comes {fit} {fit}
/etc/kernel/header_postinst.d/dkms {fit}
echo "@@ fit"
modinfo /lib/modules/{fit}/updates/dkms/mmbatch*
echo "@@"

/etc/kernel/header_postinst.d/dkms {newer}
echo "@@ newer"
modinfo /lib/modules/{newer}/updates/dkms/mmbatch*
echo "@@"

dpkg -r mmbatch-zone-device-dkms
echo "@@ removed"
find /lib/modules /var/lib/dkms /usr/src -name '*mmbatch*'
echo "@@"
"""

_UNFIT = "6.18.1-amd64"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a root of its own takes root's rights")
    action = mounted(_ROOT.format(scratch=tmp_path_factory.mktemp("trial")))
    if action.returncode:
        pytest.skip(f"a root of its own can't be mounted here: {action.stdout.strip()}")
    directory = tmp_path_factory.mktemp("packages")
    argv = ["apt-get", "-q", "download", "dkms", "kmod"]
    subprocess.run(argv, cwd=directory, check=True)
    install.packages(manifest.load_all(["zone_device"]), directory)
    return directory


def mounted(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a mount namespace of its own, which goes away with it."""
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )


def installed(packages: Path, scratch: Path, **words: str) -> dict[str, str]:
    """Return what was said in the root, by the words that begin each part."""
    scratch.mkdir()
    script = (_ROOT + _OUTSIDE).format(scratch=scratch, packages=packages, headers=cache.live())
    done = mounted(script, INSIDE=_INSIDE.format_map(words))
    assert done.returncode == 0, done.stdout
    return dict(re.findall(r"^@@ (\w+)\n(.*?)^@@$", done.stdout, re.M | re.S))


def appears(headers: Headers) -> str:
    """Return what makes the compiler of a kernel appear in the root."""
    found = foreign.find_compiler(headers.release, headers.config)
    want = foreign.wanted_compiler(headers.config)
    assert want is not None
    if not Path(found).is_absolute():
        return f"mv /aside/{want.program} /usr/bin"
    program = Path(found).relative_to(cache.live())
    path = f"/usr/bin/{want.program}"
    return f"""echo '#!/bin/sh\nexec /headers/{program} "$@"' >{path}; chmod 755 {path}"""


def test_it_is_built_for_what_fits_and_leaves_nothing_behind(
    packages: Path, tmp_path: Path
) -> None:
    fit, newer = (kernel.fetch(kernel.newest(series)) for series in ("6.12", "7.3"))
    wanted = [want for headers in (fit, newer) if (want := foreign.wanted_compiler(headers.config))]
    before = sources()

    output = installed(
        packages,
        tmp_path / "scratch",
        fit=fit.release,
        newer=newer.release,
        unfit=_UNFIT,
        programs=" ".join(
            sorted({name for want in wanted for name in (want.program, want.package)})
        ),
        compilers="\n".join(sorted({appears(headers) for headers in (fit, newer)})),
    )

    assert (
        f"no module for {newer.release}: it was built with {wanted[-1].program}" in output["unfit"]
    )
    assert f"no module for {_UNFIT}" in output["unfit"]
    assert ".ko" not in output["unfit"]
    for part, release in (("fit", fit.release), ("newer", newer.release)):
        assert f"/lib/modules/{release}/updates/dkms/mmbatch_zone_device.ko" in output[part]
        assert re.search(rf"^vermagic: +{re.escape(release)} ", output[part], re.M)
        assert re.search(r"^livepatch: +Y$", output[part], re.M)
        assert re.search(r"^signer: +DKMS", output[part], re.M)
    assert output["removed"] == ""
    assert sources() == before


def sources() -> list[Path]:
    """What DKMS of this machine itself could build."""
    return sorted(Path("/usr/src").glob("mmbatch-*"))

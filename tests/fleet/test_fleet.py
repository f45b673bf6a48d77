# SPDX-License-Identifier: GPL-2.0-only
"""The playbook and the LAVA job of fleet/.

tests/fresh/fleet.sh installs. This only looks, or has a script in the place of mmbatch.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fake_sysfs import make_sysfs
from mmbatch.core import paths
from mmbatch.core.errors import CaseOutcome
from mmbatch.report.ktap import ktap

FLEET = paths.ROOT / "fleet"
RECORD = paths.ROOT / "results/zone_device-7.3-zen5-2c.json"

needs_ansible = pytest.mark.skipif(
    shutil.which("ansible-playbook") is None, reason="ansible is not installed"
)


def play(
    hosts: Path, *arguments: str, tools: Path | None = None
) -> subprocess.CompletedProcess[str]:
    argv = ["ansible-playbook", "-i", str(hosts), str(FLEET / "ansible/playbook.yml"), *arguments]
    environment = {
        name: text
        for name, text in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONSAFEPATH") and not name.startswith("MMBATCH_")
    }
    environment |= {"ANSIBLE_NOCOWS": "1", "LC_ALL": "C.UTF-8"}
    if tools is not None:
        environment["PATH"] = f"{tools}:{os.environ['PATH']}"
    return subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)


@needs_ansible
def test_the_example_of_hosts() -> None:
    done = play(FLEET / "ansible/hosts.example.yml", "--syntax-check")
    assert done.returncode == 0, done.stderr


@needs_ansible
def test_a_look_at_hosts_of_which_one_is_lost(tmp_path: Path) -> None:
    hosts = {
        name: {
            "ansible_connection": "local",
            "mmbatch_directory": str(tmp_path / name / "mmbatch"),
            "mmbatch_plan_options": [
                *("zone_device", "--record", str(RECORD)),
                *("--sysfs", str(make_sysfs(devices, tmp_path / name / "sys"))),
            ],
        }
        for name, devices in (("large", "three"), ("same", "three"), ("empty", "nothing"))
    }
    hosts["lost"] = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": "1"}
    inventory = tmp_path / "hosts.json"
    children = {"mmbatch": {"hosts": hosts}}
    own = {"mmbatch_results": str(tmp_path / "results")}
    inventory.write_text(json.dumps({"all": {"vars": own, "children": children}}))

    done = play(inventory, "--skip-tags", "install")

    report = (tmp_path / "results/report.md").read_text()
    assert done.returncode != 0, done.stdout
    assert "report.md: lost" in done.stdout
    rows = {line.split(" | ")[0].strip("| "): line for line in report.splitlines()}
    plan = json.loads((tmp_path / "results/large/plan.json").read_text())
    assert plan["now"] > plan["then"] > 0
    takes = [f"{plan[when] / 1e9:.3f} s" for when in ("now", "then")]
    assert rows["large"].split(" | ")[2:6] == ["3", *takes, "only looked at"]
    assert rows["empty"].split(" | ")[2:6] == ["0", "-", "-", "only looked at"]
    assert "it could not be looked at" in rows["lost"]
    assert plan["gains"]
    assert json.loads((tmp_path / "results/empty/doctor.json").read_text())["checks"]
    assert (tmp_path / "results/large/zone_device.json").read_bytes() == RECORD.read_bytes()
    assert (tmp_path / "results/report.html").exists()


LOST = {"ansible_host": "127.0.0.1", "ansible_port": "1"}
LOST_LATER = {
    **LOST,
    "ansible_connection": "{{ 'ssh' if mmbatch_outcome is defined else 'local' }}",
}
"""A host that is lost after it was looked at, when the first step of the installation begins."""

FAKE = """\
#!/bin/sh
echo "$(basename "$0")" "$@" >>LOG
step=$1
[ "$1" != live ] || step=$2
[ ! -e DIRECTORY/$step.fails ] || { cat DIRECTORY/$step.fails >&2; exit 1; }
[ ! -e DIRECTORY/$step.json ] || cat DIRECTORY/$step.json
"""
PLAN = {
    "release": "6.12.1",
    "devices": [{"device": "namespace0.0", "speedup": "toys"}],
    "speedups": [{"speedup": "toys", "supported": True, "problem": None}],
    "records": {},
    "gains": True,
    "now": 2e9,
    "then": 1e9,
    "unit": "ns",
}


class Fleet:
    """Hosts that are this machine, each with a script that answers as mmbatch does."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.hosts: dict[str, dict[str, str]] = {}
        head = ["git", "-C", str(paths.ROOT), "rev-parse", "--short=12", "HEAD"]
        asked = subprocess.run(head, capture_output=True, text=True, check=True)
        self.commit = asked.stdout.strip()

    def script(self, name: str, place: Path, program: str) -> None:
        file = place / program
        text = FAKE.replace("LOG", str(self.directory / f"{name}.log"))
        file.write_text(text.replace("DIRECTORY", str(place)))
        file.chmod(0o755)

    def add(self, name: str, own: dict[str, str] | None = None, **fails: str) -> None:
        """Add a host, on which some steps of mmbatch fail with these words."""
        place = self.directory / name
        place.mkdir()
        self.script(name, place, "mmbatch")
        (place / f".commit-{self.commit}").touch()  # so that nothing is unpacked there
        (place / "doctor.json").write_text('{"checks": []}')
        (place / "plan.json").write_text(json.dumps(PLAN))
        (place / "status.json").write_text('{"functions": [{"active": true}]}')
        for step, words in fails.items():
            (place / f"{step}.fails").write_text(words)
        local = {"ansible_connection": "local", "mmbatch_directory": str(place)}
        self.hosts[name] = local | (own or {})

    def play(self, **variables: object) -> dict[str, str]:
        """Run the playbook, which must fail, and return the line of the report for each host."""
        tools = self.directory / "tools"
        tools.mkdir()
        self.script("modprobe", tools, "modprobe")
        inventory = self.directory / "hosts.json"
        own = {"mmbatch_results": str(self.directory / "results"), **variables}
        children = {"mmbatch": {"hosts": self.hosts}}
        inventory.write_text(json.dumps({"all": {"vars": own, "children": children}}))
        done = play(inventory, tools=tools)
        assert done.returncode != 0, done.stdout
        assert "report.md: " in done.stdout, done.stdout + done.stderr
        report = (self.directory / "results/report.md").read_text()
        return {line.split(" | ")[0].strip("| "): line for line in report.splitlines()}

    def log(self, name: str) -> list[str]:
        """Return what was run on a host after it was looked at."""
        lines = (self.directory / f"{name}.log").read_text().splitlines()
        return [line for line in lines if "doctor" not in line and "live plan" not in line]


@needs_ansible
@pytest.mark.parametrize("batches", [[1, "100%"], [2]], ids=["alone", "with another"])
def test_a_host_that_is_lost_while_it_is_installed(tmp_path: Path, batches: list[object]) -> None:
    fleet = Fleet(tmp_path)
    fleet.add("host1", LOST_LATER)
    fleet.add("host2")
    fleet.add("host3")

    rows = fleet.play(mmbatch_batches=batches)

    assert " | lost | unreachable during 'Install them'; its state is not known" in rows["host1"]
    assert " | not tried | host1 failed before" in rows["host3"]
    assert fleet.log("host1") == []
    assert fleet.log("host3") == []
    if batches == [2]:
        assert " | installed | toys" in rows["host2"]
        install, status = "mmbatch live install toys", "mmbatch live status -q --json - toys"
        assert fleet.log("host2") == [install, status]
        assert fleet.log("modprobe") == ["modprobe -v -a mmbatch_toys"]
    else:
        assert " | not tried | " in rows["host2"]


@needs_ansible
def test_a_host_that_fails_and_cannot_be_undone(tmp_path: Path) -> None:
    """Each of the two steps is tried, whichever fails."""
    fleet = Fleet(tmp_path)
    words = "error: cannot unload: it is in use\nhint: wait\n"
    fleet.add("first", status="error: cannot say: no sysfs\n", unload=words)
    fleet.add("second", install="error: cannot install: no gcc\n", uninstall="error: no apt\n")
    fleet.add("third", status="error: cannot say: no sysfs\n")

    rows = fleet.play(mmbatch_batches="100%")

    undone = ["mmbatch live unload toys", "mmbatch live uninstall toys"]
    for name in fleet.hosts:
        assert fleet.log(name)[-2:] == undone
        assert " | failed | " in rows[name]
    assert "Wait until every task runs them: cannot say: no sysfs; " in rows["first"]
    assert "NOT UNDONE: Unload what is loaded: cannot unload: it is in use |" in rows["first"]
    assert "Install them, which builds the modules: cannot install: no gcc; " in rows["second"]
    assert "NOT UNDONE: Uninstall them: no apt |" in rows["second"]
    assert "NOT UNDONE" not in rows["third"]


@needs_ansible
def test_hosts_that_cannot_be_looked_at(tmp_path: Path) -> None:
    """There is a report even if that is all hosts, and no file that is empty."""
    fleet = Fleet(tmp_path)
    lacking = "error: cannot find what mmbatch needs: no gcc\nhint: run: apt-get install gcc\n"
    fleet.add("bare", doctor="error: cannot make a Python environment: no venv\n")
    fleet.add("plain", plan=lacking)
    fleet.add("lost", {**LOST, "ansible_connection": "ssh"})

    rows = fleet.play(mmbatch_install_packages=True)

    assert "Check what the host has: cannot make a Python environment: no venv" in rows["bare"]
    assert "no gcc; hint: run: apt-get install gcc" in rows["plain"]
    assert "it could not be looked at: Reach the host: " in rows["lost"]
    assert not (tmp_path / "results/bare/doctor.json").exists()
    assert (tmp_path / "results/plain/doctor.json").read_text() == '{"checks": []}'
    assert "mmbatch doctor --json - --install" in (tmp_path / "bare.log").read_text()


VALIDATE = """
import pathlib, sys
try:
    import yaml
    from lava_common import schemas
    from lava_common.schemas.test import testdef
except ImportError as error:
    sys.exit(f"skip: {error}")
job, definition = (yaml.safe_load(pathlib.Path(name).read_text()) for name in sys.argv[1:])
schemas.validate(job, strict=True)
testdef.validate(definition)
(path,) = (part["path"] for part in job["actions"][2]["test"]["definitions"])
assert sys.argv[2].endswith(path), path
"""


def test_the_job_is_valid() -> None:
    """By the schemas of Debian's lava-common, which Debian's Python finds."""
    argv = ["/usr/bin/python3", "-I", "-c", VALIDATE]
    files = [str(FLEET / "lava" / name) for name in ("job.yaml", "definition.yaml")]
    done = subprocess.run([*argv, *files], capture_output=True, text=True, check=False)
    if done.stderr.startswith("skip: "):
        pytest.skip("no schemas of LAVA: apt-get install lava-common")
    assert done.returncode == 0, done.stderr


def report(file: Path) -> list[str]:
    environment = {**os.environ, "LAVA_TEST_CASE": "echo"}
    argv = [FLEET / "lava/report.sh", file]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.splitlines()


def test_what_lava_is_told(tmp_path: Path) -> None:
    file = tmp_path / "bench.ktap"
    file.write_text(
        ktap(
            [
                CaseOutcome("toys on Linux 7.3.4", "row-100G auto"),
                CaseOutcome("toys on Linux 7.3.4", "small-hot auto", problem="slower"),
                CaseOutcome("toys on Linux 7.3.4", "small-cold auto", skipped="noise hides it"),
                CaseOutcome("boot x86_64"),
            ]
        )
    )
    assert report(file) == [
        "toys-on-Linux-7.3.4.row-100G-auto --result pass",
        "toys-on-Linux-7.3.4.small-hot-auto --result fail",
        "toys-on-Linux-7.3.4.small-cold-auto --result skip",
        "boot-x86_64.plain --result pass",
    ]


def test_a_run_that_ended_early(tmp_path: Path) -> None:
    assert report(tmp_path / "guest.ktap") == ["guest --result fail"]

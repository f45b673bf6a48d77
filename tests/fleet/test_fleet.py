# SPDX-License-Identifier: GPL-2.0-only
"""The playbook and the LAVA job of fleet/. tests/fresh/fleet.sh installs; this only looks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fake_sysfs import make_sysfs
from mmbatch.core import paths
from mmbatch.core.outcomes import CaseOutcome, ktap

FLEET = paths.ROOT / "fleet"
RECORD = paths.ROOT / "results/zone_device-7.3-zen5-2c.json"

needs_ansible = pytest.mark.skipif(
    shutil.which("ansible-playbook") is None, reason="ansible is not installed"
)


def play(hosts: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = ["ansible-playbook", "-i", str(hosts), str(FLEET / "ansible/playbook.yml"), *arguments]
    environment = {
        name: text
        for name, text in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONSAFEPATH") and not name.startswith("MMBATCH_")
    }
    environment |= {"ANSIBLE_NOCOWS": "1", "LC_ALL": "C.UTF-8"}
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

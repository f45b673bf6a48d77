# SPDX-License-Identifier: GPL-2.0-only
"""Loading, unloading and what is said of it, on a made-up sysfs: nothing is loaded here."""

from __future__ import annotations

import errno
import gzip
import json
import lzma
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from expect import fails
from fake_live import live
from fake_program import before_others, script
from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.core.errors import MmbatchError
from mmbatch.live import build, elf, load, manifest
from mmbatch.live import kernel as kernels
from mmbatch.live.load import Kernel, Left

RELEASE = "6.12.1-test"
MAGIC = b"\0vermagic=6.12.1-test SMP preempt \0"
LIVES = manifest.known(paths.SPEEDUPS)
PROVES = "zone_device"
FUNCTION = manifest.load(PROVES).replaces[0].name
Programs = Callable[..., None]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.setattr("mmbatch.live.load.os.geteuid", lambda: 0)
    monkeypatch.setattr("mmbatch.live.load._PAUSE_S", 0.01)
    sys, proc = tmp_path / "sys", tmp_path / "proc"
    (sys / "kernel/livepatch").mkdir(parents=True)
    put(sys / "kernel/security/lockdown", "[none] integrity confidentiality")
    put(sys / "module/module/parameters/sig_enforce", "N")
    return Kernel(RELEASE, sys, proc, tmp_path)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "mmbatch_it.ko"
    path.write_bytes(MAGIC)
    return path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def patched_by(kernel: Kernel, name: str, *, transition: str = "0") -> None:
    put(kernel.patch(name) / "enabled", "1")
    put(kernel.patch(name) / "transition", transition)
    (kernel.patch(name) / "vmlinux/set_it,1").mkdir(parents=True, exist_ok=True)
    (kernel.sys / "module" / name).mkdir(parents=True, exist_ok=True)


def refused(kernel: Kernel, module: Path) -> str:
    with pytest.raises(MmbatchError) as caught:
        load.require_loadable(live(), module, kernel)
    assert caught.value.hint
    return caught.value.problem


def test_a_kernel_that_takes_it(kernel: Kernel, module: Path) -> None:
    load.require_loadable(live(), module, kernel)
    packed = module.with_suffix(".ko.xz")
    packed.write_bytes(lzma.compress(MAGIC))
    load.require_loadable(live(), packed, kernel)
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", module, "-o", module.with_suffix(".ko.zst")], check=True)
        load.require_loadable(live(), module.with_suffix(".ko.zst"), kernel)


def test_only_root(kernel: Kernel, module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmbatch.live.load.os.geteuid", lambda: 1000)
    assert "only root" in refused(kernel, module)


def test_a_kernel_update(kernel: Kernel, module: Path) -> None:
    module.write_bytes(MAGIC.replace(b"6.12.1", b"6.12.0"))
    assert "built for Linux 6.12.0" in refused(kernel, module)


def test_no_livepatching(kernel: Kernel, module: Path) -> None:
    kernel.patches.rmdir()
    assert "CONFIG_LIVEPATCH" in refused(kernel, module)


def test_lockdown(kernel: Kernel, module: Path) -> None:
    put(kernel.sys / "kernel/security/lockdown", "none [integrity] confidentiality")
    assert "locked down (integrity)" in refused(kernel, module)


def test_enforced_signatures(kernel: Kernel, module: Path) -> None:
    put(kernel.sys / "module/module/parameters/sig_enforce", "Y")
    assert "module.sig_enforce" in refused(kernel, module)
    module.write_bytes(MAGIC + b"~Module signature appended~\n")
    load.require_loadable(live(), module, kernel)


def test_another_livepatch_on_the_function(kernel: Kernel, module: Path) -> None:
    patched_by(kernel, "kpatch_fix")
    assert "set_it() is replaced already, by the livepatch kpatch_fix" in refused(kernel, module)


def test_a_transition_under_way(kernel: Kernel, module: Path) -> None:
    put(kernel.patch("elsewhere") / "transition", "1")
    assert "elsewhere is still in transition" in refused(kernel, module)


def runs(kernel: Kernel) -> tuple[str, bool]:
    (row,) = load.functions(live(), kernel)
    return row.runs, row.active


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Let scripts stand for programs, by their names."""
    directory = before_others(tmp_path / "bin", monkeypatch)

    def make(**scripts: str) -> None:
        for name, text in scripts.items():
            script(directory / name, text)

    return make


def test_load_waits_for_the_transition(
    kernel: Kernel, module: Path, tmp_path: Path, programs: Programs
) -> None:
    patched_by(kernel, "mmbatch_it", transition="1")
    path = kernel.patch("mmbatch_it") / "transition"
    insmod = f'echo "$@" >{tmp_path}/given; (sleep 0.3; echo 0 >{path}) >/dev/null 2>&1 &'
    programs(insmod=insmod)

    load.load(live(), module, ["it.method=copy"], kernel, 10)

    assert (tmp_path / "given").read_text() == f"{module} it.method=copy\n"
    assert runs(kernel) == ("mmbatch_it, in use everywhere", True)


def test_a_module_that_was_left_is_removed_first(
    kernel: Kernel, module: Path, tmp_path: Path, programs: Programs
) -> None:
    (kernel.sys / "module/mmbatch_it").mkdir(parents=True)
    done = tmp_path / "done"
    programs(insmod=f"echo in >>{done}", rmmod=f"echo out >>{done}")

    load.load(live(), module, [], kernel, 10)

    assert done.read_text() == "out\nin\n"


@pytest.mark.parametrize(("error", "limit_s"), [(MmbatchError, 0.1), (KeyboardInterrupt, 10)])
def test_a_task_that_does_not_get_there_or_ctrl_c_leaves_nothing(
    kernel: Kernel,
    module: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
    limit_s: float,
    programs: Programs,
) -> None:
    patched_by(kernel, "mmbatch_it", transition="1")
    put(kernel.proc / "70/task/77/patch_state", "0")
    put(kernel.proc / "70/task/77/comm", "stuck")
    programs(insmod="true", rmmod=f"echo $1 >{tmp_path}/removed")

    def sleep(_: float) -> None:
        if (kernel.patch("mmbatch_it") / "enabled").read_text().strip() == "0":
            shutil.rmtree(kernel.patch("mmbatch_it"))
        elif error is KeyboardInterrupt:
            raise KeyboardInterrupt

    monkeypatch.setattr("mmbatch.live.load.time.sleep", sleep)

    with pytest.raises(error) as caught:
        load.load(live(), module, [], kernel, limit_s)

    if isinstance(caught.value, MmbatchError):
        problem = "after 0 s stuck (77) was still in the old function, so the load was undone"
        assert caught.value.problem == problem
    assert (tmp_path / "removed").read_text() == "mmbatch_it\n"


def test_a_load_that_can_not_be_taken_back_yet(
    kernel: Kernel, module: Path, monkeypatch: pytest.MonkeyPatch, programs: Programs
) -> None:
    patched_by(kernel, "mmbatch_it", transition="1")
    programs(insmod="true")
    monkeypatch.setattr("mmbatch.live.load._REVERT_S", 0.05)
    with fails(
        "and taking it back has not ended: after 0 s", "end it later: mmbatch live unload it"
    ):
        load.load(live(), module, [], kernel, 0.05)


def test_what_the_kernel_says_when_it_refuses(
    kernel: Kernel, module: Path, tmp_path: Path, programs: Programs
) -> None:
    line = "[ 1.5] mmbatch_it: refusing: struct page has 72 bytes here"
    log = tmp_path / "log"
    insmod = f"echo '{line}' >{log}; echo '[ 2.0] else' >>{log}; exit 1"
    programs(insmod=insmod, dmesg=f"cat {log}")

    with fails("mmbatch_it: refusing: struct page has 72 bytes here"):
        load.load(live(), module, [], kernel, 1)


def built(path: Path, build_id: bytes) -> Path:
    """Compile nothing into a file that has a build ID as a module has."""
    text = ", ".join(str(byte) for byte in build_id)
    source = f'.section {elf.BUILD_ID}, "a", @note\n.byte {text}\n'
    subprocess.run(["as", "-o", path, "-"], input=source, text=True, check=True)
    return path


def test_what_is_loaded_already_may_have_other_steps(
    sysfs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = built(tmp_path / "core.ko", b"one")
    monkeypatch.setattr(build, "build_all", lambda *_: [path])
    note = sysfs / f"module/mmbatch_{LIVES[0]}/notes/{elf.BUILD_ID}"
    put(note, "")
    note.write_bytes(b"two")
    monkeypatch.setattr("mmbatch.cli.live.Kernel", lambda _: Kernel("7.3.4-amd64", sysfs))
    (sysfs / f"kernel/livepatch/mmbatch_{LIVES[0]}").mkdir(parents=True)
    assert cli.main(["live", "load", "--until", "core", LIVES[0]]) == 1
    assert f"unload that one first: mmbatch live unload {LIVES[0]}" in capsys.readouterr().err
    note.write_bytes(b"one")
    assert cli.main(["live", "load", "--until", "core", LIVES[0]]) == 0
    assert "is loaded already" in capsys.readouterr().out


def test_another_build_of_what_is_loaded(kernel: Kernel, tmp_path: Path) -> None:
    path = built(tmp_path / "mmbatch_it.ko", b"one")
    note = kernel.sys / "module/mmbatch_it/notes" / elf.BUILD_ID
    load.require_same(live(), path, kernel)
    put(note, "")
    note.write_bytes(b"one")
    load.require_same(live(), path, kernel)
    note.write_bytes(b"two")

    with fails("another build of it is loaded", "unload that one first: mmbatch live unload it"):
        load.require_same(live(), path, kernel)


def test_a_parameter_that_the_module_lacks(module: Path) -> None:
    module.write_bytes(b"text it.method\0more")
    load.require_parameters(module, ["it.method=copy"])

    for name in ("it.metod", "it.meth", "it.method2"):
        with fails(f"it has no parameter {name};", code=2):
            load.require_parameters(module, ["it.method=copy", f"{name}=copy"])


def test_a_parameter_of_what_is_loaded(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = kernel.sys / "module/mmbatch_it/parameters"
    put(parameters / "it.method", "auto")
    load.set_parameters(live(), ["it.method=copy"], kernel)
    assert (parameters / "it.method").read_text() == "copy"

    with fails("no such parameter", code=2):
        load.set_parameters(live(), ["it.metod=copy"], kernel)

    def refuse(path: Path, _: str) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)

    monkeypatch.setattr("mmbatch.live.load.Path.write_text", refuse)
    with pytest.raises(MmbatchError, match="does not take 'cpoy': Invalid argument"):
        load.set_parameters(live(), ["it.method=cpoy"], kernel)


def test_unload(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: Programs
) -> None:
    patched_by(kernel, "mmbatch_it")
    rmmod = f"echo $1 >{tmp_path}/removed; rmdir {kernel.sys}/module/$1"
    programs(rmmod=rmmod)
    pauses = []

    def transition(seconds: float) -> None:
        pauses.append(seconds)
        shutil.rmtree(kernel.patch("mmbatch_it"))

    monkeypatch.setattr("mmbatch.live.load.time.sleep", transition)

    assert load.unload("mmbatch_it", kernel, 10)

    assert pauses
    assert (tmp_path / "removed").read_text() == "mmbatch_it\n"
    assert runs(kernel) == ("the kernel's own", False)


def test_unload_of_what_is_not_there(kernel: Kernel) -> None:
    assert not load.unload("mmbatch_it", kernel, 1)


def test_unload_that_does_not_end(kernel: Kernel) -> None:
    patched_by(kernel, "mmbatch_it")

    with fails("some task still used it"):
        load.unload("mmbatch_it", kernel, 0.05)


def test_what_a_module_counts(kernel: Kernel) -> None:
    put(
        kernel.sys / "module/mmbatch_it/parameters/counts",
        "set_it done 12 3072 900 \nset_it left 1 5 0 one page\nset_it passed 2 64 0 \nnonsense",
    )
    (row,) = load.functions(live(), kernel)
    assert (row.calls, row.pages, row.ns, row.left) == (12, 3072, 900, [Left("one page", 1, 5)])


def test_transitions_and_livepatches_of_others(kernel: Kernel) -> None:
    patched_by(kernel, "a_fix")
    assert runs(kernel) == ("a_fix, in use everywhere", False)
    patched_by(kernel, "mmbatch_it", transition="1")
    put(kernel.proc / "modules", "mmbatch_it 1 0 - Live 0x0\na_fix 1 0 - Live 0x0")
    put(kernel.proc / "70/task/77/patch_state", "0")
    put(kernel.proc / "70/task/77/comm", "stuck")
    text = "mmbatch_it over a_fix, some tasks have not switched yet: stuck (77)"
    assert runs(kernel) == (text, False)
    patched_by(kernel, "mmbatch_it")
    assert runs(kernel) == ("mmbatch_it over a_fix, in use everywhere", True)
    put(kernel.patch("a_fix") / "stack_order", "2")
    put(kernel.patch("mmbatch_it") / "stack_order", "1")
    assert runs(kernel) == ("a_fix over mmbatch_it, in use everywhere", False)


def test_a_module_whose_livepatch_is_disabled_or_replaced(kernel: Kernel) -> None:
    (kernel.sys / "module/mmbatch_it").mkdir(parents=True)
    assert runs(kernel) == ("the kernel's own; mmbatch_it is loaded, but disabled", False)
    patched_by(kernel, "vendor_fix")
    words = "mmbatch_it is loaded, but replaced by the livepatch vendor_fix"
    assert runs(kernel) == (f"vendor_fix, in use everywhere; {words}", False)


def supported(kernel: Kernel) -> str:
    return load.state(live(), kernel).problem


def test_whether_the_kernel_can_take_it(kernel: Kernel, tmp_path: Path) -> None:
    assert supported(kernel) == ""
    (kernel.proc).mkdir(exist_ok=True)
    (kernel.proc / "config.gz").write_bytes(gzip.compress(b"CONFIG_A=y\nCONFIG_B=m\n"))
    assert supported(kernel) == "it has CONFIG_B: too much B"
    put(tmp_path / f"config-{RELEASE}", "CONFIG_C=y\n# CONFIG_A is not set")
    assert supported(kernel) == "it lacks CONFIG_A: no A"
    put(tmp_path / f"config-{RELEASE}", "CONFIG_A=y")
    assert supported(kernel) == ""
    kernel.patches.rmdir()
    assert "CONFIG_LIVEPATCH" in supported(kernel)
    for release in ("6.13.1-test", "6.18.44-fc-v669", "next-20261123"):
        other = Kernel(release, kernel.sys, kernel.proc, tmp_path)
        assert supported(other) == "it is none of Linux 6.12"


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kernels, "running", lambda: "7.3.4-amd64")
    (tmp_path / "sys/kernel/livepatch").mkdir(parents=True)
    return tmp_path / "sys"


def status(
    counts: str, sysfs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[str, Any]:
    module = f"mmbatch_{PROVES}"
    put(sysfs / "kernel/livepatch" / module / "enabled", "1")
    put(sysfs / "kernel/livepatch" / module / "transition", "0")
    (sysfs / "kernel/livepatch" / module / f"vmlinux/{FUNCTION},1").mkdir(parents=True)
    put(sysfs / "module" / module / "parameters/counts", counts)
    put(sysfs / "module" / module / f"parameters/{PROVES}.method", "auto")
    file = tmp_path / "status.json"
    assert cli.main(["live", "status", "--sysfs", str(sysfs), "--json", str(file)]) == 0
    return capsys.readouterr().out, json.loads(file.read_text())


def test_status_of_a_loaded_speedup(
    sysfs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = (
        f"{FUNCTION} done 12 31457280 66000000 \n{FUNCTION} left 3 16 0 a small range\n"
        f"{FUNCTION} left 0 0 0 method=base\n{FUNCTION} passed 2 1056 0 \n"
        f"{FUNCTION} failed 0 0 0 "
    )
    printed, written = status(counts, sysfs, tmp_path, capsys)

    line = next(line for line in printed.splitlines() if f"{FUNCTION}():" in line)
    assert (
        "everywhere  12 calls, 31,457,280 pages, 5.5 ms a call; left 3 to the kernel: a small"
        in line
    )
    assert "method=base" not in printed
    assert f"{PROVES}: method auto, the proof before use passed\n" in printed
    assert written["release"] == "7.3.4-amd64"
    row = next(row for row in written["functions"] if row["function"] == FUNCTION)
    assert (row["active"], row["calls"], row["ns"]) == (True, 12, 66000000)
    assert row["left"] == [{"reason": "a small range", "calls": 3, "pages": 16}]
    state = next(row for row in written["speedups"] if row["speedup"] == PROVES)
    assert (state["loaded"], state["method"], state["proof"]) == (True, "auto", "passed")
    assert state["problem"] == ""


@pytest.mark.parametrize(
    ("passed", "failed", "words"), [(1, 1, "FAILED for some memory"), (0, 0, "no proof yet")]
)
def test_proofs(
    sysfs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    passed: int,
    failed: int,
    words: str,
) -> None:
    counts = f"{FUNCTION} passed {passed} 32 0 \n{FUNCTION} failed {failed} 32 0 "
    assert words in status(counts, sysfs, tmp_path, capsys)[0]


def test_what_is_known_to_be_slower(
    sysfs: Path, module: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "require_loadable", lambda *_: None)
    monkeypatch.setattr(load, "load", lambda *_: None)
    monkeypatch.setattr("mmbatch.cli.live.Kernel", lambda _: Kernel("7.3.4-amd64", sysfs))
    assert cli.main(["live", "load", "vmap", "--module", str(module)]) == 0
    assert "vmap: slower: ioremap() of one page" in capsys.readouterr().out

# SPDX-License-Identifier: GPL-2.0-only
"""Loading and unloading, on a made-up sysfs: nothing is ever loaded here."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from test_live_fit import LIVES, live

from fake_btf import kernel as fake_types
from mmbatch.cli import main as cli
from mmbatch.core.errors import MmbatchError
from mmbatch.live import elf, load
from mmbatch.live.load import Count, Kernel

RELEASE = "6.12.1-test"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.setattr("mmbatch.live.load.os.geteuid", lambda: 0)
    monkeypatch.setattr("mmbatch.live.load._PAUSE_S", 0.01)
    sys, proc = tmp_path / "sys", tmp_path / "proc"
    (sys / "kernel/livepatch").mkdir(parents=True)
    (sys / "kernel/btf").mkdir()
    (sys / "kernel/btf/vmlinux").write_bytes(fake_types())
    put(sys / "kernel/security/lockdown", "[none] integrity confidentiality")
    put(sys / "module/module/parameters/sig_enforce", "N")
    put(proc / "kallsyms", "0 T set_it\n0 t get_it\n0 t other\n0 t get_it\t[some_module]\n")
    return Kernel(RELEASE, sys, proc)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "mmbatch_it.ko"
    path.write_bytes(b"a module")
    return path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def patched_by(kernel: Kernel, name: str, *, transition: str = "0") -> None:
    put(kernel.patch(name) / "enabled", "1")
    put(kernel.patch(name) / "transition", transition)
    (kernel.patch(name) / "vmlinux/set_it,1").mkdir(parents=True, exist_ok=True)
    (kernel.sys / "module" / name).mkdir(parents=True, exist_ok=True)


def refused(kernel: Kernel, module: Path, release: str = RELEASE) -> str:
    with pytest.raises(MmbatchError) as caught:
        load.require_loadable(live(), module, release, kernel)
    assert caught.value.hint
    return caught.value.problem


def test_a_kernel_that_takes_it(kernel: Kernel, module: Path) -> None:
    load.require_loadable(live(), module, RELEASE, kernel)


def test_only_root(kernel: Kernel, module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmbatch.live.load.os.geteuid", lambda: 1000)
    assert "only root" in refused(kernel, module)


def test_a_kernel_update(kernel: Kernel, module: Path) -> None:
    assert "built for Linux 6.12.0" in refused(kernel, module, "6.12.0")


def test_no_livepatching(kernel: Kernel, module: Path) -> None:
    kernel.patches.rmdir()
    assert "CONFIG_LIVEPATCH" in refused(kernel, module)


def test_lockdown(kernel: Kernel, module: Path) -> None:
    put(kernel.sys / "kernel/security/lockdown", "none [integrity] confidentiality")
    assert "locked down (integrity)" in refused(kernel, module)


def test_enforced_signatures(kernel: Kernel, module: Path) -> None:
    put(kernel.sys / "module/module/parameters/sig_enforce", "Y")
    assert "module.sig_enforce" in refused(kernel, module)
    module.write_bytes(b"a module" + b"~Module signature appended~\n")
    load.require_loadable(live(), module, RELEASE, kernel)


def test_another_livepatch_on_the_function(kernel: Kernel, module: Path) -> None:
    patched_by(kernel, "kpatch_fix")
    assert "set_it() is replaced already, by the livepatch kpatch_fix" in refused(kernel, module)


def test_a_transition_under_way(kernel: Kernel, module: Path) -> None:
    put(kernel.patch("elsewhere") / "transition", "1")
    assert "elsewhere is still in transition" in refused(kernel, module)


@pytest.mark.parametrize(
    ("symbols", "words"),
    [
        ("0 T set_it\n", "no symbol get_it"),
        ("0 T set_it\n0 t get_it\n0 t get_it\n", "2 symbols get_it"),
        ("0 T set_it.constprop.0\n0 t get_it\n", "no symbol set_it"),
    ],
)
def test_symbols(kernel: Kernel, module: Path, symbols: str, words: str) -> None:
    put(kernel.proc / "kallsyms", symbols)
    assert words in refused(kernel, module)


def test_types_that_differ(kernel: Kernel, module: Path) -> None:
    (kernel.sys / "kernel/btf/vmlinux").write_bytes(fake_types(member="_count"))
    assert "no member _refcount" in refused(kernel, module)


def test_no_types(kernel: Kernel, module: Path) -> None:
    (kernel.sys / "kernel/btf/vmlinux").unlink()
    assert "CONFIG_DEBUG_INFO_BTF" in refused(kernel, module)


def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    directory = tmp_path / "bin"
    directory.mkdir()
    for name, script in scripts.items():
        (directory / name).write_text(f"#!/bin/sh\n{script}\n")
        (directory / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")


def test_load_waits_for_the_transition(
    kernel: Kernel, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched_by(kernel, "mmbatch_it", transition="1")
    path = kernel.patch("mmbatch_it") / "transition"
    script = f'echo "$@" >{tmp_path}/given; (sleep 0.3; echo 0 >{path}) >/dev/null 2>&1 &'
    programs(tmp_path, monkeypatch, insmod=script)

    load.load(live(), module, ["it.method=copy"], kernel, 10)

    assert (tmp_path / "given").read_text() == f"{module} it.method=copy\n"
    assert load.status(live(), kernel) == {"set_it": "mmbatch_it, in use everywhere"}


def test_a_module_that_was_left_is_removed_first(
    kernel: Kernel, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kernel.sys / "module/mmbatch_it").mkdir(parents=True)
    done = tmp_path / "done"
    programs(tmp_path, monkeypatch, insmod=f"echo in >>{done}", rmmod=f"echo out >>{done}")

    load.load(live(), module, [], kernel, 10)

    assert done.read_text() == "out\nin\n"


def test_a_task_that_does_not_get_there(
    kernel: Kernel, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched_by(kernel, "mmbatch_it", transition="1")
    put(kernel.proc / "77/patch_state", "0")
    put(kernel.proc / "77/comm", "stuck")
    put(kernel.proc / "78/patch_state", "1")
    put(kernel.proc / "78/comm", "there")
    programs(tmp_path, monkeypatch, insmod="true")

    monkeypatch.setattr("mmbatch.live.load._REVERT_S", 0.1)

    with pytest.raises(MmbatchError) as caught:
        load.load(live(), module, [], kernel, 0.1)

    first, second = caught.value.problem.split(", and taking it back has not ended: ")
    assert first == "after 0 s stuck (77) was still in the old function"
    assert second == "after 0 s there (78) still used it"
    assert caught.value.hint == "end it later: mmbatch live unload it"
    assert (kernel.patch("mmbatch_it") / "enabled").read_text().strip() == "0"


def test_a_task_that_does_not_get_there_leaves_nothing(
    kernel: Kernel, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched_by(kernel, "mmbatch_it", transition="1")
    put(kernel.proc / "77/patch_state", "0")
    put(kernel.proc / "77/comm", "stuck")
    programs(tmp_path, monkeypatch, insmod="true", rmmod=f"echo $1 >{tmp_path}/removed")

    def revert(_: float) -> None:
        if (kernel.patch("mmbatch_it") / "enabled").read_text().strip() == "0":
            shutil.rmtree(kernel.patch("mmbatch_it"))

    monkeypatch.setattr("mmbatch.live.load.time.sleep", revert)

    with pytest.raises(MmbatchError) as caught:
        load.load(live(), module, [], kernel, 0.1)

    assert caught.value.problem == (
        "after 0 s stuck (77) was still in the old function, so it was taken back"
    )
    assert (tmp_path / "removed").read_text() == "mmbatch_it\n"


def test_loading_that_is_interrupted_leaves_nothing(
    kernel: Kernel, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched_by(kernel, "mmbatch_it", transition="1")
    programs(tmp_path, monkeypatch, insmod="true", rmmod=f"echo $1 >{tmp_path}/removed")

    def interrupted(_: float) -> None:
        if (kernel.patch("mmbatch_it") / "enabled").read_text().strip() == "0":
            shutil.rmtree(kernel.patch("mmbatch_it"))
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr("mmbatch.live.load.time.sleep", interrupted)

    with pytest.raises(KeyboardInterrupt):
        load.load(live(), module, [], kernel, 10)

    assert (tmp_path / "removed").read_text() == "mmbatch_it\n"


def test_what_the_kernel_says_when_it_refuses(
    kernel: Kernel, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "[ 1.5] mmbatch_it: refusing: struct page has 72 bytes here"
    log = tmp_path / "log"
    insmod = f"echo '{line}' >{log}; echo '[ 2.0] else' >>{log}; exit 1"
    programs(tmp_path, monkeypatch, insmod=insmod, dmesg=f"cat {log}")

    with pytest.raises(MmbatchError) as caught:
        load.load(live(), module, [], kernel, 1)

    assert caught.value.problem == "mmbatch_it: refusing: struct page has 72 bytes here"


EARLIER = "[ 1.0] mmbatch_it: refusing: an earlier module"


@pytest.mark.parametrize(
    ("insmod", "logged", "problem"),
    [
        ("echo no memory >&2; exit 1", "", "no memory"),
        ("echo no >&2; exit 1", "[ 2.0] livepatch: enabling patch 'mmbatch_it'", "no"),
        ("exit 1", "", "insmod failed"),
        ("exit 1", "[ 2.0] livepatch: failed to enable it", "livepatch: failed to enable it"),
        ("kill -9 $$", "", "insmod was killed (SIGKILL), perhaps because memory was short"),
    ],
)
def test_why_insmod_failed(
    kernel: Kernel,
    module: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    insmod: str,
    logged: str,
    problem: str,
) -> None:
    log = tmp_path / "log"
    put(log, EARLIER)
    programs(tmp_path, monkeypatch, insmod=f'echo "{logged}" >>{log}; {insmod}', dmesg=f"cat {log}")

    with pytest.raises(MmbatchError) as caught:
        load.load(live(), module, [], kernel, 1)

    assert caught.value.problem == problem


def built(path: Path, build_id: bytes) -> Path:
    """Compile nothing into a file that has a build ID as a module has."""
    text = ", ".join(str(byte) for byte in build_id)
    source = f'.section {elf.BUILD_ID}, "a", @note\n.byte {text}\n'
    subprocess.run(["as", "-o", path, "-"], input=source, text=True, check=True)
    return path


def test_a_file_that_is_not_there(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    patched_by(kernel, f"mmbatch_{LIVES[0]}")
    monkeypatch.setattr("mmbatch.cli.live.Kernel", lambda _: kernel)
    assert cli.main(["live", "load", LIVES[0], "--module", "absent.ko"]) == 2
    assert "there is no absent.ko" in capsys.readouterr().err


def test_another_build_of_what_is_loaded(kernel: Kernel, tmp_path: Path) -> None:
    path = built(tmp_path / "mmbatch_it.ko", b"one")
    note = kernel.sys / "module/mmbatch_it/notes" / elf.BUILD_ID
    load.require_same(live(), path, kernel)
    put(note, "")
    note.write_bytes(b"one")
    load.require_same(live(), path, kernel)
    note.write_bytes(b"two")

    with pytest.raises(MmbatchError, match="another build of it is loaded") as caught:
        load.require_same(live(), path, kernel)

    assert caught.value.hint == "unload that one first: mmbatch live unload it"


def test_the_release_is_read_from_the_module(module: Path) -> None:
    module.write_bytes(b"\0license=GPL\0vermagic=6.12.1-test SMP preempt \0")
    assert load.release_of(module) == RELEASE


def test_what_is_no_module(module: Path, tmp_path: Path) -> None:
    for path, words in ((module, "not a kernel module"), (tmp_path / "gone.ko", "there is no")):
        with pytest.raises(MmbatchError) as caught:
            load.release_of(path)
        assert caught.value.code == 2
        assert words in caught.value.problem


def test_a_parameter_that_the_module_lacks(module: Path) -> None:
    module.write_bytes(b"text it.method\0more")
    load.require_parameters(module, ["it.method=copy"])

    for name in ("it.metod", "it.meth", "it.method2"):
        with pytest.raises(MmbatchError, match=f"it has no parameter {name};") as caught:
            load.require_parameters(module, ["it.method=copy", f"{name}=copy"])
        assert caught.value.code == 2


def test_a_parameter_of_what_is_loaded(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = kernel.sys / "module/mmbatch_it/parameters"
    put(parameters / "it.method", "auto")
    load.set_parameters(live(), ["it.method=copy"], kernel)
    assert (parameters / "it.method").read_text() == "copy"

    with pytest.raises(MmbatchError, match="no such parameter") as caught:
        load.set_parameters(live(), ["it.metod=copy"], kernel)
    assert caught.value.code == 2

    def refuse(path: Path, _: str) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)

    monkeypatch.setattr("mmbatch.live.load.Path.write_text", refuse)
    with pytest.raises(MmbatchError, match="does not take 'cpoy': Invalid argument"):
        load.set_parameters(live(), ["it.method=cpoy"], kernel)


@pytest.mark.parametrize(
    ("speedups", "parameter", "words"),
    [
        (
            LIVES[:1],
            f"{LIVES[1]}.method=copy",
            f"'{LIVES[1]}' is not among what is loaded\nhint: known speed-ups: {LIVES[0]}\n",
        ),
        ([], "nothing.method=copy", "'nothing' is not among what is loaded\nhint: known"),
        ([], "method=copy", "write it as SPEEDUP.PARAMETER=VALUE"),
        ([], f"{LIVES[0]}.method", "write it as SPEEDUP.PARAMETER=VALUE"),
    ],
)
def test_a_parameter_that_nothing_takes(
    capsys: pytest.CaptureFixture[str], speedups: list[str], parameter: str, words: str
) -> None:
    assert cli.main(["live", "load", *speedups, "--set", parameter]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["nan", "inf", "0", "1e3"])
def test_a_limit_that_is_no_number_of_seconds(
    limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["live", "load", "--limit", limit]) == 2
    assert "invalid value for '--limit'" in capsys.readouterr().err


def test_unload(kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patched_by(kernel, "mmbatch_it")
    programs(tmp_path, monkeypatch, rmmod=f"echo $1 >{tmp_path}/removed")
    pauses = []

    def transition(seconds: float) -> None:
        pauses.append(seconds)
        shutil.rmtree(kernel.patch("mmbatch_it"))

    monkeypatch.setattr("mmbatch.live.load.time.sleep", transition)

    assert load.unload("mmbatch_it", kernel, 10)

    assert pauses
    assert (tmp_path / "removed").read_text() == "mmbatch_it\n"
    assert load.status(live(), kernel) == {"set_it": "the kernel's own"}


def in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: Kernel, times: int) -> Path:
    """Make rmmod say so, so many times; return the file with a line for each try."""
    (kernel.sys / "module/mmbatch_it").mkdir(parents=True)
    tries = tmp_path / "tries"
    script = f"echo >>{tries}; [ $(wc -l <{tries}) -gt {times} ] || {{ echo in use >&2; exit 1; }}"
    programs(tmp_path, monkeypatch, rmmod=script)
    return tries


def test_a_module_that_is_in_use_for_a_moment(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = in_use(tmp_path, monkeypatch, kernel, 2)
    monkeypatch.setattr("mmbatch.live.load._RELEASE_S", 30)

    assert load.unload("mmbatch_it", kernel, 10)
    assert len(tries.read_text()) == 3


def test_a_module_that_stays_in_use(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_use(tmp_path, monkeypatch, kernel, 1000)
    monkeypatch.setattr("mmbatch.live.load._RELEASE_S", 0.05)

    with pytest.raises(MmbatchError, match="in use"):
        load.unload("mmbatch_it", kernel, 10)


def test_unload_of_what_is_not_there(kernel: Kernel) -> None:
    assert not load.unload("mmbatch_it", kernel, 1)


def test_unload_during_another_transition(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    patched_by(kernel, "mmbatch_it")

    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(Path, "write_text", busy)

    with pytest.raises(MmbatchError) as caught:
        load.unload("mmbatch_it", kernel, 0.05)

    assert "does not disable its livepatch now (device or resource busy)" in caught.value.problem
    assert "another livepatch may be in transition" in caught.value.hint


def test_unload_that_does_not_end(kernel: Kernel) -> None:
    patched_by(kernel, "mmbatch_it")

    with pytest.raises(MmbatchError) as caught:
        load.unload("mmbatch_it", kernel, 0.05)

    assert "some task still used it" in caught.value.problem


def test_what_a_module_counts(kernel: Kernel) -> None:
    assert load.counts(live(), kernel) is None
    put(
        kernel.sys / "module/mmbatch_it/parameters/counts",
        "set_it done 12 3072 \nset_it left 1 5 one page\nset_it passed 2 64 \nnonsense",
    )
    assert load.counts(live(), kernel) == [
        Count("set_it", "done", 12, 3072, ""),
        Count("set_it", "left", 1, 5, "one page"),
        Count("set_it", "passed", 2, 64, ""),
    ]


def test_the_method_of_a_module(kernel: Kernel) -> None:
    assert load.method(live(), kernel) is None
    put(kernel.sys / "module/mmbatch_it/parameters/it.method", "copy")
    assert load.method(live(), kernel) == "copy"


def test_whether_all_tasks_run_a_speedup(kernel: Kernel) -> None:
    assert not load.active(live(), "set_it", kernel)
    patched_by(kernel, "mmbatch_it", transition="1")
    assert not load.active(live(), "set_it", kernel)
    patched_by(kernel, "mmbatch_it")
    assert load.active(live(), "set_it", kernel)
    assert not load.active(live(), "get_it", kernel)


def test_status_of_a_transition_and_of_two(kernel: Kernel) -> None:
    patched_by(kernel, "a_fix")
    patched_by(kernel, "mmbatch_it", transition="1")

    assert load.status(live(), kernel) == {
        "set_it": "mmbatch_it over a_fix, some tasks have not switched yet"
    }

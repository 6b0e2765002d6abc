"""Builds on first use, with build tools that compile nothing: what is built, by which command, and once."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ckgen.build.toolchain import HELP, Toolchain, find_toolchain
from ckgen.cache.entries import BUILT, Cache
from ckgen.cli import main
from ckgen.conv.problem import make_problem
from ckgen.generate.manifest import load_manifest
from ckgen.jit import instances
from ckgen.jit.background import Background
from ckgen.jit.instances import HOST, Known, Need, Target, target_of
from ckgen.jit.progress import Progress
from ckgen.jit.shelf import LIBRARY, NAMES, Shelf
from tests.support.fake_tools import FakeTools

pytestmark = [pytest.mark.compiles, pytest.mark.quick]  # programs that have the names of compilers
HOPPER, CDNA3 = Target("nvidia", "sm_90a"), Target("amd", "gfx942")
PROBLEM = make_problem(batch=8, k=128, c=64, filter=(3, 3), input=(14, 14), pad=1)
WEIGHT = Need("grouped_conv_bwd_weight", "f16", "NHWGC/GKYXC/NHWGK", PROBLEM)
DATA = Need("grouped_conv_bwd_data", "f16", "NHWGK/GKYXC/NHWGC", PROBLEM)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTools:
    made = FakeTools(tmp_path / "tools")
    monkeypatch.setenv("PATH", f"{made.folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return made


@pytest.fixture
def background(tools: FakeTools, tmp_path: Path) -> Callable[..., Background]:
    """Makes a Background; its attribute `told` lists its messages."""

    def make(target: Target = HOST, generic: bool = False) -> Background:
        told: list[str] = []
        made = Background(tmp_path / "ckgen", target, generic, Progress(quiet=True), told.append)
        made.told = told  # type: ignore[attr-defined]
        return made

    return make


def entries(tmp_path: Path) -> list[Path]:
    return [entry.path for entry in Cache(tmp_path / "ckgen" / BUILT).entries()]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (HOPPER, ("-DCKGEN_PLATFORM=nvidia", "-DGPU_TARGETS=sm_90a", "CUDA_COMPILER={}/nvcc", "CXX_COMPILER={}/g++")),
        (CDNA3, ("-DCKGEN_PLATFORM=amd", "-DGPU_TARGETS=gfx942", "-DCMAKE_CXX_COMPILER={}/hipcc")),
        (HOST, ("-DCKGEN_PLATFORM=host", "-DCKGEN_HOST_NATIVE=OFF", "-DCMAKE_CXX_COMPILER={}/g++")),
    ],
    ids=["nvidia", "amd", "host"],
)
def test_the_commands_of_a_platform(
    tools: FakeTools, background: Callable[..., Background], tmp_path: Path, target: Target, words: tuple[str, ...]
) -> None:
    one = background(target)
    assert one.ask(WEIGHT) is None, "it does not wait"
    one.wait()
    names = one.ask(WEIGHT)
    assert names and len(names) <= instances.MOST and not one.told  # type: ignore[attr-defined]
    assert tools.configured and all(word.format(tools.folder) in call for word in words for call in tools.configured)
    assert [word for call in tools.configured for word in call.split() if "GPU_TARGETS=" in word] == [
        f"-DGPU_TARGETS={target.arch}" for call in tools.configured if target != HOST
    ]
    found = [entry.key for entry in Cache(tmp_path / "ckgen" / BUILT).entries()]
    assert {key.device for key in found} == {target.arch} and len({key.contents for key in found}) == len(found)
    compilers = {"nvidia": ("nvcc 1.2.3", "g++ 1.2.3"), "amd": ("hipcc 1.2.3",), "host": ("g++ 1.2.3",)}
    assert {key.compiler for key in found} == {"; ".join(compilers[target.platform])}
    trees = [load_manifest(path.parent) for path in (tmp_path / "ckgen/workshop").rglob("manifest.json")]
    kept = {name for path in entries(tmp_path) for name in (path / NAMES).read_text().split()}
    assert {record.name for tree in trees if tree for record in tree.instances} <= set(names) == kept


@pytest.mark.parametrize("damage", ["shortened", "without a library"])
def test_a_damaged_entry_is_built_again(background: Callable[..., Background], tmp_path: Path, damage: str) -> None:
    first = background()
    first.ask(WEIGHT)
    first.wait()
    entry = entries(tmp_path)[0]
    known = (entry / NAMES).read_text()
    if damage == "shortened":
        (entry / NAMES).write_text("")
    else:
        (entry / LIBRARY).unlink()
    second = background()
    second.ask(WEIGHT)
    second.wait()
    assert second.ask(WEIGHT) == first.ask(WEIGHT) and not second.told  # type: ignore[attr-defined]
    assert (entry / NAMES).read_text() == known and (entry / LIBRARY).is_file()


def test_a_build_for_other_sources_ends(background: Callable[..., Background], monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that builds reads the sources again: they may have changed since this process began."""
    monkeypatch.setattr(Shelf, "held", lambda self: {})
    one = background()
    one.ask(WEIGHT)
    one.wait()
    assert one.ask(WEIGHT) == () and one.failed
    assert "start it again" in one.told[0]  # type: ignore[attr-defined]


def test_names_of_devices() -> None:
    assert target_of("sm_90") == HOPPER and target_of("gfx942:sramecc+:xnack-") == CDNA3
    assert target_of("sm_80") == Target("nvidia", "sm_80") and target_of("gfx906") is None


def test_what_an_architecture_needs() -> None:
    """On sm_90a its own kernels come first, and no generic one is built unless it is asked for."""
    known = Known(HOPPER)
    fast = known.needed(WEIGHT, False)
    assert len(fast) == instances.MOST and "wavelet_tma" in fast[0] and not any("generic" in name for name in fast)
    assert known.needed(WEIGHT, True)[:-1] == fast and known.needed(WEIGHT, True)[-1].endswith("generic")
    assert not any("tma" in name for name in Known(Target("nvidia", "sm_80")).ranked(WEIGHT))
    assert any("_wavelet_nh" in name for name in Known(CDNA3).needed(WEIGHT, False))


def test_a_library_has_instances_of_one_kind(background: Callable[..., Background], tmp_path: Path) -> None:
    """Others would compile what is shared again."""
    one = background(HOPPER)
    for need in (WEIGHT, DATA):
        one.ask(need)
    one.wait()
    assert one.ask(WEIGHT) and one.ask(DATA) and len(entries(tmp_path)) >= 2
    for path in entries(tmp_path):
        names = (path / NAMES).read_text().split()
        assert len({("bwd_data" in name, "_tma_" in name or "_halo_" in name) for name in names}) == 1


def test_the_next_process_builds_nothing(tools: FakeTools, background: Callable[..., Background]) -> None:
    first = background()
    names = first.ask(DATA, wait=True)
    calls = len(tools.built)
    second = background()
    assert second.ask(DATA, wait=True) == names and len(tools.built) == calls > 0
    assert second.paths == first.paths


def test_another_compiler_has_its_own_libraries(tools: FakeTools, background: Callable[..., Background]) -> None:
    first = background()
    first.ask(DATA, wait=True)
    (tools.folder / "g++").write_text("#!/bin/sh\necho g++ 1.2.4\n")
    second = background()
    second.ask(DATA, wait=True)
    assert second.paths.keys() == first.paths.keys() and not set(second.paths.values()) & set(first.paths.values())


def test_two_processes_build_once(tools: FakeTools, background: Callable[..., Background]) -> None:
    """The second one asks while the first one builds, and finds everything."""
    tools.hold()
    first, second = background(), background()
    first.ask(WEIGHT)
    tools.begun()
    second.ask(WEIGHT)
    tools.go()
    first.wait()
    second.wait()
    assert first.ask(WEIGHT) == second.ask(WEIGHT) != () and first.paths == second.paths
    assert len(tools.built) == len(set(first.paths.values()))


def test_a_builder_waits_for_the_lock(tools: FakeTools, background: Callable[..., Background], tmp_path: Path) -> None:
    """This process has the lock and builds what another one asked for: that one builds nothing."""
    shelf, one = Shelf(tmp_path / "ckgen", HOST, find_toolchain()), background()
    names = Known(HOST).needed(WEIGHT, False)
    with shelf.locked() as lock:
        one.ask(WEIGHT)
        shelf.build(names, 1, lock, lambda line: None)
    one.wait()
    assert one.ask(WEIGHT) == names and len(tools.built) == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_a_builder_that_ends_early(
    tools: FakeTools, background: Callable[..., Background], tmp_path: Path, number: signal.Signals
) -> None:
    """Nothing half written is found, and the next process builds. Build tools that outlive a killed builder keep the
    lock as long as they run."""
    tools.hold()
    one = background()
    one.ask(WEIGHT)
    os.kill(tools.begun(), number)
    one.wait()
    assert one.ask(WEIGHT) == () and len(one.told) == 1 and not entries(tmp_path)  # type: ignore[attr-defined]
    (lock,) = (tmp_path / "ckgen" / BUILT / "locks").glob(Shelf(tmp_path / "ckgen", HOST, find_toolchain()).key.name)
    if number == signal.SIGKILL:
        with lock.open("w") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        tools.go()
    else:
        (tools.folder / "begun").unlink()
    other = background()
    assert other.ask(WEIGHT, wait=True) and not other.told  # type: ignore[attr-defined]
    assert not list((tmp_path / "ckgen" / BUILT).glob(".part-*"))


def test_a_broken_compiler(tools: FakeTools, background: Callable[..., Background]) -> None:
    tools.break_compilers()
    one = background()
    for need in (WEIGHT, DATA):
        assert one.ask(need, wait=True) == ()
    (told,) = one.told  # type: ignore[attr-defined]
    # A relative place is one below the folder of the build.
    assert re.search(r"for host cannot be built: /\S+/instance\.cpp:7:3: no such type; log: ", told)
    assert "no such type" in Path(told.rpartition("log: ")[2]).read_text()
    tools.break_compilers(False)
    assert one.ask(WEIGHT, wait=True) == (), "not tried again in this process"
    other = background()
    assert other.ask(WEIGHT, wait=True) and not Path(told.rpartition("log: ")[2]).exists()


def test_no_compiler(background: Callable[..., Background], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ckgen.jit.background.find_toolchain", lambda: Toolchain(*(None for _ in range(9))))
    for target, kind, words in ((HOST, "host_cxx", "no C++ compiler"), (HOPPER, "host_cxx", ""), (CDNA3, "hipcc", "")):
        one = background(target)
        for need in (WEIGHT, DATA):
            assert one.ask(need, wait=True) == ()
        (told,) = one.told  # type: ignore[attr-defined]
        assert told.endswith(HELP[kind]) and words in told


def test_the_cache_is_listed_and_cleared(
    tools: FakeTools, background: Callable[..., Background], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert background().ask(WEIGHT, wait=True)
    assert main(["cache", "list"]) == 0
    said = capsys.readouterr()
    assert "host" in said.out and "g++ 1.2.3" in said.out and "workshop" in said.out and "1 built entries" in said.err
    assert main(["cache", "clear"]) == 0 and not entries(tmp_path) and not (tmp_path / "ckgen/workshop").exists()
    calls = len(tools.built)
    assert background().ask(WEIGHT, wait=True) and len(tools.built) > calls


def test_a_line_on_a_terminal(tools: FakeTools, tmp_path: Path) -> None:
    """One line, rewritten in place; nothing without a terminal or if quiet."""
    code = (
        "import sys; from pathlib import Path; from tests.jit.test_background import *; "
        "one = Background(Path(sys.argv[1]), HOST, False, Progress(sys.argv[2] == 'quiet'), print); "
        "one.ask(WEIGHT, wait=True); one._thread and one._thread.join()"
    )
    for at, (quiet, terminal) in enumerate([("no", True), ("quiet", True), ("no", False)]):
        leader, follower = os.openpty()
        words = [sys.executable, "-c", code, str(tmp_path / str(at)), quiet]
        where = follower if terminal else subprocess.PIPE
        done = subprocess.run(words, stderr=where, cwd=Path(__file__).parents[2], check=True)
        os.close(follower)
        said = done.stderr or b""
        while terminal and (more := _read(leader)):
            said += more
        os.close(leader)
        shown = b"instances for host, step 1/1" in said and b"instances are ready" in said
        assert shown == (at == 0) and said.count(b"\n") == (1 if at == 0 else 0), said


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 4096)
    except OSError:  # the other side is closed
        return b""

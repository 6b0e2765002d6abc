"""`ckgen build` and `ckgen smoke`: the table of verdicts, the runs and the exit code."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ckgen.cli import main
from ckgen.library.library import Library
from tests.conftest import StubMaker

PROBLEMS = """\
channels: per_group
defaults: {stride: 1, pad: 0}
problems:
  - {name: plane, groups: 2, batch: 2, out_channels: 8, in_channels: 8, filter: [1, 1], input: [5, 4]}
  - {name: taps, batch: 1, out_channels: 3, in_channels: 2, filter: [3, 2], input: [6, 8]}
"""
CUBE = """\
channels: per_group
problems:
  - {name: cube, batch: 1, out_channels: 3, in_channels: 2, filter: [2, 2, 2], input: [3, 3, 3], stride: 1, pad: 0}
"""
HEADERS = ["instance", "platform", "problem", "split_k", "max error", "tolerance", "verdict"]


@pytest.fixture
def problems(tmp_path: Path) -> str:
    path = tmp_path / "problems.yaml"
    path.write_text(PROBLEMS)
    return str(path)


def columns(line: str) -> list[str]:
    """The cells of one line of a plain table; two spaces or more separate them, and they contain only single spaces."""
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_right_kernels_make_one_table_and_exit_0(
    stub: Library, problems: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["smoke", "--library", stub.path, "--problems", problems, "--split-k", "2"])
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert code == 0
    assert columns(lines[0]) == HEADERS
    assert all(len(columns(line)) == len(HEADERS) for line in lines[1:-1])
    assert all(line.endswith("  ok") for line in lines[1:-1])
    assert lines[-1].endswith(f"2 problems, {len(lines) - 2} runs: all ok")
    assert "instances left out: only 2D is on both sides" in said.err


@pytest.mark.parametrize("platform", ["amd", "nvidia"])
def test_a_library_of_another_platform_is_not_verified(
    platform: str, stub: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["smoke", "--library", stub.path, "--platform", platform, "K8 C8 3x3 on 8x8 p1"]) == 2
    assert f"is for platform host, not {platform}" in capsys.readouterr().err
    assert main(["smoke", "--library", stub.path, "--platform", "host", "K8 C8 3x3 on 8x8 p1"]) == 0


@pytest.mark.parametrize("number, said", [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_signal_ends_a_run_that_never_returns(number: signal.Signals, said: str) -> None:
    """Python's handlers wait until a function of a library returns; this one waits for a lock that it holds."""
    script = (
        "import ctypes, signal; from ckgen.cli.common.signals import ending_in_libraries, unwinding\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "lock, c = ctypes.create_string_buffer(64), ctypes.CDLL(None)\n"
        "with unwinding(), ending_in_libraries():\n"
        "    c.pthread_mutex_lock(lock)\n"
        "    for word in ('waits', ''):\n"
        "        try: print(word, flush=True); c.pthread_mutex_lock(lock)\n"
        "        except BaseException: pass\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdout=pipe, stderr=pipe, text=True) as it:
        assert it.stdout is not None and it.stdout.readline() == "waits\n"
        it.send_signal(number)
        _, err = it.communicate()
    assert (it.returncode, err) == (128 + number, f"ckgen: {said}\n")


@pytest.mark.parametrize("bug", ["NULL_KERNEL", "OVERRUN", "LAST_PRODUCT_MISSING"])
def test_a_wrong_kernel_is_exit_1(
    bug: str, make_stub: StubMaker, problems: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["smoke", "--library", make_stub(bug).path, "--problems", problems, "--split-k", "1"])
    said = capsys.readouterr()
    assert code == 1
    assert "FAIL: " in said.out
    assert said.out.splitlines()[-1].endswith(" FAILED")
    assert "Traceback" not in said.err


def test_json_has_every_column(stub: Library, problems: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", "--library", stub.path, "--problems", problems, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["split_k"] for row in rows} == {-1, 1, 2, 7}
    assert {"instance", "platform", "problem", "max_error", "tolerance", "verdict"} <= rows[0].keys()


def test_brief_has_one_row_an_instance(stub: Library, problems: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["smoke", "--library", stub.path, "--problems", problems, "--json"])
    rows = json.loads(capsys.readouterr().out)
    main(["smoke", "--library", stub.path, "--problems", problems, "--brief"])
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines[1:-1]]
    assert names == sorted({row["instance"] for row in rows})
    assert f" {len(rows)} runs" in lines[-1]


def test_filters_choose_what_runs(stub: Library, problems: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", "dtype=f32", "--library", stub.path, "--problems", problems, "--json"]) == 0
    assert all("_f32_" in row["instance"] for row in json.loads(capsys.readouterr().out))


def test_nothing_on_both_sides_is_wrong_use(stub: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cube.yaml").write_text(CUBE)
    code = main(["smoke", "ndim=2", "--library", stub.path, "--problems", str(tmp_path / "cube.yaml")])
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert "no instance has the operation and dimensionality of any problem" in said.err


def test_an_unknown_problem_set_names_the_nearest(stub: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", "--library", stub.path, "--problems", "retinanett"]) == 2
    assert "retinanet" in capsys.readouterr().err


@pytest.mark.compiles
def test_a_new_spec_becomes_a_proven_library(
    tmp_path: Path, problems: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    capsys.readouterr()
    chosen = ["generic=true", "dtype=f16"]
    assert main(["build", *chosen, "--jobs", "1"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.name == "libckgen_conv.so"
    assert path.parts[0] == "build"
    assert not (tmp_path / "generated").exists(), "a selection is generated below build/"
    assert main(["smoke", "--library", str(path), "--problems", problems, "--split-k", "1"]) == 0
    assert " 2 runs: all ok" in capsys.readouterr().out


def test_uncovered_problems_are_counted_and_never_pass(
    stub: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "  - {name: line, batch: 1, out_channels: 3, in_channels: 2, filter: [3], input: [9]}\n"
    (tmp_path / "odd.yaml").write_text(PROBLEMS + line)
    asked = ["smoke", "--library", stub.path, "--problems", str(tmp_path / "odd.yaml"), "--split-k", "1"]
    assert main(asked) == 1
    assert main([*asked, "--allow-uncovered"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert " not covered: all ok" in last

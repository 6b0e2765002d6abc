"""Test `ckgen bench --cluster`: a killed worker and a Ctrl-C in the middle of a run lose no row and repeat none."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ckgen.bench.store import Store
from ckgen.cli import main
from ckgen.cluster.connect import LOCAL, connected
from ckgen.cluster.dask_pool import DaskPool
from ckgen.errors import CkgenError
from ckgen.library.library import Library
from tests.bench.test_runner import arguments, work_of
from tests.support.bench_rows import compile_fatal

ROOT = Path(__file__).resolve().parents[2]
MANY = """\
channels: per_group
problems:
""" + "\n".join(
    f"  - {{name: p{n}, batch: {n}, out_channels: 8, in_channels: 8, filter: [1, 1], input: [4, 4]}}"
    for n in range(1, 7)
)


def started(library: Path, folder: Path) -> subprocess.Popen[str]:
    """`ckgen bench` on two workers, with the generic f16 instance that hangs once on an odd batch."""
    words = arguments(library, folder, "--cluster", "2", "--split-k", "1", "--platform", "host")
    (folder / "mine.yaml").write_text(MANY)
    environment = {**os.environ, "CKGEN_TEST_HANGS": str(folder / "hangs"), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "ckgen", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def stored(store: Path) -> list[tuple[str, str, str]]:
    """Every line of the table of rows, repeated ones too."""
    database = sqlite3.connect(store)
    found = database.execute("SELECT problem_name, name, verdict FROM rows ORDER BY problem_name, name").fetchall()
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    return found


@pytest.mark.compiles
@pytest.mark.quick
def test_neither_a_killed_worker_nor_ctrl_c_loses_or_repeats_a_row(tmp_path: Path) -> None:
    library = compile_fatal(tmp_path, "ONCE")
    expected = sorted(
        (f"p{n}", name, "ok") for n in range(1, 7) for name in Library(library).names if _is_plane(library, name)
    )
    killed, stopped = tmp_path / "killed", tmp_path / "stopped"
    for folder in (killed, stopped):
        folder.mkdir()
        os.mkfifo(folder / "hangs")

    run = started(library, killed)
    os.kill(int((killed / "hangs").read_text()), signal.SIGKILL)  # the worker whose child hangs in a kernel
    said = run.communicate()
    assert run.returncode == 0, said
    assert stored(killed / "b.sqlite") == expected

    run = started(library, stopped)
    (stopped / "hangs").read_text()
    os.killpg(run.pid, signal.SIGINT)
    said = run.communicate()
    assert run.returncode == 130, said
    first = stored(stopped / "b.sqlite") if (stopped / "b.sqlite").exists() else []
    assert set(first) < set(expected)
    run = started(library, stopped)
    out, err = run.communicate()
    assert run.returncode == 0, err
    assert stored(stopped / "b.sqlite") == expected
    assert f"{len(expected) - len(first)} rows measured, {len(first)} were already in" in err


def _is_plane(library: Path, name: str) -> bool:
    return Library(library).instance(name).ndim == 2


def test_a_scheduler_at_an_address_measures(tmp_path: Path, stub: Library, capsys: pytest.CaptureFixture[str]) -> None:
    words = arguments(Path(stub.path), tmp_path, "dtype=f16", "--split-k", "1,2", "--platform", "host")
    with connected(LOCAL, hands=[{}]) as client:
        address = client.scheduler.address
        assert main([*words, "--cluster", address]) == 0
        assert "8 rows measured, 0 were already in" in capsys.readouterr().err
        assert main([*words, f"--cluster={address}"]) == 0
        assert "0 rows measured, 8 were already in" in capsys.readouterr().err
        changed = work_of(Path(stub.path))
        object.__setattr__(changed, "digest", "0" * 64)
        with pytest.raises(CkgenError, match="cannot take part: .* is another library"):
            DaskPool(client, changed)
        with pytest.raises(CkgenError, match="cannot take part: /absent.so is not on"):
            object.__setattr__(changed, "library", Path("/absent.so"))
            DaskPool(client, changed)
    assert main(words) == 0  # without a cluster, the rows of the cluster are found
    assert "0 rows measured, 8 were already in" in capsys.readouterr().err
    with Store(tmp_path / "b.sqlite") as store:
        assert len(store.rows(list(store.runs()))) == 8


@pytest.mark.parametrize("value", ["0", "node:8786", "tcp://node", "family=xdl"])
def test_a_value_that_is_no_cluster_is_one_error(
    tmp_path: Path, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--cluster", value]) == 2
    assert f"'{value}' is not N or a scheduler's address" in capsys.readouterr().err


def test_more_workers_than_gpus_are_refused(
    stub_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.stub_library import compile_stub

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-7")
    library = compile_stub(stub_folder, "NONE", "nvidia")
    assert main(arguments(library, tmp_path, "--cluster", "3")) == 2
    assert "3 workers need as many GPUs, and this machine has 2" in capsys.readouterr().err

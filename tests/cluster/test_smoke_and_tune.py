"""Test `ckgen smoke` and `ckgen tune` on a cluster of this machine against one process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckgen.cli import main
from ckgen.cluster.connect import LOCAL, connected
from ckgen.library.library import Library
from ckgen.selection.measured import parse_table
from ckgen.tuning import from_rows
from tests.bench.test_runner import FILE
from tests.support.bench_rows import compile_fatal


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The scheduler of a cluster of two workers."""
    with connected(LOCAL, hands=[{}, {}]) as client:
        yield client.scheduler.address


def smoke(library: Path, folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, list[object]]:
    (folder / "mine.yaml").write_text(FILE)
    words = ["smoke", "--library", str(library), "--problems", str(folder / "mine.yaml"), "--json", "ndim=2"]
    code = main([*words, *more])
    return code, json.loads(capsys.readouterr().out)


def test_smoke_gives_the_same_rows_in_the_same_order(
    stub: Library, tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(stub.path)
    alone = smoke(path, tmp_path, capsys)
    assert alone[0] == 0 and len(alone[1]) > 8
    assert smoke(path, tmp_path, capsys, "--cluster", address) == alone


@pytest.mark.compiles
@pytest.mark.quick
def test_a_kernel_that_crashes_is_a_failed_row(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a cluster, the crash would end the run."""
    library = compile_fatal(tmp_path, "ABORT")
    code, rows = smoke(library, tmp_path, capsys, "--cluster", address)
    verdicts = {row["verdict"] for row in rows}  # type: ignore[call-overload, index]
    assert code == 1 and verdicts == {"ok", "FAIL: killed by SIGABRT: memory access fault"}


def test_emulation_takes_no_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", "--platform", "amd", "--emulate", "--cluster"]) == 2
    assert "it does not take --cluster" in capsys.readouterr().err


def tuned(library: Path, name: str, *more: str) -> dict[tuple[str, str, str], set[tuple[str, float]]]:
    """The candidates of the table that `ckgen tune` makes, by problem, data type and layout."""
    words = ["tune", "--library", str(library), "--results", f"{name}.sqlite", "--arch", "sm_90a"]
    assert main([*words, "--problems", "mine.yaml", "--tables", name, *more]) == 0
    (path,) = Path(name).glob("*.json")
    table = parse_table(path.read_text(), path.name)
    return {(r.problem, r.dtype, r.layout): {(c.name, c.microseconds) for c in r.candidates} for r in table.rows}


def test_tune_measures_on_the_cluster_what_the_store_lacks(
    stub: Library, tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(FILE)
    path = Path(stub.path)
    monkeypatch.setattr(from_rows, "_refuse_others", lambda *_: None)  # the stand-in is for the host
    alone, spread = tuned(path, "alone"), tuned(path, "spread", "--cluster", address)
    assert len(alone) == 10 and spread == alone  # every run of the stand-in takes 250 us
    capsys.readouterr()
    assert tuned(path, "spread", "--cluster", address) == alone
    assert "0 rows measured" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--cluster",), "--cluster spreads the measurements of --library: name one"),
        (("--library", "x.so", "--results", "rows.csv"), "--library measures into --results FILE.sqlite"),
        (("--library", "x.so", "--results", "/rows.sqlite"), "give them relative to the current folder"),
    ],
)
def test_tune_says_what_is_missing(more: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--arch", "sm_90a", *more]) == 2
    assert words in capsys.readouterr().err

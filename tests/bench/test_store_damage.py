"""Test changed or damaged stores and exports: one error names the file, the fault and how to continue."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckgen.bench.claim import claimed
from ckgen.bench.job import WRONG, Job, Outcome
from ckgen.bench.plan import SPLIT_KS
from ckgen.bench.store import ROW_FIELDS, ResultRow, Store, make_row
from ckgen.cli import main
from ckgen.errors import MAX_TEXT, CkgenError
from ckgen.operations.operation import BWD_WEIGHT
from ckgen.report.export import to_csv
from ckgen.report.imports import read_results
from ckgen.report.page import render_report
from ckgen.report.summary import load_summary
from ckgen.tuning.from_rows import make_table, read_measured
from tests.support.bench_rows import ORIGIN, PLANE, rows
from tests.support.trees import XDL

ROOT = Path(__file__).resolve().parents[2]
PROBLEM = json.dumps({**rows()[0].problem_fields, "filter": [0, 3]})
# Values that a database editor can put into a column of a row; `ROW 3` and `RUN` stand for the condition.
EDITS = {
    "ms is text": "UPDATE rows SET ms = 'fast'",
    "ms is a blob": "UPDATE rows SET ms = x'ff00'",
    "ms is infinite": "UPDATE rows SET ms = 9e999",
    "ms is 0": "UPDATE rows SET ms = 0",
    "ms is negative": "UPDATE rows SET ms = -1.5",
    "ms is tiny": "UPDATE rows SET ms = 5e-324",
    "a quartile is text": "UPDATE rows SET ms_q1 = 'x'",
    "flops are text": "UPDATE rows SET flops = 'x'",
    "flops are negative": "UPDATE rows SET flops = -5",
    "flops are a fraction": "UPDATE rows SET flops = 1.5",
    "an unknown name": "UPDATE rows SET name = 'zzz'",
    "an unknown dtype": "UPDATE rows SET dtype = 'zzz'",
    "an unknown operation": "UPDATE rows SET operation = 'zzz'",
    "an unknown kind": "UPDATE rows SET kind = 'zzz'",
    "an unreadable problem": "UPDATE rows SET problem = 'zzz'",
    "fields are no JSON": "UPDATE rows SET problem_fields = '{'",
    "fields are a list": "UPDATE rows SET problem_fields = '[]'",
    "fields of nothing": "UPDATE rows SET problem_fields = '{}'",
    "fields of an impossible problem": f"UPDATE rows SET problem_fields = '{PROBLEM}'",
    "fields nested deep": f"UPDATE rows SET problem_fields = '{'[' * 100_000}'",
    "no split_k": "UPDATE rows SET split_k = NULL",
    "split_k is 0": "UPDATE rows SET split_k = 0",
    "split_k is text": "UPDATE rows SET split_k = 'x'",
    "automatic is 7": "UPDATE rows SET automatic = 7",
    "samples are text": "UPDATE rows SET samples = 'x'",
    "uplift is infinite": "UPDATE rows SET published_uplift = -9e999",
    "text that is not UTF-8": "UPDATE rows SET message = CAST(x'ff' AS TEXT)",
    "text that is a blob": "UPDATE rows SET problem_name = x'00ff'",
    "settings are no JSON": "UPDATE runs SET settings = '}'",
    "settings are a list": "UPDATE runs SET settings = '[]'",
    "ceilings are text": 'UPDATE runs SET ceilings = \'{"bytes": "x"}\'',
    "a ceiling is 0": "UPDATE runs SET ceilings = '{\"bytes\": 0}'",
    "a ceiling is infinite": "UPDATE runs SET ceilings = '{\"bytes\": Infinity}'",
    "a device that is a blob": "UPDATE runs SET device = x'00ff'",
    "no table of rows": "DROP TABLE rows",
    "no table of runs": "DROP TABLE runs",
    "a column less": "ALTER TABLE rows DROP COLUMN max_error",
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "sound.sqlite"
    with Store(path) as store:
        store.begin(ORIGIN)
        for item in rows():
            store.append(item)
    return path


@pytest.fixture
def store(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound store in the current folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(sound, "b.sqlite")
    return Path("b.sqlite")


def edit(store: Path, statement: str) -> None:
    database = sqlite3.connect(store)
    database.execute(statement + (" WHERE id = 3" if statement.startswith("UPDATE rows") else ""))
    database.commit()
    database.close()


def use(path: Path) -> None:
    """Use the store in every way. CkgenError may be raised, and nothing else."""
    with Store(path, create=False) as store:
        summary = load_summary(store)
        render_report(summary)
        to_csv(summary, store.runs())
    make_table(read_measured([str(path)], Path()), BWD_WEIGHT, "sm_90a")


COMMANDS = {
    "report": ["report", "--out", "r.html", "--out", "r.csv"],
    "tune": ["tune", "--results", "b.sqlite", "--arch", "sm_90a", "--tables", "tables"],
}


@pytest.mark.parametrize("kind", EDITS)
def test_an_edited_store_is_one_error(kind: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(store, EDITS[kind])
    for name, words in COMMANDS.items():
        assert main([*words, *(["--store", "b.sqlite"] if name == "report" else [])]) == 2
        said = capsys.readouterr().err
        assert said.startswith("error[results]: b.sqlite: ") and said.count("error[") == 1
        assert "table `r" in said and "measure again (--store names another)" in said
        assert len(said) < 3 * MAX_TEXT
    assert sorted(os.listdir()) == ["b.sqlite"], "nothing was written"
    with Store(store) as opened, pytest.raises(CkgenError):  # the query of bench
        opened.rows(opened.alike(ORIGIN))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (replace(rows()[0], published_uplift=0.0), "published_uplift is 0.0"),
        (replace(rows()[0], ms=0.0), "ms is 0.0"),
        (replace(rows()[0], problem="zzz"), "problem: "),
    ],
)
def test_a_row_that_could_not_be_read_back_is_not_written(store: Path, wrong: ResultRow, words: str) -> None:
    with Store(store) as opened:
        before = opened.rows([1])
        with pytest.raises(CkgenError, match=f"cudnn on plane cannot be stored: {words}"):
            opened.append(wrong)
        assert opened.rows([1]) == before


def test_a_result_that_is_not_finite_is_stored_without_its_error(store: Path) -> None:
    job = Job("instance", XDL.name, "f16", PLANE, 1)
    found = [make_row(1, "t", job, Outcome(WRONG, "not finite", max_error=error)) for error in (math.nan, math.inf)]
    with Store(store) as opened:
        for item in found:
            opened.append(item)
            assert item in opened.rows([1])


def test_a_store_that_cannot_be_written_is_not_called_damaged(tmp_path: Path) -> None:
    """Simulate a full disk (no pages beyond the existing ones) and a lock that another process holds."""
    with Store(tmp_path / "b.sqlite") as store:
        store.append(rows()[0])
        (pages,) = store._database.execute("PRAGMA page_count").fetchone()
        store._database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(CkgenError, match="cannot write into table `rows`: database or disk is full") as full:
            for row in rows() * 100:
                store.append(row)
        assert "is kept" in str(full.value) and "damaged" not in str(full.value)
        assert store.rows([rows()[0].run_id])


def test_a_row_that_is_damaged_is_named(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(store, EDITS["ms is infinite"])
    assert main(["report", "--store", "b.sqlite"]) == 2
    assert "b.sqlite: line 3 of table `rows`: ms is inf\n" in capsys.readouterr().err


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a page zeroed": lambda data: data[:4096] + bytes(4096) + data[8192:],
    "the first page zeroed": lambda data: bytes(4096) + data[4096:],
    "cut": lambda data: data[: len(data) // 2],
    "cut in a page": lambda data: data[:5000],
    "random bytes": lambda data: data[:2000] + random.Random(1).randbytes(3000) + data[5000:],
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_one_error(kind: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.write_bytes(DAMAGE[kind](store.read_bytes()))
    for words in (["report", "--store", "b.sqlite"], ["report", "--store", "b.sqlite", "--list"], COMMANDS["tune"]):
        assert main(words) == 2
        said = capsys.readouterr().err
        assert said.startswith("error[results]: b.sqlite") and "= help: " in said and len(said) < 3 * MAX_TEXT


def test_a_sound_store_is_used(store: Path) -> None:
    use(store)
    assert all(split_k == -1 or split_k >= 1 for split_k in SPLIT_KS), "what is stored is at least 1"


VALUES = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=9) | st.binary(max_size=9)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(column=st.sampled_from(ROW_FIELDS), value=VALUES, number=st.integers(1, 7))
def test_any_value_in_any_column_is_used_or_refused(
    column: str, value: object, number: int, sound: Path, tmp_path: Path
) -> None:
    path = tmp_path / "b.sqlite"
    shutil.copy(sound, path)
    database = sqlite3.connect(path)
    try:
        database.execute(f"UPDATE rows SET {column} = ? WHERE id = ?", (value, number))
        database.commit()
    except (sqlite3.Error, UnicodeEncodeError):
        return
    finally:
        database.close()
    used_or_refused(path)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), count=st.integers(1, 60))
def test_any_bytes_are_used_or_refused(seed: int, count: int, sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite"
    data, chosen = bytearray(sound.read_bytes()), random.Random(seed)
    for _ in range(count):
        data[chosen.randrange(len(data))] = chosen.randrange(256)
    path.write_bytes(data)
    used_or_refused(path)


def used_or_refused(path: Path) -> None:
    try:
        use(path)
    except CkgenError as error:
        assert error.exit_code == 2
        assert all(len(diagnostic.message) <= MAX_TEXT for diagnostic in error.diagnostics)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), count=st.integers(1, 9), packed=st.booleans())
def test_any_exported_file_is_read_or_refused(seed: int, count: int, packed: bool, sound: Path, tmp_path: Path) -> None:
    with Store(sound) as store:
        text = to_csv(load_summary(store), store.runs())
    data, chosen = bytearray(text.encode()), random.Random(seed)
    if packed:
        data = bytearray(gzip.compress(bytes(data), mtime=0))
    for _ in range(count):
        data[chosen.randrange(len(data))] = chosen.randrange(256)
    path = tmp_path / ("rows.csv.gz" if packed else "rows.csv")
    path.write_bytes(data)
    try:
        read_results(path)
    except CkgenError as error:
        assert error.diagnostics[0].rule == "results"


HOLD = """
import sys
from pathlib import Path
from ckgen.bench.claim import claimed
with claimed(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_benches_of_one_store_take_turns(tmp_path: Path) -> None:
    store = tmp_path / "b.sqlite"
    words = [sys.executable, "-c", HOLD, str(store)]
    other = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None and other.stdout.readline() == "held\n"
    with pytest.raises(CkgenError, match=f"process {other.pid} is measuring into") as refused, claimed(store):
        pass
    assert "name another --store" in refused.value.diagnostics[0].help
    other.kill()
    other.wait()
    with claimed(store):
        pass
    assert os.listdir(tmp_path) == []

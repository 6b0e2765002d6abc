"""Test ckgen.bench.store: stored rows are read back unchanged, and a foreign file is not modified."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import sqlite3
from pathlib import Path

import pytest

from ckgen.bench.store import APPLICATION_ID, SCHEMA_VERSION, Store
from ckgen.errors import CkgenError
from ckgen.report.export import to_csv
from ckgen.report.summary import load_summary
from tests.support.bench_rows import ORIGIN, row, rows


def filled(path: Path) -> Store:
    store = Store(path)
    assert store.begin(ORIGIN) == 1
    for item in rows():
        store.append(item)
    return store


def test_rows_and_runs_come_back_as_they_were(tmp_path: Path) -> None:
    with filled(tmp_path / "b.sqlite") as store:
        assert store.rows([1]) == rows()
        assert store.runs() == {1: ORIGIN}
        assert store.rows([]) == []


def test_a_row_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    with filled(tmp_path / "b.sqlite") as _, Store(tmp_path / "b.sqlite") as other:
        assert other.rows([1]) == rows()


def test_the_last_row_of_a_job_counts(tmp_path: Path) -> None:
    with filled(tmp_path / "b.sqlite") as store:
        store.append(row(0.1))
        assert [item.ms for item in store.rows([1]) if item.key == row(1).key] == [0.1]
        assert len(store.rows([1])) == len(rows())


def test_runs_are_alike_when_machine_code_and_library_are(tmp_path: Path) -> None:
    later = dataclasses.replace(ORIGIN, started="2027", host="other", ceilings={})
    with filled(tmp_path / "b.sqlite") as store:
        assert store.begin(later) == 2
        assert store.alike(ORIGIN) == [1, 2]
        for field in ("platform", "device", "driver", "commit_id", "spec_digest", "library_digest"):
            assert store.alike(dataclasses.replace(ORIGIN, **{field: "other"})) == []  # type: ignore[arg-type]
        assert store.alike(dataclasses.replace(ORIGIN, settings={"cache": "warm"})) == []


def refusal(path: Path, **options: bool) -> str:
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(CkgenError) as raised:
        Store(path, **options)
    assert (path.read_bytes() if path.exists() else None) == before
    (finding,) = raised.value.diagnostics
    assert finding.rule == "results"
    assert finding.help
    return finding.message


def test_another_version_is_refused_by_number(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite"
    filled(path).close()
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.commit()
    database.close()
    assert f"schema version {SCHEMA_VERSION + 1}, this ckgen knows {SCHEMA_VERSION}" in refusal(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.sqlite"
    database = sqlite3.connect(foreign)
    database.execute("CREATE TABLE t (x)")
    database.commit()
    database.close()
    assert "another program" in refusal(foreign)
    text = tmp_path / "text.sqlite"
    text.write_text("no database at all, but long enough to have a header of its own" * 9)
    assert "not a database" in refusal(text)
    assert "there are no results" in refusal(tmp_path / "absent.sqlite", create=False)


def test_the_file_says_whose_it_is(tmp_path: Path) -> None:
    filled(tmp_path / "b.sqlite").close()
    header = (tmp_path / "b.sqlite").read_bytes()[:100]
    assert int.from_bytes(header[68:72], "big") == APPLICATION_ID


def test_export_has_every_row_with_its_origin(tmp_path: Path) -> None:
    with filled(tmp_path / "b.sqlite") as store:
        summary = load_summary(store)
        lines = list(csv.DictReader(io.StringIO(to_csv(summary, store.runs()))))
    assert [line["name"] for line in lines] == [item.name for item in rows()]
    assert [line["ms"] for line in lines] == ["" if item.ms is None else str(item.ms) for item in rows()]
    assert "" in [line["ms"] for line in lines]
    assert {line["compiler"] for line in lines} == {ORIGIN.compiler}
    assert json.loads(lines[0]["problem_fields"])["filter"] == [3, 3]
    assert float(lines[0]["floor_ms"]) == pytest.approx(1e3 * int(lines[0]["flops"]) / 8e14)
    assert float(lines[-1]["floor_ms"]) == pytest.approx(1e3 * int(lines[-1]["least_bytes"]) / 4e12)
    assert json.loads(lines[0]["ceilings"]) == ORIGIN.ceilings

"""The committed tables of simulated cycles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.errors import CkgenError
from ckgen.machine_code.cycles.table import (
    COLUMNS,
    Cycles,
    CyclesTable,
    cycles_path,
    digest_of,
    read_cycles,
    stale,
    table_text,
)
from ckgen.machine_code.table import load_table, read_table
from tests.support.specs import ROOT

CODE = ROOT / "docs" / "isa" / "gfx942.csv"
ARCHS = ("gfx90a", "gfx942", "gfx950")


def test_a_table_is_what_was_written(tmp_path: Path) -> None:
    rows = [Cycles("b", "00ff00ff00ff", 3, 512.5, 700.0), Cycles("a", "0123456789ab", 1, 64.0, 64.1)]
    table = CyclesTable("gfx942", "clang 19.1.7", {row.instance: row for row in rows})
    path = tmp_path / "gfx942.csv"
    path.write_text(table_text(table))
    assert read_cycles(path) == table
    assert [line.split(",")[0] for line in path.read_text().splitlines()[2:]] == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    ["", "# gfx942\n", "# gfx942, clang 19.1.7\ninstance,l2\n", f"# gfx942, clang 19.1.7\n{','.join(COLUMNS)}\na,b\n"],
)
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "gfx942.csv").write_text(text)
    with pytest.raises(CkgenError, match="not a table of simulated cycles"):
        read_cycles(tmp_path / "gfx942.csv")
    with pytest.raises(CkgenError, match="cannot read"):
        read_cycles(tmp_path / "gfx950.csv")


def test_other_code_makes_a_row_stale() -> None:
    code = read_table(CODE)
    name, row = next(iter(code.rows.items()))
    table = CyclesTable(code.arch, code.compiler, {name: Cycles(name, digest_of(row), 2, 100, 120)})
    assert stale(table, code) == [] and table.of_code(name, row) is not None
    changed = replace(code, rows={**code.rows, name: {**row, "main_valu": str(int(row["main_valu"]) + 1)}})
    assert stale(table, changed) == [f"{name}: simulated with other code"]
    assert table.of_code(name, changed.rows[name]) is None
    gone = replace(code, rows={other: cells for other, cells in code.rows.items() if other != name})
    assert stale(table, gone) == [f"-{name}: simulated, and not in the table"]


@pytest.mark.parametrize("arch", ARCHS)
def test_the_committed_cycles_are_of_the_committed_code(arch: str) -> None:
    code = load_table(ROOT / "docs" / "isa", arch)
    assert code is not None
    table = read_cycles(cycles_path(ROOT / "docs" / "isa" / f"{arch}.csv"))
    assert (table.arch, table.compiler) == (arch, code.compiler)
    assert stale(table, code) == []
    families = {name.split("_nhwg", 1)[0].split("_", 2)[-1] for name in table.rows}
    assert {
        "bwd_weight_wavelet",
        "bwd_weight_xdl",
        "bwd_weight_two_stage",
        "bwd_data_xdl",
        "bwd_data_wavelet",
    } <= families
    assert all(row.l2 > 0 and row.memory > 0 and row.workgroups > 0 for row in table.rows.values())

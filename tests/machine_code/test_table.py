"""The committed tables: writing and reading back, and differences by column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.errors import CkgenError
from ckgen.machine_code.analyse import CodeReport, LoopReport, Mix
from ckgen.machine_code.assembly import Resources
from ckgen.machine_code.table import (
    COLUMNS,
    Table,
    differences,
    load_table,
    load_tables,
    make_table,
    read_table,
    table_text,
)
from tests.support.specs import ROOT, default_expansion

HOT = Mix(16, 3, 0, 13, 8, 0, 0, 0, 4, 1, 0, 46, 128, 0, 0)
LOAD = Mix(0, 123, 4, 13, 0, 4, 8, 0, 8, 1, 6, 168, 0, 32, 32)
RESOURCES = Resources(88, 0, 68, 1, 2, 0, 32768, 64, 21992)


def report(name: str = "a", *, load: bool = True) -> CodeReport:
    """A report with made-up numbers, of a wavelet or of family xdl."""
    loops = [LoopReport("math" if load else "main", 1, HOT, HOT)]
    loops += [LoopReport("load", 1, LOAD, replace(LOAD, valu=176, total=317))] if load else []
    return CodeReport(name, "gfx942", RESOURCES, 4.0, tuple(loops))


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = make_table("gfx942", "clang 19.1.7", [report("b"), report("a", load=False)])
    (tmp_path / "gfx942.csv").write_text(table_text(table))
    assert load_table(tmp_path, "gfx942") == table
    assert load_tables(tmp_path, ("gfx90a", "gfx942")) == {"gfx942": table}
    assert [line.split(",")[0] for line in table_text(table).splitlines()[2:]] == ["a", "b"]
    row = table.rows["b"]
    assert (row["spills"], row["waves"], row["main_valu"], row["load_whole_valu"]) == ("3", "4", "3", "176")
    assert table.rows["a"]["load_tiles"] == ""


def test_differences_name_columns_and_rows() -> None:
    old = make_table("gfx942", "c", [report("a"), report("b"), report("c")])
    changed = replace(report("b"), resources=replace(RESOURCES, vgprs=96, agprs=8), waves=3.5)
    new = make_table("gfx942", "c", [report("a"), changed, report("d")])
    assert differences(old, new) == ["b: vgprs 88 -> 96, agprs 0 -> 8, waves 4 -> 3.5", "-c", "+d"]
    assert differences(old, old) == []


@pytest.mark.parametrize(
    "text", ["", "# gfx942, clang\ninstance,vgprs\n", "# gfx9, clang\n" + ",".join(COLUMNS) + "\n"]
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "gfx942.csv").write_text(text)
    with pytest.raises(CkgenError, match="is not a table of this ckgen"):
        load_table(tmp_path, "gfx942")
    with pytest.raises(CkgenError, match="cannot read"):
        read_table(tmp_path / "absent.csv")


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_the_committed_tables_hold_set_ci(arch: str) -> None:
    table = load_table(ROOT / "docs" / "isa", arch)
    expansion = default_expansion()
    archs = {instance.name: instance.archs for instance in expansion.instances}
    assert isinstance(table, Table) and table.compiler.startswith("clang ")
    assert set(table.rows) == {name for name in expansion.sets["ci"] if arch in archs[name]}

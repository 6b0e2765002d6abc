"""Test scripts/ck_rows.py on a small tree in the form of CK's lists."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = (
    "2, A, B, E, F16, F16, F16, F32, P, PassThrough, P, Spec, 64, 64, 64, 4, 8, 32, 32, 2, 2, S<1, 4, 8, 2>, S<0>, "
    "S<0>, 2, {a}, {dst}, true, S<1, 4, 8, 2>, S<0>, S<0>, 2, 2, 4, true, 1, 1, S<1, 16, 1, 4>, 2"
)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    return importlib.import_module("ck_rows")


def test_rows_are_compared_by_type_string(script: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / script.TABLES / "grouped_conv_bwd_weight"
    folder.mkdir(parents=True)
    name = "DeviceGroupedConvBwdWeight_Xdl_CShuffle"
    rows = [ROW.format(a=2, dst=4), ROW.format(a=2, dst=4) + ", I8, F8", ROW.format(a=32, dst=1)]
    listed = ",\n".join(f"{name}<{row}>" for row in rows)
    (folder / "lists.hpp").write_text(
        f"using one = std::tuple< // {name}<1>\n{listed}>;\nusing two = std::tuple<DeviceOther<1>, DeviceOther<2>>;\n"
    )
    ours = script.strings_of_full()
    first, second = [script.compare(table, ours) for table in script.tables_of(tmp_path)]
    assert (first.table.name, first.table.kind, first.rows, first.same) == ("one", name, 6, 2)
    assert first.reasons["foreign-dtype: computes in I8/F8"] == 2
    assert sum(count for reason, count in first.reasons.items() if reason.startswith("vector-width")) == 2
    assert (second.rows, second.same, dict(second.reasons)) == (4, 0, {"ck-class: no family has this class": 4})
    text = script.page([first, second], "0123456789abcdef")
    assert "0123456789ab]" in text and "Of 6 rows in tables of classes that ckgen has, 2 have the same string." in text


def test_the_page_says_how_many_rows_are_equal() -> None:
    text = (ROOT / "docs/ck_rows.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `[^|]*` \| `(\w+)` \| (\d+) \| (\d+) \| (.*) \|$", text, re.MULTILINE)
    known = [(int(row[1]), int(row[2]), row[3]) for row in rows if "ck-class" not in row[3]]
    assert len(known) == 34 and all(same == count or why != "-" for count, same, why in known)
    assert f"Of {sum(row[0] for row in known)} rows" in text and sum(row[1] for row in known) == 989

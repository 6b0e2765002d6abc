"""The page of CK's kernels beside ckgen's: its numbers follow from the records that it is given."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.host_library import ROOT

CK, OTHER = 900.0, 600.0


def source(cycles: float, waits: str) -> dict[str, Any]:
    role = {"role": "main", "waves": 4, "issuing": 100.0, "stalls": {waits: 50.0}}
    role["kinds"] = {
        "matrix": 16.0,
        "vector": 48.0,
        "scalar": 8.0,
        "lds": 16.0,
        "load": 4.0,
        "wait": 4.0,
        "barrier": 2.0,
    }
    return {"cycles_per_tile": cycles, "cycles_per_step": 3 * cycles, "workgroups": 3, "roles": [role]}


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The scripts' modules."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import ck_beside_page
    import ck_beside_rows

    return ck_beside_page, ck_beside_rows


def made(rows: Any, row: Any, cycles: float, **more: Any) -> Any:
    sources = {name: source(cycles, "LDS") for name in ("L2", "memory")}
    found = rows.Found(row.name, "gfx942", "Device<1>", {"a problem": 0.5}, {"vgprs": 131, "lds_bytes": 17408})
    found.workgroups, found.bound, found.sources = 3, 512, sources
    for name, value in more.items():
        setattr(found, name, value)
    return found


def records(rows: Any, cycles: float) -> dict[str, Any]:
    names = [*(row.ours for row in rows.ROWS), *rows.MORE]
    resources = {"vgprs": 104, "lds_bytes": 16384}
    return {
        name: {
            "name": name,
            "resources": resources,
            "results": {"L2": source(cycles, "matrix unit busy"), "memory": source(2 * cycles, "loads")},
        }
        for name in names
    }


def test_cycles_are_scaled_and_ratios_averaged(parts: Any) -> None:
    page, rows = parts
    wide = next(row for row in rows.ROWS if row.tile == (256, 128, 32))
    found = [made(rows, rows.ROWS[0], CK), made(rows, wide, CK)]
    text = page.page(rows.ROWS, found, {"gfx942": records(rows, OTHER)}, rows.MORE, "clang 1.2.3")
    lines = [line for line in text.splitlines() if line.startswith(f"| {rows.ROWS[0].name} | 512")]
    # The best of ckgen is one of twice the tile in as many cycles.
    assert [line.split(" | ")[1:9] for line in lines] == [
        ["512", "900", "600", "1.50", "900", "1200", "0.75", "300, 128x256x32 |"]
    ]
    assert f"| {wide.name} | 256 | 450 | 300 | 1.50 |" in text
    assert "Geometric mean of 2 ratios, of rows with the same flags and tile: 1.50 (L2), 0.75 (memory)." in text
    assert "| CK | 3 | 3.00 | 0.50 | 1.00 | 0.25 | 0.25, 0.12 | 131, 17408 |" in text
    assert "| ckgen | 3 | 3.00 | 0.50 | 1.00 | 0.25 | 0.25, 0.12 | 104, 16384 |" in text
    # 450 of the wide tile is CK's best; ckgen's best is the widest of its tiles, which the records give one time.
    classes = [line for line in text.splitlines() if line.startswith("| gfx942 | bwd_weight | 3x3 |")]
    assert classes == [
        "| gfx942 | bwd_weight | 3x3 | 450, 256x128x32 4 waves | 300, 128x256x32 | 1.50"
        " | 450, 256x128x32 4 waves | 600, 128x256x32 | 0.75 |"
    ]
    assert "| geometric mean |  |  |  |  | 1.50 |  |  | 0.75 |" in text
    losses = text.partition("## Where ckgen loses, or gains less than 5 %")[2]
    assert f"- gfx942, {rows.ROWS[0].name}, inputs from memory: 1200 cycles, CK 900." in losses
    assert "(4 main: loads 50)" in losses and "inputs from L2" not in losses
    assert "`Device<1>` | a problem: 0.50 |" in text


def test_turned_workgroups_count_if_they_are_faster(parts: Any) -> None:
    page, rows = parts
    row = rows.ROWS[0]
    faster = {name: source(700.0, "LDS") for name in ("L2", "memory")}
    text = page.page(rows.ROWS, [made(rows, row, CK, turned=faster)], {"gfx942": records(rows, OTHER)}, (), "clang")
    assert f"| {row.name} | 512 | 700 (900) | 600 | 1.17 |" in text
    assert "ckgen loses\n\n\nIn none of the rows." not in text  # from memory it does


def test_what_failed_is_told_and_not_compared(parts: Any) -> None:
    page, rows = parts
    found = [made(rows, rows.ROWS[0], CK), rows.Found(rows.ROWS[1].name, "gfx942", failed="it does not compile")]
    text = page.page(rows.ROWS, found, {"gfx942": records(rows, OTHER)}, rows.MORE, "clang")
    assert f"- gfx942 {rows.ROWS[1].name}: it does not compile" in text
    assert text.count(rows.ROWS[1].name) == 1


def test_every_row_has_a_name_of_its_own_and_an_instance_of_ckgen(parts: Any) -> None:
    from ckgen.cli.common.selection import load

    _, rows = parts
    names = {instance.name for instance in load(ROOT / "instances.yaml").expansion.instances}
    assert len({row.name for row in rows.ROWS}) == len(rows.ROWS)
    assert {row.ours for row in rows.ROWS} | set(rows.MORE) <= names

"""LDS bank conflicts: none in the main loop of any instance, and the count finds planted ones."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.cost import bank_conflicts, bank_conflicts_halo
from ckgen.cost.bank_conflicts import LDS, Access, accesses_of, conflicts_of, in_rows
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.instance.instance import Instance
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from tests.support.cxx import compile_with
from tests.support.specs import ROOT, default_expansion, instances_of

WIDEST_EPILOGUE_READ = 8  # columns that lie in one bank and are read side by side


def shapes() -> Iterator[Instance]:
    """Every instance of the repository's spec once but for what its LDS does not depend on."""
    seen = set()
    for instance in default_expansion().instances:
        layout = "NHWGK/GKYXC/NHWGC" if instance.a_rows else "NHWGC/GKYXC/NHWGK"
        shape = replace(instance, layout=layout, conv_spec="Default", generic=False, function="PassThrough")
        if not instance.uses_tma and shape not in seen:
            seen.add(shape)
            yield instance


@pytest.mark.parametrize("arch", LDS)
def test_no_instance_has_a_conflict_in_its_main_loop(arch: str) -> None:
    found = {instance.name: conflicts_of(instance, arch) for instance in shapes()}
    assert len(found) > 50
    for name, conflicts in found.items():
        assert [item.what for item in conflicts][:4] == ["write A", "write B", "read A", "read B"]
        for item in conflicts:
            if item.what == "epilogue read":
                assert item.cycles <= WIDEST_EPILOGUE_READ * (item.cycles - item.extra), f"{name}: {item}"
            else:
                assert item.extra == 0, f"{name}: {item}"


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_wave_reads_and_writes_the_whole_tile_once(arch: str) -> None:
    """Every byte of both operands is written once, and read by every wave that needs its row or column."""
    for instance in shapes():
        written = [0] * 2
        for access in accesses_of(instance, arch):
            if access.what in ("write A", "write B"):
                written[access.what == "write B"] += access.size * len(set(access.bytes_of_lanes))
        tile = instance.k_per_block * instance.elem_bytes
        assert written == [instance.m_per_block * tile, instance.n_per_block * tile], instance.name


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_a_layout_without_the_deal_of_columns_conflicts(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots in the order of columns: neighbouring threads write whole pieces apart and meet in the same banks."""
    instance = next(instance for instance in shapes() if instance.a_vector == 8)
    monkeypatch.setattr(bank_conflicts, "slot_of_column", lambda column, columns, vector: column)
    writes = next(item for item in conflicts_of(instance, arch) if item.what == "write A")
    assert writes.extra >= writes.cycles // 2


def test_rows_that_are_not_moved_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of 256 bytes at the same banks: the four of a transposing read meet."""
    instance = next(
        instance
        for instance in shapes()
        if instance.m_per_block == 128 and instance.a_vector == 8 and not instance.a_rows
    )
    monkeypatch.setattr(
        bank_conflicts, "byte_in_rows", lambda row, column, columns, pad: row * columns * 2 + column * 2
    )
    reads = next(item for item in conflicts_of(instance, "gfx950") if item.what == "read A")
    assert reads.extra == 3 * (reads.cycles - reads.extra)


# With wgmma no lane reads what it multiplies.
HALO = [i for i in instances_of(BWD_WEIGHT) if i.family == "halo" and i.m_per_xdl == 16]
HALO_DATA = [i for i in instances_of(BWD_DATA) if i.family == "halo" and i.function == PASS_THROUGH]


def test_halo_has_no_conflict_but_where_a_line_of_products_ends() -> None:
    assert len(HALO) == 9
    for instance in HALO:
        found = {item.what: item for item in bank_conflicts_halo.halo_conflicts(instance)}
        assert list(found) == ["read A", "read B", "epilogue write", "epilogue read"]
        last = found.pop("epilogue read")
        assert last.extra <= (last.cycles - last.extra) // 2, f"{instance.name}: {last}"
        assert all(item.extra == 0 for item in found.values()), f"{instance.name}: {found}"


def test_halo_without_the_swizzle_or_the_longer_lines_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of 128 bytes begin at one bank: eight of a matrix meet."""
    instance = next(instance for instance in HALO if instance.n_per_block == 32)
    monkeypatch.setattr(bank_conflicts_halo, "swizzled", lambda slot, line: slot)
    monkeypatch.setattr(bank_conflicts_halo, "_line_pitch", lambda instance: 9 * instance.n_per_block)
    found = {item.what: item for item in bank_conflicts_halo.halo_conflicts(instance)}
    for what in ("read A", "read B"):
        assert found[what].cycles == 8 * (found[what].cycles - found[what].extra)
    assert found["epilogue write"].extra == 3 * (found["epilogue write"].cycles - found["epilogue write"].extra)


def test_halo_reads_all_channels_of_all_positions() -> None:
    """Every 16-byte piece of the input's and the output's positions is read by the warps that multiply it."""
    for instance in HALO:
        reads: dict[str, set[int]] = {"read A": set(), "read B": set()}
        for access in bank_conflicts_halo.halo_accesses(instance):
            if access.what in reads:
                reads[access.what] |= set(access.bytes_of_lanes)
        assert {b for b in reads["read A"] if 7 <= b // 128 < instance.k_per_block} == set(
            range(7 * 128, instance.k_per_block * 128, 16)
        )
        assert reads["read B"] == {
            line * instance.out_pitch + 16 * piece
            for line in range(instance.k_per_block)
            for piece in range(instance.out_pitch // 16)
        }


def test_halo_of_backward_data_has_no_conflict_and_reads_all_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(HALO_DATA) == 6
    for instance in HALO_DATA:
        found = bank_conflicts_halo.halo_conflicts(instance)
        assert [item.what for item in found] == ["read A", "read B"] and all(item.extra == 0 for item in found)
        read = {
            b
            for access in bank_conflicts_halo.halo_accesses(instance)
            if access.what == "read A"
            for b in access.bytes_of_lanes
        }
        assert {b for b in read if 7 <= b // 128 < 16} == set(range(7 * 128, 16 * 128, 16))
    monkeypatch.setattr(bank_conflicts_halo, "swizzled", lambda slot, line: slot)
    assert bank_conflicts_halo.halo_conflicts(HALO_DATA[0])[0].extra > 0


@pytest.mark.parametrize(("arch", "beside", "apart"), [("gfx942", 20, 4), ("gfx90a", 21, 7), ("gfx950", 12, 28)])
def test_phases_are_those_of_the_architecture(arch: str, beside: int, apart: int) -> None:
    """All lanes but 0 and another want one word. Where both are in one phase, one phase takes longer, else two."""

    def extra(lane: int) -> int:
        lanes = [0] * 64
        lanes[0] = lanes[lane] = 4096
        used, least = bank_conflicts._cycles(Access("", False, 16, tuple(lanes)), LDS[arch])
        return used - least

    assert (extra(beside), extra(apart)) == (1, 2)


PROGRAM = """
#include "ckgen/block/direct_copy.hpp"
#include "ckgen/block/tile_copy.hpp"
#include <cstdio>
template <class Layout, int K, int Row, int Slices, int Threads>
void show_slots() {
    using Copy = ckgen::block::TileCopy<ckgen::uint16, Layout, K, Row, Slices, Threads>;
    for(int slice = 0; slice < Slices; ++slice)
        for(int column = 0; column < Layout::vector; ++column)
            for(int thread = 0; thread < Threads; ++thread)
                std::printf("%d ", Copy::lds_byte(thread, slice) + column * Layout::group_threads * Layout::slot_bytes);
    std::puts("");
}
template <class Layout, int K, int Row, int Slices, int Threads>
void show_rows() {
    using Copy = ckgen::block::RowCopy<ckgen::uint16, Layout, K, Row * Slices, Threads>;
    for(int slice = 0; slice < Row * Slices; ++slice)
        for(int thread = 0; thread < Threads; ++thread)
            std::printf("%d ", Copy::lds_byte(thread, slice));
    std::puts("");
}
// Where a wave's 16 bytes a lane go, if they are the columns that belong there.
template <class Layout, int K, int Row, int Slices, int Threads>
void show_direct() {
    using Copy = ckgen::block::DirectCopy<ckgen::uint16, Layout, K, Row * Slices, Threads>;
    for(int slice = 0; slice < Row * Slices; ++slice)
        for(int thread = 0; thread < Threads; ++thread) {
            const int row = Copy::row_of(thread, slice);
            const int byte = Layout::byte_of(row / Layout::k1, row % Layout::k1, Copy::column_of(thread));
            const int first = Copy::place(0, thread / 64 * 64).first + slice * Copy::slice_bytes;
            std::printf("%d ", byte == first + thread % 64 * 16 && byte == Copy::lds_byte(thread, slice) ? byte : -1);
        }
    std::puts("");
}
int main() {
"""


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_layout_is_that_of_the_headers(arch: str, tmp_path: Path) -> None:
    """The same bytes as block/tile_copy.hpp and row_copy.hpp give, for every 16-bit shape."""
    chosen = [instance for instance in shapes() if instance.elem_bytes == 2]
    lines, expected = [], []
    for i in chosen:
        for name, n, vector, dst, slices, pad in (
            ("A", i.m_per_block, i.a_vector, i.a_dst_vector, i.a_slices, i.a_pad),
            ("B", i.n_per_block, i.b_vector, i.b_dst_vector, i.b_slices, i.b_pad),
        ):
            if name == "A" and i.a_rows:
                continue
            show, layout = ("rows", "LdsRows") if in_rows(i, name, arch) else ("slots", "LdsLayout")
            if i.archs == ("gfx950",) and arch == "gfx950":
                show = "direct"
            layout = f"ckgen::block::{layout}<{n}, {i.k1}, {vector}, {pad}>"
            lines.append(f"    show_{show}<{layout}, {i.k_per_block}, {dst}, {slices}, {i.copy_threads}>();\n")
            expected.append([a.bytes_of_lanes for a in accesses_of(i, arch) if a.what == f"write {name}"])
    (tmp_path / "ckgen").mkdir()
    (tmp_path / "ckgen/config.h").write_text("#define CKGEN_PLATFORM_HOST 1\n")
    (tmp_path / "k.cpp").write_text(PROGRAM + "".join(lines) + "}\n")
    compile_with(tmp_path, ["-I", str(tmp_path), "-I", str(ROOT / "templates/include"), "k.cpp", "-o", "k"])
    shown = subprocess.run([tmp_path / "k"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(shown) == len(expected)
    assert any("direct" in line for line in lines) == (arch == "gfx950")
    for line, accesses in zip(shown, expected, strict=True):
        assert sorted(map(int, line.split())) == sorted(byte for access in accesses for byte in access)

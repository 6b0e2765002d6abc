"""The times of the cycle model: complete, with a source each, and the same facts as the other tables."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

import pytest

from ckgen.hardware import timing
from ckgen.hardware.archs import ATOMS
from ckgen.hardware.compute_units import UNITS
from ckgen.hardware.lds_banks import BANKS, bank_cycles
from ckgen.hardware.timing import TIMINGS, Timing, blocks_vector, matrix_cycles
from ckgen.machine_code.emulator.decode import FAMILIES
from tests.support.cxx import ROOT

HEADER = ROOT / "templates/include/ckgen/platform/host_bank_conflicts.hpp"


def test_every_architecture_that_the_emulator_runs_has_a_row() -> None:
    assert set(TIMINGS) == set(BANKS) == set(FAMILIES) <= set(UNITS)


def test_every_number_says_where_it_comes_from() -> None:
    """One comment per number, with a source of the legend, a title or the reason of an assumption."""
    source = inspect.getsource(timing)
    rows = re.findall(r"\n        Timing\(\n(.*?)\n        \),", source, re.DOTALL)
    assert len(rows) == len(TIMINGS)
    known = r"mt4g|calculator|profiler|LLVM|GCN|RDNA|rates|white paper|chipsandcheese\.com|product page|as above"
    for row in rows:
        lines = row.splitlines()[1:]
        assert len(lines) == len(fields(Timing)) - 1
        for line in lines:
            _, _, comment = line.partition("  # ")
            assert re.search(known, comment) or re.match(r"assumed[:,] ?.{8,}", comment), line


def test_cycles_of_matrix_instructions_are_those_of_the_atoms() -> None:
    for atom in (atom for atom in ATOMS.values() if atom.arch in TIMINGS):
        assert matrix_cycles(atom.arch, atom.instruction.upper()) == atom.cycles, atom
    # The decoder's names of gfx90a's instructions with the suffix 1k lack it.
    assert matrix_cycles("gfx90a", "V_MFMA_F32_32X32X8_BF16") == 64
    assert matrix_cycles("gfx1100", "V_WMMA_F32_16X16X16_F16") == 32
    assert matrix_cycles("gfx1201", "V_WMMA_F32_16X16X16_F16") == 16


@pytest.mark.parametrize(
    ("arch", "name", "blocks"),
    [
        ("gfx90a", "V_MFMA_F32_32X32X2F32", False),
        ("gfx942", "V_MFMA_F32_32X32X2_F32", True),
        ("gfx942", "V_MFMA_F32_32X32X8_F16", False),
        ("gfx1100", "V_WMMA_F32_16X16X16_F16", True),
    ],
)
def test_which_matrix_instructions_block_the_vector_unit(arch: str, name: str, blocks: bool) -> None:
    assert blocks_vector(arch, name) is blocks


def test_banks_are_those_of_the_host_platform() -> None:
    rows = re.findall(r'\{"(gfx\w+)", (\d+), \{([\d, ]+)\}\}', HEADER.read_text())
    assert len(rows) == 3
    for arch, banks, phases in rows:
        assert BANKS[arch].read_banks == int(banks)
        assert BANKS[arch].wide_read_phase == tuple(map(int, phases.split(",")))


@pytest.mark.parametrize(
    ("offsets", "size", "write", "used", "least"),
    [
        ([4 * lane for lane in range(64)], 4, False, 2, 2),
        ([16 * lane for lane in range(64)], 16, False, 8, 8),
        ([16 * lane for lane in range(64)], 16, True, 8, 8),
        ([0] * 64, 4, False, 2, 2),  # one word for all
        ([128 * lane for lane in range(64)], 4, False, 64, 2),
        ([128 * lane if lane < 4 else -1 for lane in range(64)], 4, False, 4, 1),
    ],
)
def test_cycles_of_banks(offsets: list[int], size: int, write: bool, used: int, least: int) -> None:
    assert bank_cycles("gfx942", offsets, size, write=write) == (used, least)


@pytest.mark.parametrize(("arch", "beside", "apart"), [("gfx942", 20, 4), ("gfx90a", 21, 7), ("gfx950", 12, 28)])
def test_phases_of_wide_reads(arch: str, beside: int, apart: int) -> None:
    """All lanes but 0 and another read one word. If both are in one phase, one phase takes longer, else two."""
    for other, more in ((beside, 1), (apart, 2)):
        lanes = [0] * 64
        lanes[0] = lanes[other] = 4096
        used, least = bank_cycles(arch, lanes, 16, write=False)
        assert used - least == more

"""Run the machine code of ckgen_transpose on the emulator: races, addresses and values on AMD architectures."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckgen.build.cmake import compile_device_only
from ckgen.machine_code.emulator.code_object import CodeObject
from ckgen.machine_code.emulator.launch import Emulator, Memory, Schedule

pytestmark = pytest.mark.compiles
ROOT = Path(__file__).resolve().parents[2]
TILE_ROWS, TILE_COLUMNS, THREADS = 64, 48, 256
# Images, rows, columns: full tiles, rows that begin anywhere, fewer elements than a vector, and vectors of four rows.
SHAPES = ((1, 64, 96), (2, 70, 49), (3, 5, 3), (2, 76, 10))


def arguments(addresses: tuple[int, int], shape: tuple[int, int, int], size: int) -> bytes:
    """TransposeArgs (ckgen/load/transpose.hpp)."""
    _, rows, columns = shape
    vectors = TILE_COLUMNS * size // 16 + (columns * size % 16 != 0)
    shift = (vectors - 1).bit_length()
    by_vectors = (1 << 31 + shift) // vectors + 1, shift  # ckgen/conv/divider.hpp
    tiles = -(-rows // TILE_ROWS), -(-columns // TILE_COLUMNS)
    return struct.pack(
        "<QQqqqIIiiiiIi", *addresses, *shape, *tiles, TILE_ROWS, TILE_COLUMNS, vectors, vectors | 1, *by_vectors
    )


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_machine_code_moves_every_element(tmp_path: Path, arch: str) -> None:
    source = ROOT / "generated/src/kernels/transpose.cpp"
    made = compile_device_only(source, arch, tmp_path / "code.co", include=[ROOT / "generated/include"])
    code, emulator = CodeObject.read(made.path), Emulator(tmp_path / "handlers")
    kinds: tuple[Any, ...] = np.uint16, np.uint32
    for kind in kinds:
        prepared = emulator.prepare(code, f"ckgen_transpose_{8 * np.dtype(kind).itemsize}")
        for images, rows, columns in SHAPES:
            memory = Memory()
            source_array = np.random.default_rng(rows).integers(1, 1 << 16, (images, rows, columns)).astype(kind)
            target = np.zeros((images, columns, rows), kind)
            addresses = memory.add("source", source_array, writable=False), memory.add("target", target, writable=True)
            given = arguments(addresses, (images, rows, columns), np.dtype(kind).itemsize)
            blocks = images * -(-rows // TILE_ROWS) * -(-columns // TILE_COLUMNS)
            emulator.launch(prepared, arch, blocks, THREADS, given, memory, Schedule(False, 1))
            memory.need_written("target")
            assert (target == source_array.transpose(0, 2, 1)).all()

"""MFMA: D = A B + C of a wave, from the register maps of AMD's instruction set documents.

"AMD Instinct MI300 CDNA3 ISA", 7.1.4: A[i][k] and B[k][j] are in lane i + size * (k / k_per_lane), the inputs of a lane
in ascending k; D[i][j] is in lane j + size * (i / 4 % (64 / size)), register i % 4 + 4 * (i / 4 / (64 / size)). Only
instructions with one block are supported.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

_SHAPE = re.compile(r"V_MFMA_F32_(\d+)X(\d+)X(\d+)_?(F16|BF16|F32|XF32)(_1K)?$")
U32 = NDArray[np.uint32]
F32 = NDArray[np.float32]


def shape_of(name: str) -> tuple[int, int, str] | None:
    """Size, depth and input type of an emulated MFMA, None for other instructions."""
    match = _SHAPE.match(name)
    if match is None or match[1] != match[2] or match[4] == "XF32" or (match[1], match[3], match[4]) in _BLOCKS:
        return None
    return int(match[1]), int(match[3]), match[4]


_BLOCKS = {
    (size, k, kind)
    for size, kinds in (("32", {"1": "F32", "4": "F16"}), ("16", {"1": "F32", "4": "F16"}))
    for k, kind in kinds.items()
}  # their shortest depths compute several products at once
_BLOCKS |= {("32", "4", "BF16"), ("16", "4", "BF16"), ("32", "2", "BF16"), ("16", "2", "BF16")}


def _places(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The row of D in each [register][lane], and the column in each lane."""
    lane, register = np.meshgrid(np.arange(64), np.arange(size * size // 64))
    return register // 4 * 4 * (64 // size) + lane // size * 4 + register % 4, np.arange(64) % size


_PLACES = {size: _places(size) for size in (16, 32)}


def multiply(shape: tuple[int, int, str], a: U32, b: U32, c: U32) -> U32:
    """The registers of D, [register][lane], from those of A, B and C."""
    size, depth, kind = shape
    rows = _operand(a, size, depth, kind).astype(np.float64)
    columns = _operand(b, size, depth, kind).astype(np.float64)
    row, column = _PLACES[size]
    products = rows[row].transpose(2, 0, 1) * columns[column].T[:, None, :]
    sums = c.view(np.float32)
    for product in products:  # in the order of k, each sum rounded to f32
        sums = (sums + product).astype(np.float32)
    return sums.view(np.uint32)


def _operand(registers: U32, size: int, depth: int, kind: str) -> F32:
    """An operand as [row or column][k]."""
    per_lane = depth * size // 64
    if kind == "F32":
        values = registers.T.copy().view(np.float32)
    elif kind == "F16":
        values = registers.T.copy().view(np.float16).astype(np.float32)
    else:
        values = (registers.T.copy().view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    lanes = values[:, :per_lane].reshape(64 // size, size, per_lane)
    return lanes.transpose(1, 0, 2).reshape(size, depth)

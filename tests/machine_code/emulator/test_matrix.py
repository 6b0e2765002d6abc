"""Matrix instructions against the register maps that AMD publishes (its matrix instruction calculator), written here
from the other side: for each element of a matrix, the formula of its lane and register."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from ckgen.machine_code.emulator.launch import Emulator
from ckgen.machine_code.emulator.matrix import shape_of
from tests.machine_code.emulator.single import LANES, SOURCES, Case, Words, run_cases
from tests.machine_code.emulator.test_instructions import HANDLERS

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """An instruction: rows and columns (equal), depth, input type (of A and of B, if they differ), registers of an
    input and of the result, and its modifiers."""

    text: str
    size: int
    depth: int
    kind: str
    inputs: int
    results: int
    end: str = ""

    @property
    def kinds(self) -> tuple[str, str]:
        """The types of A and B."""
        a, _, b = self.kind.partition(" ")
        return a, b or a


_MFMA = "v[20:{last}], v[10:{a}], v[14:{b}], v[20:{last}]"
CASES = [
    ("gfx90a", Shape("v_mfma_f32_32x32x8f16", 32, 8, "f16", 2, 16)),
    ("gfx90a", Shape("v_mfma_f32_16x16x16f16", 16, 16, "f16", 2, 4)),
    ("gfx90a", Shape("v_mfma_f32_32x32x8bf16_1k", 32, 8, "bf16", 2, 16)),
    ("gfx90a", Shape("v_mfma_f32_16x16x16bf16_1k", 16, 16, "bf16", 2, 4)),
    ("gfx90a", Shape("v_mfma_f32_32x32x2f32", 32, 2, "f32", 1, 16)),
    ("gfx90a", Shape("v_mfma_f32_16x16x4f32", 16, 4, "f32", 1, 4)),
    ("gfx942", Shape("v_mfma_f32_32x32x8_f16", 32, 8, "f16", 2, 16)),
    ("gfx942", Shape("v_mfma_f32_16x16x16_f16", 16, 16, "f16", 2, 4)),
    ("gfx942", Shape("v_mfma_f32_32x32x8_bf16", 32, 8, "bf16", 2, 16)),
    ("gfx942", Shape("v_mfma_f32_32x32x2_f32", 32, 2, "f32", 1, 16)),
    ("gfx942", Shape("v_mfma_f32_16x16x16_bf16", 16, 16, "bf16", 2, 4)),
    ("gfx942", Shape("v_mfma_f32_16x16x4_f32", 16, 4, "f32", 1, 4)),
    ("gfx90a", Shape("v_mfma_i32_32x32x8i8", 32, 8, "i8", 1, 16)),
    ("gfx90a", Shape("v_mfma_i32_16x16x16i8", 16, 16, "i8", 1, 4)),
    ("gfx942", Shape("v_mfma_i32_32x32x16_i8", 32, 16, "i8", 2, 16)),
    ("gfx942", Shape("v_mfma_i32_16x16x32_i8", 16, 32, "i8", 2, 4)),
    ("gfx942", Shape("v_mfma_f32_32x32x4_xf32", 32, 4, "f32", 2, 16)),
    ("gfx942", Shape("v_mfma_f32_16x16x8_xf32", 16, 8, "f32", 2, 4)),
    *(
        (arch, Shape(f"v_mfma_f32_{size}x{size}x{depth}_{a}_{b}", size, depth, f"{a} {b}", 2, size * size // 64))
        for arch in ("gfx942", "gfx950")
        for size, depth in ((32, 16), (16, 32))
        for a, b in (("bf8", "fp8"), ("fp8", "bf8"))
    ),
    ("gfx950", Shape("v_mfma_i32_32x32x32_i8", 32, 32, "i8", 4, 16)),
    ("gfx950", Shape("v_mfma_i32_16x16x64_i8", 16, 64, "i8", 4, 4)),
    ("gfx950", Shape("v_mfma_f32_32x32x16_f16", 32, 16, "f16", 4, 16)),
    ("gfx950", Shape("v_mfma_f32_32x32x16_bf16", 32, 16, "bf16", 4, 16)),
    ("gfx950", Shape("v_mfma_f32_32x32x2_f32", 32, 2, "f32", 1, 16)),
    ("gfx950", Shape("v_mfma_f32_16x16x32_bf16", 16, 32, "bf16", 4, 4)),
    ("gfx950", Shape("v_mfma_f32_16x16x32_f16", 16, 32, "f16", 4, 4)),
    ("gfx950", Shape("v_mfma_f32_16x16x4_f32", 16, 4, "f32", 1, 4)),
    ("gfx1201", Shape("v_wmma_f32_16x16x16_f16", 16, 16, "f16", 4, 8)),
    ("gfx1201", Shape("v_wmma_f32_16x16x16_bf16", 16, 16, "bf16", 4, 8)),
    ("gfx1201", Shape("v_wmma_f32_16x16x16_bf8_fp8", 16, 16, "bf8 fp8", 2, 8)),
    ("gfx1201", Shape("v_wmma_i32_16x16x16_iu8", 16, 16, "i8", 2, 8, "neg_lo:[1,1,0]")),
    ("gfx1100", Shape("v_wmma_i32_16x16x16_iu8", 16, 16, "i8", 4, 8, "neg_lo:[1,1,0]")),
]
# The 8-bit types of the architectures: gfx942's have a bias larger by one.
BYTES = {
    "bf8": {"gfx942": ml_dtypes.float8_e5m2fnuz, "": ml_dtypes.float8_e5m2},
    "fp8": {"gfx942": ml_dtypes.float8_e4m3fnuz, "": ml_dtypes.float8_e4m3fn},
}
# gfx11 takes 8 registers per input, more than the harness loads: its result has the rows 0, 2, 4, ... in the low lanes.
GFX11 = (
    Shape("v_wmma_f32_16x16x16_f16", 16, 16, "f16", 8, 8),
    Shape("v_wmma_f32_16x16x16_bf16", 16, 16, "bf16", 8, 8),
)


def input_place(arch: str, shape: Shape, row: int, k: int) -> tuple[int, int]:
    """The lane and the place among its inputs of A[row][k], and of B[k][row]."""
    if arch == "gfx1100":
        return row, k  # lanes 16 to 31 repeat lanes 0 to 15
    groups = LANES[arch] // shape.size
    if arch == "gfx1201":
        return row + 16 * (k // 4 % 2), k % 4 + 4 * (k // 8)
    per_lane = shape.depth // groups
    return row + shape.size * (k // per_lane), k % per_lane


def result_place(arch: str, shape: Shape, row: int, column: int) -> tuple[int, int]:
    """The lane and register of D[row][column]."""
    if arch == "gfx1100":
        return column + 16 * (row % 2), row // 2
    if arch == "gfx1201":
        return column + 16 * (row // 8), row % 8
    if shape.size == 32:
        return column + 32 * (row // 4 % 2), row % 4 + 4 * (row // 8)
    return column + 16 * (row // 4), row % 4


def encoded(values: Matrix, kind: str, arch: str = "") -> NDArray[np.uint8]:
    """Whole numbers as bytes of a type, in a last axis."""
    if kind in BYTES:
        dtype = BYTES[kind].get(arch, BYTES[kind][""])
        return np.ascontiguousarray(values.astype(np.float32).astype(dtype)).view(np.uint8)[..., None]
    if kind == "i8":
        return values.astype(np.int8).view(np.uint8)[..., None]
    if kind == "bf16":
        high = np.ascontiguousarray(values.astype(np.float32)).view(np.uint32) >> 16
        return np.ascontiguousarray(high.astype(np.uint16))[..., None].view(np.uint8)
    dtype = np.float16 if kind == "f16" else np.float32
    return np.ascontiguousarray(values.astype(dtype))[..., None].view(np.uint8)


def registers(arch: str, shape: Shape, a: Matrix, b: Matrix) -> Words:
    """The sources v10 to v17 of all lanes: A from v10 on, B from v14 on."""
    out = np.zeros((LANES[arch], SOURCES * 4), np.uint8)
    for operand, matrix, kind in ((0, a, shape.kinds[0]), (16, b.T, shape.kinds[1])):
        data = encoded(matrix, kind, arch)
        width = data.shape[-1]
        for row in range(shape.size):
            for k in range(shape.depth):
                lane, at = input_place(arch, shape, row, k)
                copies = (lane, lane + 16) if arch == "gfx1100" else (lane,)
                for copy in copies:
                    out[copy, operand + at * width : operand + (at + 1) * width] = data[row, k]
    return np.ascontiguousarray(out).view(np.uint32)


@pytest.mark.compiles
@pytest.mark.parametrize(
    ("arch", "shape", "accumulators"),
    # RDNA has no accumulation registers.
    [(*case, False) for case in CASES] + [(*case, True) for case in CASES if case[1].text.startswith("v_mfma")],
    ids=lambda value: getattr(value, "text", str(value)),
)
def test_matrix_instructions_have_the_published_maps(
    arch: str, shape: Shape, accumulators: bool, tmp_path: Path
) -> None:
    chance = np.random.default_rng(shape.depth)
    a, b = (chance.integers(-8, 8, (shape.size, shape.depth)).astype(np.float64) for _ in range(2))
    b = b.T
    tail = shape.inputs - 1
    places = _MFMA.format(last=19 + shape.results, a=10 + tail, b=14 + tail)
    places = places.replace("v[10:10]", "v10").replace("v[14:14]", "v14")
    lines = [f"v_mov_b32 v{20 + k}, 0" for k in range(shape.results)]
    if accumulators:  # C and D are a40 and more, v20 and more are others
        lines = [f"v_accvgpr_write_b32 a{40 + k}, 0" for k in range(shape.results)]
        places = places.replace(f"v[20:{19 + shape.results}]", f"a[40:{39 + shape.results}]")
    lines.append(f"{shape.text} {places} {shape.end}")
    if accumulators:
        lines += ["s_nop 15", "s_nop 7", *(f"v_accvgpr_read_b32 v{20 + k}, a{40 + k}" for k in range(shape.results))]
    case = Case("\n\t".join(lines), shape.results)
    (found,) = run_cases(arch, [case], registers(arch, shape, a, b), tmp_path, Emulator(HANDLERS))
    values = found.view(np.int32 if shape.kind == "i8" else np.float32)
    wanted = a @ b
    for row in range(shape.size):
        for column in range(shape.size):
            lane, register = result_place(arch, shape, row, column)
            assert values[register, lane] == wanted[row, column]


@pytest.mark.compiles
@pytest.mark.parametrize("shape", GFX11, ids=lambda shape: shape.kind)
def test_wmma_of_gfx11_takes_each_row_twice(shape: Shape, tmp_path: Path) -> None:
    """A[row][k] = k + 1 in v10 to v17 of lanes row and row + 16; B is the same registers: D[i][j] is a sum of squares
    scaled by the row's and the column's factors."""
    factors = np.arange(16) % 3 + 1.0
    rows = factors[:, None] * (np.arange(16) % 5 + 1.0)
    words = np.ascontiguousarray(encoded(rows, shape.kind).reshape(16, 32)).view(np.uint32)
    zero = "\n\t".join(f"v_mov_b32 v{20 + k}, 0" for k in range(8))
    case = Case(f"{zero}\n\t{shape.text} v[20:27], v[10:17], v[10:17], v[20:27]", 8)
    (found,) = run_cases("gfx1100", [case], np.concatenate([words, words]), tmp_path, Emulator(HANDLERS))
    wanted = rows @ rows.T
    for row in range(16):
        for column in range(16):
            lane, register = result_place("gfx1100", shape, row, column)
            assert found.view(np.float32)[register, lane] == wanted[row, column]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("V_MFMA_F32_32X32X8_F16", (32, 32, 8, "F32", "F16")),
        ("V_MFMA_F32_32X32X16_BF16", (32, 32, 16, "F32", "BF16")),
        ("V_WMMA_F32_16X16X16_F16", (16, 16, 16, "F32", "F16")),
        ("V_MFMA_F32_32X32X4_2B_F16", None),
        ("V_MFMA_F32_32X32X1_2B_F32", None),
        ("V_MFMA_F64_16X16X4_F64", None),
        ("V_MFMA_F32_32X32X4_XF32", (32, 32, 4, "F32", "XF32")),
        ("V_MFMA_F32_16X16X32_BF8_FP8", (16, 16, 32, "F32", "BF8_FP8")),
    ],
)
def test_which_matrix_instructions_are_known(name: str, shape: tuple[int, int, int, str, str] | None) -> None:
    assert shape_of(name) == shape

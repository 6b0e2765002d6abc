"""Tests that a data type and a layout are one row each: a copy of ckgen gets rows that it does not have, generates the
generic instances, compiles them for the host and compares them with float64."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.specs import ROOT

LAYOUT_ROWS = """
        *_rows("GNCHW/GKCYX/GNKHW"),
        *_rows("GNKHW/GKCYX/GNCHW"),
"""
ELEMENT_ROW = """
        Element("q8", "u1", "f4", 4, 2.0**-9, "q8_t", "float8_e4m3fn", (10, 8), "fn"),
"""
DTYPE_ROW = """
        DType("q8", "q8", "q8", "q8", 1, by_pytorch=False),
"""
# OCP E4M3: 4 exponent bits with bias 7, no infinity; NaN has all other bits set.
ELEMENT_CPP = """
struct q8_t {
    uint8 bits;
};
CKGEN_HD float to_float(q8_t x) {
    const uint32 rest = x.bits & 0x7fu;
    const uint32 small = __builtin_bit_cast(uint32, static_cast<float>(rest) * 0x1p-9f);
    const uint32 size = rest == 0x7fu ? 0x7fc00000u : rest < 8u ? small : (rest << 20) + (120u << 23);
    return __builtin_bit_cast(float, size | (x.bits & 0x80u) << 24);
}
template <class T>
struct Convert;
template <>
struct Convert<q8_t> {
    static CKGEN_HD q8_t from(float x) {
        const uint32 bits = __builtin_bit_cast(uint32, x), size = bits & 0x7fffffffu;
        const float shifted = __builtin_bit_cast(float, size) + 0x1p14f;  // the spacing of f32 there is 2^-9
        const uint32 small = __builtin_bit_cast(uint32, shifted) - __builtin_bit_cast(uint32, 0x1p14f);
        const uint32 normal = (size - (120u << 23) + 0x7ffffu + ((size >> 20) & 1u)) >> 20;
        const uint32 code = size < (121u << 23) ? small : size > 0x43e80000u ? 0x7fu : normal;
        return q8_t{static_cast<uint8>(code | (bits >> 24 & 0x80u))};
    }
};
"""
PROBLEMS = """
channels: per_group
defaults: {stride: 1, dilation: 1, pad: 0}
problems:
  - {name: odd, groups: 2, batch: 3, out_channels: 5, in_channels: 3, filter: [2, 3], input: [6, 7], stride: 2, pad: 1}
  - {name: point, groups: 1, batch: 40, out_channels: 72, in_channels: 8, filter: [1, 1], input: [1, 1]}
  - {name: wide, groups: 1, batch: 2, out_channels: 70, in_channels: 65, filter: [3, 3], input: [5, 9], dilation: 2}
"""
SPEC = """
version: 1
defaults: {xdl: {block_size: 256, tile: 64x64, conv_spec: Default}}
groups:
"""


def insert(file: Path, before: str, text: str) -> None:
    """Put ``text`` in front of the line that begins with ``before``, which occurs once."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    [at] = [number for number, line in enumerate(lines) if line.lstrip().startswith(before)]
    file.write_text("".join([*lines[:at], text.lstrip("\n"), *lines[at:]]), encoding="utf-8")


def copy_of_ckgen(folder: Path) -> None:
    for name in ("ckgen", "templates"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))


def proof_of(folder: Path, groups: str) -> str:
    """Generates the groups with the copy of ckgen in ``folder`` and runs their instances on all problems."""
    (folder / "instances.yaml").write_text(SPEC + groups)
    (folder / "problems.yaml").write_text(PROBLEMS)
    for words in ("generate", "smoke --problems problems.yaml --split-k 1 --split-k 3 --all-pairs"):
        call = [sys.executable, "-m", "ckgen", *words.split()]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.compiles
@pytest.mark.sweep
def test_a_layout_is_a_row(tmp_path: Path) -> None:
    """Channels first with the groups outermost, and a weight whose channels come before the taps."""
    copy_of_ckgen(tmp_path)
    insert(tmp_path / "ckgen/conv/layout.py", '*_rows("NHWGK/GKYXC/NHWGC")', LAYOUT_ROWS)
    groups = """
  - {name: g, family: xdl, generic: true, layout: GNCHW/GKCYX/GNKHW, dtype: [f16, f32]}
  - {name: d, operation: grouped_conv_bwd_data, family: xdl, generic: true, layout: GNKHW/GKCYX/GNCHW, dtype: f16}
"""
    assert "3 instances, 3 problems, 18 runs: all ok" in proof_of(tmp_path, groups)


@pytest.mark.compiles
def test_a_data_type_of_eight_bits_is_a_row_and_a_type_in_cpp(tmp_path: Path) -> None:
    copy_of_ckgen(tmp_path)
    insert(tmp_path / "ckgen/conv/dtypes.py", 'Element("f32"', ELEMENT_ROW)
    insert(tmp_path / "ckgen/conv/dtypes.py", 'DType("f32"', DTYPE_ROW)
    insert(tmp_path / "templates/include/ckgen/types.hpp", "// N elements of T that move", ELEMENT_CPP)
    groups = """
  - {name: g, family: xdl, generic: true, layout: NHWGC/GKYXC/NHWGK, dtype: q8}
  - {name: d, operation: grouped_conv_bwd_data, family: xdl, generic: true, layout: NHWGK/GKYXC/NHWGC, dtype: q8}
"""
    assert "2 instances, 3 problems, 12 runs: all ok" in proof_of(tmp_path, groups)

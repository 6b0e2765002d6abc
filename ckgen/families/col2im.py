"""Family col2im: backward data of few input channels on Hopper; the taps of a filter row are columns of the product.

The epilogue adds the columns to elements of the input, which deep learning calls col2im. Taps of the other dimensions
belong to GEMM-K, as in family wavelet_tma. See templates/include/ckgen/conv/col2im.hpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ckgen.conv.problem import ConvProblem
from ckgen.families.bulk_copy import in_units
from ckgen.families.fields import Fields
from ckgen.families.formulas import Value
from ckgen.families.hopper import CORNERS, REASONS, SWIZZLE_BYTES, Hopper, derived
from ckgen.families.rule import Rule
from ckgen.families.rules.hopper import RULES
from ckgen.families.tile_cost import Code, Work
from ckgen.families.vectors import Shape
from ckgen.hardware.compute_units import Rates
from ckgen.operations.operation import BWD_DATA

PAD_FLOATS = 8  # after a row of the product in LDS: rows that a warp writes at once are in different banks
MOST_STRIDE = 16  # of the last dimension: places of a cell that a kernel's arguments describe
CELL_BYTES = 16  # image and position of a row of the product

COL2IM_RULES: tuple[Rule, ...] = (
    Rule(
        id="col2im-vectors",
        scope="domain",
        condition=(
            "a_vector * elem_bytes == 16 and b_vector * elem_bytes == 16 and (c_vector == 1 or c_vector == 4)"
            " and channels_last"
        ),
        sentence=(
            "A and B have units of 16 bytes, one or four channels of C are written at once, and the layout has the"
            " channels last"
        ),
        message="vectors {a_vector}x{b_vector}x{c_vector} with layout {layout}",
        help="use a `vector` with a c of 1 or 4, or leave it out, and a layout like NHWGK/GKYXC/NHWGC",
        reason="Few channels fill no vector. Threads add four channels that lie side by side in shared memory.",
        blame=("vector", "layout"),
    ),
    Rule(
        id="col2im-n",
        scope="tile",
        condition="n_per_block != 160",
        sentence="n_per_block is 64, 128, 192 or 256",
        message="n_per_block is {n_per_block}",
        help="use 64, 128, 192 or 256",
        reason="The weight's copy has whole boxes of 64 columns.",
        blame=("tile",),
    ),
    Rule(
        id="col2im-waves",
        scope="tile",
        condition="m_per_xdl == 64 and math_waves * 32 == m_per_block",
        sentence="a warpgroup has 64 rows of the tile",
        message="{math_waves} math waves and m_per_xdl {m_per_xdl} for m_per_block {m_per_block}",
        help="leave `wave_ratio` and `m_per_xdl` out",
        reason="All warpgroups add the columns of a tile together, so that none may take a tile of its own.",
        blame=("wave_ratio", "m_per_xdl", "tile"),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Col2im(Hopper):
    """The family col2im; it computes the product of another problem, whose channels are the columns."""

    sums_columns: bool = True
    rule_table: tuple[Rule, ...] = field(default=(*RULES, *COL2IM_RULES), repr=False)
    reasons: Mapping[str, str] = field(
        default_factory=lambda: {**REASONS, "vector": "by rule: 16 bytes of A and B, single elements of C"}, repr=False
    )

    def copied_units(self, instance: Fields) -> tuple[int, int]:
        """The weight is always copied, to rows of a tile's columns."""
        return super().copied_units(instance)[0], -1

    def takes(self, instance: Fields, problem: ConvProblem) -> bool:
        """As for wavelet_tma, with a filter row that fits the columns and reaches over few positions."""
        if problem.strides[-1] > MOST_STRIDE:
            return False
        reach = (problem.filter[-1] - 1) * problem.dilations[-1] // problem.strides[-1]
        fits = problem.filter[-1] * problem.c <= instance.n_per_block and reach <= instance.m_per_block // 2
        seen = self.counted(instance, problem)
        after = abs(seen.input[-1] - problem.output[-1])  # cells after the output's last position, or the reverse
        return fits and after <= CORNERS[problem.ndim - 1] and super().takes(instance, seen)

    def splits(self, instance: Fields) -> bool:
        return False

    def work(self, instance: Fields, problem: ConvProblem, split_k: int, code: Code, rates: Rates) -> Work:
        return super().work(instance, self.counted(instance, problem), 1, code, rates)


def _widths(shape: Shape) -> tuple[int, int, int]:
    return (*in_units(shape)[:2], 1)


_OWN = (
    Value("sums_pitch", "Floats in LDS from one row of the product to the next.", f"n_per_block + {PAD_FLOATS}"),
    Value(
        "lds_sums_bytes",
        "Bytes of LDS for the product of a tile and for the positions of its rows.",
        f"m_per_block * (sums_pitch * 4 + {CELL_BYTES})",
    ),
)
_BESIDE = Value(
    "lds_beside_stages",
    "Bytes of LDS that stages of bulk copies leave to others: what rounding up may take, and the product's.",
    f"{SWIZZLE_BYTES} + lds_sums_bytes",
)
COL2IM = Col2im(
    name="col2im",
    summary="Hopper's for few input channels: the taps of a filter row are columns",
    operations=(BWD_DATA,),
    own_sums=(BWD_DATA,),
    widths={BWD_DATA: _widths},
    derived=tuple(
        _BESIDE if value.name == "lds_beside_stages" else value
        for value in derived("0")
        if value.name != "lds_store_bytes"
    )
    + _OWN,
    struct="Col2im",
    header="tma",
)

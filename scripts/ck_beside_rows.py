"""The instances of CK that scripts/ck_beside.py compares, their problems, and what is known of each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ckgen.conv.problem import ConvProblem, make_problem

WEIGHT, DATA = "grouped_conv_bwd_weight", "grouped_conv_bwd_data"
DEFAULT, POINTWISE = "Default", "Filter1x1Stride1Pad0"
# CK's lists of f16 instances: the header below its folder of instances, and the list for a specialization.
LIBRARY = "ck/library/tensor_operation_instance/gpu"
_WEIGHT_LAYOUTS = "kNdim, ck_layout::NHWGC, ck_layout::GKYXC, ck_layout::NHWGK"
_DATA_LAYOUTS = "kNdim, ck_layout::NHWGK, ck_layout::GKYXC, ck::Tuple<>, ck_layout::NHWGC"
LISTS = {
    "xdl": (
        f"{WEIGHT}/device_{WEIGHT}_xdl_instance.hpp",
        f"device_{WEIGHT}_xdl_c_shuffle_f16_instances<{_WEIGHT_LAYOUTS}, ck_list::ConvBwdWeight{{0}}>",
    ),
    "two_stage": (
        f"{WEIGHT}/device_{WEIGHT}_two_stage_xdl_instance.hpp",
        f"device_{WEIGHT}_two_stage_xdl_c_shuffle_f16_instances<{_WEIGHT_LAYOUTS}, ck_list::ConvBwdWeight{{0}},"
        " ck::BlockGemmPipelineScheduler::Intrawave, ck::BlockGemmPipelineVersion::v2>",
    ),
    "data": (
        f"{DATA}/device_{DATA}_xdl_instance.hpp",
        f"device_{DATA}_xdl_f16_instances<{_DATA_LAYOUTS}, ck_list::ConvBwdData{{0}}>",
    ),
}


@dataclass(frozen=True)
class Row:
    """An instance of CK: its place in a list, its tile and waves, and the name of ckgen's instance with that tile."""

    kind: str
    special: str
    index: int
    tile: tuple[int, int, int]
    waves: int
    ours: str
    with_flags: bool = False

    @property
    def operation(self) -> str:
        return DATA if self.kind == "data" else WEIGHT

    @property
    def problems(self) -> tuple[ConvProblem, ...]:
        """The problems that it is checked on."""
        deeper = 8 if self.kind == "two_stage" else 1  # its pipeline needs a dozen steps
        return tuple(replace(problem, batch=deeper * problem.batch) for problem in PROBLEMS[self.special])

    @property
    def name(self) -> str:
        operation = self.operation.removeprefix("grouped_conv_")
        words = [operation, "1x1" if self.special == POINTWISE else "3x3", "x".join(map(str, self.tile))]
        words += [f"{self.waves} wave{'s' if self.waves > 1 else ''}"]
        words += ["two stages"] if self.kind == "two_stage" else []
        return " ".join(words) + (", CK's flags" if self.with_flags else "")


def _ours(operation: str, rest: str) -> str:
    layout = "nhwgk_gkyxc_nhwgc" if operation == DATA else "nhwgc_gkyxc_nhwgk"
    family, _, form = rest.partition(" ")
    return f"{operation.replace('conv', 'conv2d')}_{family}_{layout}_f16_{form}"


def _xdl(special: str, tile: str, waves: int) -> str:
    short = "default" if special == DEFAULT else "1x1s1p0"
    return f"xdl {short}_{tile}_w0x{waves}_xdl32_v8x8x8_s1"


def _row(kind: str, special: str, index: int, tile: str, waves: int, with_flags: bool = False) -> Row:
    m, n, k = map(int, tile.split("x"))
    operation = DATA if kind == "data" else WEIGHT
    return Row(kind, special, index, (m, n, k), waves, _ours(operation, _xdl(special, tile, waves)), with_flags)


ROWS = (
    _row("xdl", DEFAULT, 6, "128x128x32", 4),
    _row("xdl", POINTWISE, 6, "128x128x32", 4),
    _row("data", DEFAULT, 7, "128x128x32", 4),
    _row("data", POINTWISE, 7, "128x128x32", 4),
    _row("xdl", DEFAULT, 3, "256x128x32", 4),
    _row("data", DEFAULT, 10, "64x64x32", 1),
    _row("xdl", DEFAULT, 9, "64x64x32", 1),
    # The only one of its list that does not merge groups of one channel; ckgen's smallest tile is 16x64.
    Row("two_stage", DEFAULT, 0, (16, 16, 32), 1, _ours(WEIGHT, "two_stage default_16x64x32_w0x1_xdl16_v4x8x1_s1")),
    _row("xdl", DEFAULT, 4, "128x256x32", 4),
    _row("data", DEFAULT, 6, "128x128x32", 2),
    _row("xdl", DEFAULT, 5, "128x128x32", 2),
    _row("xdl", POINTWISE, 3, "256x128x32", 4),
    _row("xdl", DEFAULT, 7, "128x64x32", 2),
    _row("xdl", DEFAULT, 6, "128x128x32", 4, with_flags=True),
    _row("data", DEFAULT, 7, "128x128x32", 4, with_flags=True),
)
# Others of ckgen that may be the best for an operation.
MORE = (
    _ours(WEIGHT, "wavelet default_128x128x32_w4x4_xdl32_v4x4x2_s2"),
    _ours(DATA, "wavelet default_128x128x32_w4x4_xdl32_v8x4x8_s2"),
)
# Problems for the comparison with float64: edges that no tile divides, groups, strides, dilations, uneven pads.
PROBLEMS = {
    DEFAULT: (
        make_problem(groups=2, batch=2, k=72, c=40, filter=(3, 3), input=(7, 9), stride=2, pad=1),
        make_problem(groups=1, batch=3, k=136, c=16, filter=(3, 2), input=(11, 6), dilation=(2, 1), pad=1),
    ),
    # Without padding, which CK leaves out here, K and C must be multiples of the tile.
    POINTWISE: (make_problem(groups=2, batch=3, k=256, c=256, filter=(1, 1), input=(5, 7)),),
}


@dataclass
class Found:
    """The results of a row on an architecture. `checks`: problems with the largest error in units of the tolerance;
    `sources`: per source of the inputs, cycles per tile and the roles of waves, `turned` with turned workgroups."""

    row: str
    arch: str
    type: str = ""
    checks: dict[str, float] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)
    static: dict[str, Any] = field(default_factory=dict)
    workgroups: int = 0
    bound: float = 0
    sources: dict[str, Any] = field(default_factory=dict)
    turned: dict[str, Any] = field(default_factory=dict)
    failed: str = ""

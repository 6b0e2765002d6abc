"""Select instances and problems to run as machine code, and collect the table of results."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.cmake import compile_device_only
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance, parse
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from ckgen.verify.run_tensors import make_data
from tests.machine.code_object import CodeObject
from tests.machine.convolution import Machine, Outcome, Reducer
from tests.machine.engine import Engine, load_tinygrad
from tests.machine.memory import Fault

SPLIT_KS = (1, 2, 3)
# First mode: loads arrive at once, waves run in order. Second: loads arrive at their waits, waves in shuffled order.
MODES = ((False, 0), (True, 1))
SEED = 1


@dataclass(frozen=True)
class Result:
    """One instance on one architecture: its runs, the worst element of all, and the first fault's text.

    `code` is a digest of the instance's row in the table of machine code, empty if there is none.
    """

    arch: str
    compiler: str
    instance: str
    code: str
    runs: int
    wrong: int
    error: float
    tolerance: float
    instructions: int
    fault: str


# For backward data, one instance per path: an emulated instance takes minutes, and the loops are those of backward
# weight.
DATA_SAMPLE = (
    "grouped_conv2d_bwd_data_wavelet_nhwgk_gkyxc_nhwgc_f16_default_64x64x32_w4x4_xdl32_v8x2x8_s2",
    "grouped_conv2d_bwd_data_xdl_add_residual_nhwgk_gkyxc_nhwgc_f16_default_128x128x32_w0x4_xdl32_v8x8x8_s1",
    "grouped_conv2d_bwd_data_xdl_ngkhw_gkyxc_ngchw_f16_default_64x64x32_w0x4_xdl32_v1x1x1_s1_generic",
    "grouped_conv2d_bwd_data_xdl_nhwgk_gkyxc_nhwgc_bf16_1x1s1p0_128x128x32_w0x4_xdl32_v8x8x8_s1",
    "grouped_conv2d_bwd_data_xdl_nhwgk_gkyxc_nhwgc_f16_default_64x128x32_w0x4_xdl32_v1x8x8_s1",
    "grouped_conv3d_bwd_data_xdl_ndhwgk_gkzyxc_ndhwgc_f32_default_64x64x16_w0x4_xdl32_v1x1x1_s1_generic",
)


def in_table(instance: Instance) -> bool:
    """True if the committed table has a row for this instance of set `ci`."""
    return instance.operation != BWD_DATA or instance.name in DATA_SAMPLE


def problems_of(instance: Instance) -> tuple[ConvProblem, ...]:
    """Small problems for an instance: one with few positions and a tile that exceeds every edge, and one with many, so
    that its ring of LDS stages wraps around. Channels are multiples of its vectors and otherwise odd."""
    ndim = instance.ndim
    k, c = (step * (7 if step == 1 else 5 if step < 8 else 3) for step in _channel_steps(instance))
    if instance.pointwise:
        sizes = ((1,) * ndim, (5, 7, 3)[:ndim], 1, 1, 0)
        return tuple(make_problem(groups=2, batch=n, k=k, c=c, filter=sizes[0], input=sizes[1]) for n in (1, 5))
    few = make_problem(
        groups=2,
        batch=1,
        k=k,
        c=c,
        filter=(3, 2, 1)[:ndim],
        input=(6, 5, 3)[:ndim],
        stride=(2, 1, 1)[:ndim],
        dilation=(1, 2, 1)[:ndim],
        pad=(1, 0, 1)[:ndim],
        right_pad=(0, 2, 1)[:ndim],
    )
    many = make_problem(groups=1, batch=5, k=k, c=c, filter=(3,) * ndim, input=(9, 5, 4)[:ndim], pad=1)
    if instance.operation == BWD_DATA:  # three quarters of the positions have no tap
        sizes = ((1,) * ndim, (5, 4, 3)[:ndim])
        gaps = make_problem(groups=2, batch=1, k=k, c=c, filter=sizes[0], input=sizes[1], stride=2)
        return few, dataclasses.replace(many, batch=2), gaps
    if instance.groups_to_merge > 1:  # the last tile has half the groups of the others
        size = 3 if _channel_steps(instance) == (1, 1) else 4
        groups = instance.groups_to_merge * 3 // 2
        return few, many, dataclasses.replace(few, groups=groups, k=size, c=size)
    return few, many


def _channel_steps(instance: Instance) -> tuple[int, int]:
    """Divisors that K and C must have."""
    return instance.a_vector, max(instance.b_vector, instance.c_vector)


class Campaign:
    """Runner of the instances of one architecture. `folder` is for code objects, `tree` the library's sources."""

    def __init__(self, tinygrad: Path, library: Library, tree: Path, arch: str, compiler: str, folder: Path) -> None:
        self.library, self.tree, self.arch, self.compiler, self.folder = library, tree, arch, compiler, folder
        reducer = self.compile(tree / "src/kernels/reduce.cpp")
        engine = Engine(load_tinygrad(tinygrad), reducer.arch, reducer.is_gfx90a)
        self.machine = Machine(engine, library, Reducer.make(reducer, tree))

    def compile(self, source: Path) -> CodeObject:
        """The code object of one source."""
        target = self.folder / self.arch / f"{source.stem}.co"
        return CodeObject(compile_device_only(source, self.arch, target, include=[self.tree / "include"]).path)

    def code_of(self, name: str) -> CodeObject:
        """The code object of an instance."""
        return self.compile(next(self.tree.rglob(f"{name}.cpp")))

    def outcomes(
        self, name: str, problems: Sequence[ConvProblem] = (), split_ks: Sequence[int] = SPLIT_KS
    ) -> Iterator[Outcome]:
        """Each run of an instance: every problem, split-K factor and mode. A Fault ends it."""
        code = self.code_of(name)
        instance = parse(name)
        for problem in problems or problems_of(instance):
            data = make_data(problem, instance.dtype, SEED, instance.operation, self.library.function_of(name))
            for split_k in split_ks:
                for lazy, seed in MODES:
                    yield self.machine.run(code, name, problem, data, split_k, lazy=lazy, seed=seed)

    def result_of(self, name: str, code: str = "") -> Result:
        """All runs of an instance as one result."""
        found: list[Outcome] = []
        fault = ""
        try:
            found += self.outcomes(name)
        except (Fault, NotImplementedError) as error:
            fault = f"{type(error).__name__}: {error}"
        worst = max(found, key=lambda o: o.error / o.tolerance, default=Outcome(0.0, 0.0, 0, 0))
        wrong = sum(not outcome.ok for outcome in found) + bool(fault)
        done = sum(outcome.instructions for outcome in found)
        runs = len(found) + bool(fault)
        return Result(self.arch, self.compiler, name, code, runs, wrong, worst.error, worst.tolerance, done, fault)

"""Count LDS bank conflicts of instances while the host platform runs them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ckgen.conv.dtypes import element_of
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_WEIGHT
from tests.support.cxx import ROOT, link, write_tree

SHIM = ROOT / "tests/data/bank_conflicts/shim.cpp"
TRANSPOSING = "-DCKGEN_HOST_TRANSPOSING_LDS=1"  # the kernels as built for gfx950
Lanes = ctypes.c_int * 64


@dataclass(frozen=True, slots=True)
class Count:
    """The LDS accesses of one line of a kernel, `text`: their number, their cycles and the minimum of these."""

    file: str
    text: str
    writes: bool
    size: int
    accesses: int
    cycles: int
    least: int


class Counting:
    """A library whose instances' LDS accesses are counted."""

    def __init__(
        self,
        folder: Path,
        instances: Sequence[Instance],
        flags: Sequence[str] = (),
        plant: Callable[[Path], None] = lambda headers: None,
    ) -> None:
        tree = write_tree(folder, instances)
        self._headers = tree / "include/ckgen"
        plant(self._headers)
        _join_sources(tree)
        (tree / "src/bank_conflicts.cpp").write_text(SHIM.read_text(encoding="utf-8"), encoding="utf-8")
        path = link(folder, tree, flags)
        self.library = Library(path)
        self._api = ctypes.CDLL(str(path))
        self._api.bank_conflicts.restype = ctypes.c_char_p

    def run(self, name: str, problem: ConvProblem, arch: str) -> list[Count]:
        """Run an instance on zeros and count the LDS accesses of its waves by the rules of an architecture."""
        instance = self.library.instance(name)
        tensors = [
            np.zeros(problem.shape(tensor, instance.layout), element_of(instance.dtype, tensor).storage)
            for tensor in ("in", "wei", "out")
        ]
        self._api.count_bank_conflicts(arch.encode())
        self.library.run(name, problem, *tensors)
        return [self._count(*line.split()) for line in self._api.bank_conflicts().decode().splitlines()]

    def cycles(self, arch: str, offsets: Sequence[int], size: int, writes: bool) -> tuple[int, int]:
        """The cycles of one access of a wave, and their minimum."""
        used, least = ctypes.c_int(), ctypes.c_int()
        self._api.bank_cycles(arch.encode(), Lanes(*offsets), size, writes, ctypes.byref(used), ctypes.byref(least))
        return used.value, least.value

    def _count(self, file: str, *numbers: str) -> Count:
        line, writes, size, accesses, cycles, conflict_cycles = map(int, numbers)
        text = (self._headers / file).read_text(encoding="utf-8").splitlines()[line - 1].strip()
        return Count(file, text, bool(writes), size, accesses, cycles, cycles - conflict_cycles)


def _join_sources(tree: Path) -> None:
    """Merge the instances of each operation and family into one source: they compile five times as fast together."""
    for folder in tree.glob("src/grouped_conv_*/*"):
        if folder.name != "factory":
            sources = sorted(folder.glob("*.cpp"))
            text = "".join(source.read_text(encoding="utf-8") for source in sources)
            for source in sources:
                source.unlink()
            (folder / f"{folder.name}.cpp").write_text(text, encoding="utf-8")


def one_tile(instance: Instance) -> ConvProblem:
    """A problem with a 1x1 filter whose GEMM is one tile of an instance wide and high, and a few tiles deep."""
    depth, ones = 2 * instance.k_per_block, (1,) * instance.ndim
    edges = (*ones[1:], instance.m_per_block if instance.operation != BWD_WEIGHT else depth)
    rows = instance.m_per_block if instance.operation == BWD_WEIGHT else depth
    k, c = (instance.n_per_block, rows) if instance.exchange else (rows, instance.n_per_block)
    return make_problem(k=k, c=c, filter=ones, input=edges)

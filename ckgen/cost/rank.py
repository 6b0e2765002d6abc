"""Predict the time of instances on a problem with the cost model and rank them: for GPUs without measurements.

    unit    the busiest compute unit: its workgroups x tiles per workgroup x cycles per tile, one trip to memory per
            round of resident workgroups, and writing the results
    memory  the compulsory bytes of the problem, plus writing and reading the split-K partials, at full bandwidth
    seconds = max(unit, memory) + one start per kernel + copying the weight, where the main kernel reads a copy

Cycles per tile are the bound of ckgen.cost.model x the slowdown of the code: its simulated cycles with inputs in L2
(docs/isa/cycles, `ckgen isa --simulate`) / its bound; 1 without a simulation. The memory's bandwidth is a term of its
own, so that the simulation with inputs from memory would count it twice.

The cost of code comes from a committed table (docs/isa). For an instance that is missing there, the nearest one in
the table is used, scaled by the number of loads per thread; the terms that depend on the tile alone are exact in both
cases. Predictions leave out what the simulation leaves out; their purpose is to order instances.
docs/cost_model_h200.md compares those without a simulation with measured times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.cost.model import bound_of_row, groups_of_row, roles_of_row
from ckgen.families.counts import ceil_div, saturated
from ckgen.families.registry import FAMILIES
from ckgen.families.tile_cost import Code, RoleLoad
from ckgen.hardware.archs import NVIDIA_ARCHES
from ckgen.hardware.compute_units import RATES, UNITS, Rates
from ckgen.hardware.occupancy import workgroups_per_unit
from ckgen.instance.instance import Instance, parse
from ckgen.instance.work import copied_bytes
from ckgen.machine_code.cycles.table import CyclesTable, cycles_path, read_cycles
from ckgen.machine_code.table import Row, Table, read_table
from ckgen.operations.operation import OPERATIONS

SPLIT_KS = tuple(1 << i for i in range(11))  # 1024 workgroups fill every GPU where the result is one tile
KERNEL_START_S = 3e-6  # start of an empty kernel; the order of magnitude on every GPU and driver
PARTIAL_BYTES = 4
NVIDIA_THREADS = 2048  # per multiprocessor, with 65536 registers: CUDA programming guide, compute capabilities
NVIDIA_REGISTERS = 65536
WARP_ATOM_MACS = 16 * 8 * 16


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds of an instance with a split-K factor on a problem, the parts of the busiest unit and of memory, and the
    resource that limits the main loop."""

    instance: Instance
    split_k: int
    seconds: float
    unit_seconds: float
    memory_seconds: float
    limiter: str


class CodeBook:
    """The code of any instance on one architecture, from its committed table. NVIDIA uses an AMD table, because the
    kernels have the same source."""

    def __init__(self, arch: str, table: Table, cycles: CyclesTable | None = None) -> None:
        self.arch, self.compiler = arch, table.compiler
        self._cycles = cycles
        self._rows: Mapping[str, Row] = table.rows
        known = {parse(name): row for name, row in table.rows.items()}
        self._known = {instance: row for instance, row in known.items() if FAMILIES[instance.family].loops}
        slowdowns = ((instance, self._simulated(instance, row)) for instance, row in self._known.items())
        self._slowdowns = {instance: slowdown for instance, slowdown in slowdowns if slowdown is not None}
        self._codes: dict[str, Code] = {}

    def code_of(self, instance: Instance) -> Code:
        """The code of an instance; for one that is missing in the table, the scaled code of the nearest instance."""
        if instance.name not in self._codes:
            self._codes[instance.name] = self._make(instance)
        return self._codes[instance.name]

    def _make(self, instance: Instance) -> Code:
        if not FAMILIES[instance.family].loops:  # its cost does not depend on its code
            return Code((), 1)
        row = self._rows.get(instance.name)
        nearest = instance if row else _nearest(instance, self._known)
        near_row = row or self._known[nearest]
        slowdown = self._slowdown(instance)
        roles = tuple(self._scaled(role, instance, nearest) for role in roles_of_row(near_row, nearest))
        if self.arch in NVIDIA_ARCHES:
            return Code(roles, _nvidia_groups(instance), slowdown)
        if row is not None:
            return Code(roles, groups_of_row(row, instance, self.arch), slowdown)
        sizes = {"vgprs": instance.vgpr_estimate, "sgprs": int(near_row["sgprs"]), "lds_bytes": instance.lds_bytes}
        groups = workgroups_per_unit(UNITS[self.arch], **sizes, threads=instance.launch_threads)
        return Code(roles, groups, slowdown)

    def _simulated(self, instance: Instance, row: Row) -> float | None:
        """Simulated cycles per tile / bound."""
        found = self._cycles.of_code(instance.name, row) if self._cycles else None
        bound = bound_of_row(row, instance, self.arch)
        return found.l2 / bound.cycles if found and bound else None

    def _slowdown(self, instance: Instance) -> float:
        """The slowdown of an instance, or of the nearest instance of its family that is simulated."""
        if instance in self._slowdowns:
            return self._slowdowns[instance]
        family = [known for known in self._slowdowns if known.family == instance.family]
        return self._slowdowns[_nearest(instance, family)] if family else 1.0

    def _scaled(self, role: RoleLoad, instance: Instance, nearest: Instance) -> RoleLoad:
        """The role of another instance converted to this one: address arithmetic scaled to its loads, its own matrix
        instructions."""
        ratio = 1.0 if role.role == "math" else _loads(instance) / _loads(nearest)
        matrix = 0.0 if role.role == "load" else _matrix(instance, self.arch)
        others = (role.total - role.matrix) * ratio
        return RoleLoad(role.role, role.valu * ratio, role.slow * ratio, matrix, others + matrix)


def predict(instance: Instance, problem: ConvProblem, split_k: int, code: Code, rates: Rates) -> Prediction:
    """Predict the time of one instance. The caller must know that the instance takes the problem."""
    work = FAMILIES[instance.family].work(instance, problem, split_k, code, rates)
    out_bytes = PARTIAL_BYTES if split_k > 1 else instance.c_bytes
    write_cycles = work.blocks * work.weights * out_bytes / rates.load_bytes
    cycles = (
        work.blocks * work.tiles * work.bound.cycles * code.slowdown + work.rounds * rates.start_cycles + write_cycles
    )
    compulsory, written = _sizes(problem, instance.operation, instance.dtype)
    partials = 2 * split_k * written * PARTIAL_BYTES if split_k > 1 else 0
    unit = cycles / rates.clock_hz
    memory = (compulsory + partials) / rates.memory_bytes_per_s
    copied = copied_bytes(instance, problem)
    start = KERNEL_START_S * (1 + (split_k > 1) + (copied > 0)) + copied / rates.memory_bytes_per_s
    return Prediction(instance, split_k, max(unit, memory) + start, unit, memory, work.bound.limiter)


def roofline_seconds(problem: ConvProblem, operation: str, dtype: str, rates: Rates) -> float:
    """The time that no kernel can beat: one start, and the longer of the arithmetic at the matrix peak and the
    compulsory bytes at full bandwidth."""
    flops_per_second = rates.flops_of(DTYPES[dtype].operand_type) * rates.simds * rates.units * rates.clock_hz
    bytes_moved = _sizes(problem, operation, dtype)[0]
    return max(problem.flops / flops_per_second, bytes_moved / rates.memory_bytes_per_s) + KERNEL_START_S


def rank(
    instances: Iterable[Instance], problem: ConvProblem, book: CodeBook, split_ks: Sequence[int] = SPLIT_KS
) -> tuple[Prediction, ...]:
    """The best factor of each instance, fastest first; equal ones keep the given order. No factor is greater than the
    number of tiles along GEMM-K.

    `instances` must take the problem and have the same type; each of them must take every factor of `split_ks`.
    """
    rates = RATES[book.arch]
    best = []
    for instance in instances:
        most = ceil_div(saturated(instance.extents(problem).k), instance.k_per_block)
        code = book.code_of(instance)
        predictions = (predict(instance, problem, n, code, rates) for n in split_ks if n == 1 or n <= most)
        best.append(min(predictions, key=lambda prediction: prediction.seconds))
    return tuple(sorted(best, key=lambda prediction: prediction.seconds))


def read_book(root: Path, code: str) -> tuple[CodeBook, tuple[str, ...]]:
    """The book of a committed table of `ckgen isa`, and the files that it is made from: the table and, if they are
    there, its simulated cycles. Paths are relative to ``root``. Raises CkgenError if a file cannot be read."""
    table, cycles = read_table(root / code), cycles_path(Path(code))
    if not (root / cycles).is_file():
        return CodeBook(table.arch, table), (code,)
    return CodeBook(table.arch, table, read_cycles(root / cycles)), (code, cycles.as_posix())


def _nearest(instance: Instance, among: Iterable[Instance]) -> Instance:
    def distance(known: Instance) -> tuple[float, ...]:
        return (
            known.operation != instance.operation,
            known.family != instance.family,
            known.pointwise != instance.pointwise,
            known.exchange != instance.exchange,
            known.channels_last != instance.channels_last,
            abs(known.ndim - instance.ndim),
            known.elem_bytes != instance.elem_bytes,
            abs(_loads(known) - _loads(instance)),
            (known.a_vector, known.b_vector) != (instance.a_vector, instance.b_vector),
            known.dtype != instance.dtype,
        )

    return min(among, key=distance)


@lru_cache(maxsize=64)  # all instances of a type have the same
def _sizes(problem: ConvProblem, operation: str, dtype: str) -> tuple[int, int]:
    """The compulsory bytes of a problem, and the elements that are written."""
    record = OPERATIONS[operation]
    return record.compulsory_bytes(problem, dtype), problem.elements(record.written)


def _loads(instance: Instance) -> int:
    """Global loads per tile of a thread that copies."""
    return instance.a_slices * instance.a_dst_vector + instance.b_slices * instance.b_dst_vector


def _matrix(instance: Instance, arch: str) -> float:
    """Matrix instructions per tile of one wave (NVIDIA: of one warp)."""
    atom = FAMILIES[instance.family].atom(instance, arch)
    if atom is not None:
        return instance.m_xdl_per_wave * instance.n_xdl_per_wave * (instance.k_per_block // atom.k)
    tile = instance.m_per_block * instance.n_per_block * instance.k_per_block
    return tile / WARP_ATOM_MACS / (2 * instance.math_waves)


def _nvidia_groups(instance: Instance) -> int:
    """Workgroups per multiprocessor, limited by threads, shared memory and estimated registers."""
    by_threads = NVIDIA_THREADS // instance.launch_threads
    by_lds = NVIDIA_ARCHES["sm_90a"].lds_limit // instance.lds_bytes
    by_registers = NVIDIA_REGISTERS // (instance.launch_threads * min(255, instance.vgpr_estimate))
    return max(1, min(by_threads, by_lds, by_registers))

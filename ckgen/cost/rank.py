"""Predict the time of instances on a problem with the cost model and rank them: for GPUs without measurements.

    unit    the busiest compute unit: its workgroups x tiles per workgroup x cycles per tile (ckgen.cost.model), one
            trip to memory per round of resident workgroups, and writing the results
    memory  the compulsory bytes of the problem, plus writing and reading the split-K partials, at full bandwidth
    seconds = max(unit, memory) + one start per kernel

The cost of code comes from a committed table (docs/isa). For an instance that is missing there, the nearest one in
the table is used, scaled by the number of loads per thread; the terms that depend on the tile alone are exact in both
cases. Predictions are lower bounds whose purpose is to order instances; docs/cost_model_h200.md compares them with
measured times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.cost.model import groups_of_row, roles_of_row
from ckgen.families.counts import ceil_div, saturated
from ckgen.families.registry import FAMILIES
from ckgen.families.tile_cost import Code, RoleLoad
from ckgen.hardware.archs import NVIDIA_ARCHES
from ckgen.hardware.compute_units import RATES, UNITS, Rates
from ckgen.hardware.occupancy import workgroups_per_unit
from ckgen.instance.instance import Instance, parse
from ckgen.machine_code.table import Row, Table
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

    def __init__(self, arch: str, table: Table) -> None:
        self.arch = arch
        self._rows: Mapping[str, Row] = table.rows
        known = ((parse(name), row) for name, row in table.rows.items())
        self._known = [(instance, row) for instance, row in known if FAMILIES[instance.family].loops]
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
        nearest, near_row = (instance, row) if row else self._nearest(instance)
        roles = tuple(self._scaled(role, instance, nearest) for role in roles_of_row(near_row, nearest))
        if self.arch in NVIDIA_ARCHES:
            return Code(roles, _nvidia_groups(instance))
        if row is not None:
            return Code(roles, groups_of_row(row, instance, self.arch))
        sizes = {"vgprs": instance.vgpr_estimate, "sgprs": int(near_row["sgprs"]), "lds_bytes": instance.lds_bytes}
        return Code(roles, workgroups_per_unit(UNITS[self.arch], **sizes, threads=instance.launch_threads))

    def _nearest(self, instance: Instance) -> tuple[Instance, Row]:
        def distance(known: Instance) -> tuple[float, ...]:
            return (
                known.operation != instance.operation,
                known.family != instance.family,
                known.pointwise != instance.pointwise,
                known.channels_last != instance.channels_last,
                abs(known.ndim - instance.ndim),
                known.elem_bytes != instance.elem_bytes,
                abs(_loads(known) - _loads(instance)),
                (known.a_vector, known.b_vector) != (instance.a_vector, instance.b_vector),
                known.dtype != instance.dtype,
            )

        return min(self._known, key=lambda item: distance(item[0]))

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
    cycles = work.blocks * work.tiles * work.bound.cycles + work.rounds * rates.start_cycles + write_cycles
    compulsory, written = _sizes(problem, instance.operation, instance.dtype)
    partials = 2 * split_k * written * PARTIAL_BYTES if split_k > 1 else 0
    unit = cycles / rates.clock_hz
    memory = (compulsory + partials) / rates.memory_bytes_per_s
    start = KERNEL_START_S * (2 if split_k > 1 else 1)
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
        most = ceil_div(saturated(OPERATIONS[instance.operation].extents(problem).k), instance.k_per_block)
        code = book.code_of(instance)
        predictions = (predict(instance, problem, n, code, rates) for n in split_ks if n == 1 or n <= most)
        best.append(min(predictions, key=lambda prediction: prediction.seconds))
    return tuple(sorted(best, key=lambda prediction: prediction.seconds))


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

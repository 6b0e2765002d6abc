"""How long instances take on a problem by the cost model, and which is fastest: for GPUs without measurements.

    unit    the busiest compute unit: its workgroups x their tiles x cycles a tile (`cost_model`), one trip to memory
            for each round of resident workgroups, and writing the results
    memory  the least traffic of the problem, and the partials of split-K there and back, at full bandwidth
    seconds = max(unit, memory) + one start for each kernel

What code costs comes from a committed table (`isa_table`). For an instance that is not in it the nearest one that is
stands in, scaled by the loads of a thread; what follows from the tile alone is exact either way. The predictions are
lower bounds that order instances; docs/cost_model_h200.md tells how far measured times are from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ckgen.conv.problem import ConvProblem
from ckgen.cost.model import groups_of_row, roles_of_row
from ckgen.families.registry import FAMILIES
from ckgen.families.tile_cost import Code, RoleLoad
from ckgen.hardware.archs import NVIDIA_ARCHES, find_atom
from ckgen.hardware.compute_units import RATES, UNITS, Rates
from ckgen.hardware.occupancy import workgroups_per_unit
from ckgen.instance.instance import Instance, parse
from ckgen.machine_code.table import Row, Table
from ckgen.operations.gemm import compulsory_bytes
from ckgen.operations.operation import OPERATIONS

SPLIT_KS = (1, 2, 4, 8, 16, 32)
KERNEL_START_S = 3e-6  # of a kernel that does nothing; the order of magnitude on every GPU and driver
PARTIAL_BYTES = 4
NVIDIA_THREADS = 2048  # a multiprocessor holds, and 65536 registers: CUDA programming guide, compute capabilities
NVIDIA_REGISTERS = 65536
WARP_ATOM_MACS = 16 * 8 * 16


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds of an instance with a split-K factor on a problem, the busiest unit's and memory's part, and what limits
    the main loop."""

    instance: Instance
    split_k: int
    seconds: float
    unit_seconds: float
    memory_seconds: float
    limiter: str


class CodeBook:
    """The code of any instance on one architecture, by its committed table. For NVIDIA the table is an AMD one: the
    kernels are the same source."""

    def __init__(self, arch: str, table: Table) -> None:
        self.arch = arch
        self._rows: Mapping[str, Row] = table.rows
        self._known = [(parse(name), row) for name, row in table.rows.items()]
        self._codes: dict[str, Code] = {}

    def code_of(self, instance: Instance) -> Code:
        """The code of an instance; of one that is not in the table, that of the nearest, scaled."""
        if instance.name not in self._codes:
            self._codes[instance.name] = self._make(instance)
        return self._codes[instance.name]

    def _make(self, instance: Instance) -> Code:
        if instance.uses_tma:
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
                abs(known.ndim - instance.ndim),
                known.elem_bytes != instance.elem_bytes,
                abs(_loads(known) - _loads(instance)),
                known.dtype != instance.dtype,
            )

        return min(self._known, key=lambda item: distance(item[0]))

    def _scaled(self, role: RoleLoad, instance: Instance, nearest: Instance) -> RoleLoad:
        """The role of another instance as this one's: the addresses of its own loads, its own matrix instructions."""
        ratio = 1.0 if role.role == "math" else _loads(instance) / _loads(nearest)
        matrix = 0.0 if role.role == "load" else _matrix(instance, self.arch)
        others = (role.total - role.matrix) * ratio
        return RoleLoad(role.role, role.valu * ratio, role.slow * ratio, matrix, others + matrix)


def predict(instance: Instance, problem: ConvProblem, split_k: int, code: Code, rates: Rates) -> Prediction:
    """The time of one instance. Whether it takes the problem is the caller's to know."""
    work = FAMILIES[instance.family].work(instance, problem, split_k, code, rates)
    out_bytes = PARTIAL_BYTES if split_k > 1 else instance.c_bytes
    write_cycles = work.blocks * work.weights * out_bytes / rates.load_bytes
    cycles = work.blocks * work.tiles * work.bound.cycles + work.rounds * rates.start_cycles + write_cycles
    written = problem.elements(OPERATIONS[instance.operation].written)
    partials = 2 * split_k * written * PARTIAL_BYTES if split_k > 1 else 0
    unit = cycles / rates.clock_hz
    memory = (compulsory_bytes(instance.operation, problem, instance.dtype) + partials) / rates.memory_bytes_per_s
    start = KERNEL_START_S * (2 if split_k > 1 else 1)
    return Prediction(instance, split_k, max(unit, memory) + start, unit, memory, work.bound.limiter)


def rank(
    instances: Iterable[Instance], problem: ConvProblem, book: CodeBook, split_ks: Sequence[int] = SPLIT_KS
) -> tuple[Prediction, ...]:
    """The best factor of each instance, fastest first; those that are equal stay in the order given.

    `instances` are those that take the problem, of one type; all `split_ks` must be ones that they take.
    """
    rates = RATES[book.arch]
    best = [
        min(
            (predict(instance, problem, split_k, book.code_of(instance), rates) for split_k in split_ks),
            key=lambda prediction: prediction.seconds,
        )
        for instance in instances
    ]
    return tuple(sorted(best, key=lambda prediction: prediction.seconds))


def _loads(instance: Instance) -> int:
    """Global loads of a copying thread for one tile."""
    return instance.a_slices * instance.a_dst_vector + instance.b_slices * instance.b_dst_vector


def _matrix(instance: Instance, arch: str) -> float:
    """Matrix instructions of one wave for one tile (NVIDIA: of one warp)."""
    atom = find_atom(arch, instance.dtype, instance.m_per_xdl)
    if atom is not None:
        return instance.m_xdl_per_wave * instance.n_xdl_per_wave * (instance.k_per_block // atom.k)
    tile = instance.m_per_block * instance.n_per_block * instance.k_per_block
    return tile / WARP_ATOM_MACS / (2 * instance.math_waves)


def _nvidia_groups(instance: Instance) -> int:
    """Workgroups of a multiprocessor by threads, shared memory and estimated registers."""
    by_threads = NVIDIA_THREADS // instance.launch_threads
    by_lds = NVIDIA_ARCHES["sm_90a"].lds_bytes // instance.lds_bytes
    by_registers = NVIDIA_REGISTERS // (instance.launch_threads * min(255, instance.vgpr_estimate))
    return max(1, min(by_threads, by_lds, by_registers))

"""The simulated time of an instance: the emulator executes a problem with a few dozen steps for the workgroups that fit
on a compute unit, and the record is replayed twice, with the inputs in L2 and with inputs that come from memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from math import prod

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.errors import CkgenError, Diagnostic
from ckgen.families.registry import FAMILIES
from ckgen.hardware.compute_units import UNITS
from ckgen.hardware.occupancy import workgroups_per_unit
from ckgen.instance.instance import Instance
from ckgen.machine_code.analyse import CodeReport
from ckgen.machine_code.cycles.memory import Source
from ckgen.machine_code.cycles.replay import Records, read_records
from ckgen.machine_code.cycles.result import Result, measure
from ckgen.machine_code.cycles.unit import ComputeUnit
from ckgen.operations.operation import OPERATIONS
from ckgen.verify.emulated import Machine
from ckgen.verify.run_tensors import make_data

# Steps of the main loop, roughly. Without matrix instructions a step is a hundred times as many instructions.
_STEPS, _LONG_STEPS = 48, 10
_ROW_TILES = 8  # of the problem of exchanged operands
_PLACES = 5  # where waves wait most


@dataclass(frozen=True)
class Simulated:
    """The simulations of an instance, by where its inputs come from. `matrix_bound` is the least number of cycles per
    tile that the matrix units of the compute unit take; 0 without matrix instructions."""

    name: str
    arch: str
    problem: ConvProblem
    matrix_bound: float
    results: dict[Source, Result]
    units: dict[Source, ComputeUnit]
    lines: dict[int, str]  # source lines of places


def problem_of(instance: Instance, steps: int) -> ConvProblem:
    """A problem with tiles that are full, a main loop of about so many steps, and several workgroups."""
    tile = instance.m_per_block, instance.n_per_block, instance.k_per_block
    if instance.exchange:
        return _problem_of_few_outputs(instance, steps)
    # Images in which tiles skip no taps.
    sizes = {1: (256,), 2: (16, 16), 3: (16, 4, 4)}[instance.ndim] if instance.row_vector > 1 else None
    return problem_of_tile(instance.operation, instance.ndim, tile, steps, sizes, pointwise=instance.pointwise)


def _problem_of_few_outputs(instance: Instance, steps: int) -> ConvProblem:
    """The problem of an instance that exchanges input and output: four output channels, under as many taps as fill a
    tile's columns."""
    k, ndim = 4, instance.ndim
    edge = next(edge for edge in count(3, 2) if k * edge**ndim >= instance.n_per_block)
    sizes = {1: (256,), 2: (16, 16), 3: (4, 8, 8)}[ndim]
    images = max(1, steps * instance.k_per_block // prod(sizes))
    c = _ROW_TILES * instance.m_per_block
    return make_problem(groups=1, batch=images, k=k, c=c, filter=(edge,) * ndim, input=sizes, pad=edge // 2)


def problem_of_tile(
    operation: str,
    ndim: int,
    tile: tuple[int, int, int],
    steps: int = _STEPS,
    sizes: tuple[int, ...] | None = None,
    *,
    pointwise: bool,
) -> ConvProblem:
    """The problem for a tile: its rows, columns and depth. The images have these sizes, or 32 positions."""
    edge = 1 if pointwise else 3
    depth, taps = steps * tile[2], edge**ndim
    k, c, positions = tile[0], tile[1], depth
    if "N" not in OPERATIONS[operation].gemm_k:  # the GEMM is as deep as K and the taps, not the positions
        k, positions = max(-(-depth // taps // 32) * 32, 32), 8 * tile[0]
    elif pointwise:
        c *= 8
    sizes = sizes or {1: (32,), 2: (8, 4), 3: (4, 4, 2)}[ndim]
    images = max(1, positions // prod(sizes))
    return make_problem(groups=1, batch=images, k=k, c=c, filter=(edge,) * ndim, input=sizes, pad=edge // 2)


def simulate(machine: Machine, report: CodeReport, instance: Instance) -> Simulated:
    """Simulate a compiled instance. Raises CkgenError if it has no main loop or no problem fits."""
    main = report.loop("main") or report.loop("math")
    atom = FAMILIES[instance.family].atom(instance, report.arch)
    problem = problem_of(instance, _STEPS if atom else _LONG_STEPS)
    why = machine.library.unsupported_reason(instance.name, problem) if main else "its family has no main loop"
    if main is None or why:
        raise CkgenError([Diagnostic(None, "simulate", f"{instance.name} cannot be simulated: {why}")])
    records, lines = _records(machine, report, instance, problem)
    per_step, cycles = _matrix_work(instance, report.arch, records)
    units = {source: records.simulate(source) for source in Source}
    work, number = ("matrix", per_step) if per_step else ("lds", main.hot.lds_read // main.tiles)
    loads = bool(instance.load_waves)
    try:
        results = {
            source: measure(unit, work=work, per_step=number, has_load_waves=loads, most_places=_PLACES)
            for source, unit in units.items()
        }
    except ValueError as error:
        raise CkgenError([Diagnostic(None, "simulate", f"{instance.name}: {error}")]) from error
    bound = per_step * cycles * instance.math_waves / UNITS[report.arch].simds
    return Simulated(instance.name, report.arch, problem, bound, results, units, lines)


def _records(
    machine: Machine, report: CodeReport, instance: Instance, problem: ConvProblem
) -> tuple[Records, dict[int, str]]:
    """The records of the workgroups that are resident on a compute unit, and the source lines of the code."""
    resources, unit = report.resources, UNITS[report.arch]
    resident = workgroups_per_unit(
        unit,
        vgprs=resources.vgprs,
        sgprs=resources.sgprs,
        lds_bytes=resources.lds_bytes,
        threads=instance.launch_threads,
    )
    function = machine.library.function_of(instance.name)
    data = make_data(problem, instance.dtype, 1, instance.operation, function)
    code = machine.code_of(instance.name)
    prepared, trace = machine.trace(code, instance.name, problem, data, 1, max(1, resident))
    lines = {at: prepared.lines.at(item.offset) for at, item in enumerate(prepared.code)}
    machine.forget(code)
    return read_records(prepared, trace, report.arch), lines


def _matrix_work(instance: Instance, arch: str, records: Records) -> tuple[int, int]:
    """Matrix instructions of a wave per step, and the cycles of one."""
    atom = FAMILIES[instance.family].atom(instance, arch)
    if atom is None:
        return 0, 0
    per_step = instance.m_xdl_per_wave * instance.n_xdl_per_wave * (instance.k_per_block // atom.k)
    assert any(operation.matrix == atom.cycles for operation in records.operations), (
        f"no {atom.instruction} in the code"
    )
    return per_step, atom.cycles

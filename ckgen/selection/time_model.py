"""The numbers that the model of time reads: of instances, problems and devices, and its fitted coefficients.

``ckgen.selection.terms`` has the model's expressions. The coefficients of a family and operation are fitted to times by
bench/fit_times.py: to measured ones on sm_90a, to those of the cost model (ckgen.cost.rank) on AMD architectures. They
are dimensionless or in cycles, so that one row holds for all data types of a family. docs/selector.md says how far the
choices are from the fastest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from math import prod

from ckgen.conv.layout import LAYOUTS, TensorName
from ckgen.conv.problem import ConvProblem
from ckgen.conv.sub_gemms import tilde
from ckgen.families.counts import ceil_div, saturated
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import NVIDIA_ARCHES
from ckgen.hardware.compute_units import RATES, UNITS
from ckgen.instance.instance import Instance
from ckgen.operations.operation import OPERATIONS
from ckgen.paths import PACKAGE
from ckgen.selection.terms import NAMES, Coefficients, evaluate

COEFFICIENTS = PACKAGE / "selection" / "times.json"
LINE_BYTES = 128  # of a cache; rows of another pitch reach over one line more
MOST_SPLITS = 1 << 16  # the largest split_k that instances take
POWERS = 11  # of two: 1024 workgroups fill every GPU where the result is one tile
FILLS = 4  # numbers of workgroups that fill the GPU this often are tried as split_k, beside powers of two
_NVIDIA_REGISTERS = 65536  # per multiprocessor, of 32 bits: CUDA programming guide, compute capabilities
_CACHE_BYTES = {"sm_90a": 26e6}  # of the L2 of an H100 or H200, 50 MB in two halves that copy each other's lines


def instance_numbers(instance: Instance) -> dict[str, float]:
    """The numbers of an instance; C++ has them in the table of its factory."""
    family = FAMILIES[instance.family]
    tile = family.coverage(instance)
    return {
        "rows": tile.m,
        "columns": tile.n,
        "values": tile.values,
        "pace": family.pace(instance),
        "k_per_block": instance.k_per_block,
        "a_vector": instance.a_vector,
        "b_vector": instance.b_vector,
        "c_vector": instance.c_vector,
        "elem_bytes": instance.elem_bytes,
        "c_bytes": instance.c_bytes,
        "waves": instance.math_waves,
        "threads": instance.launch_threads,
        "lds_bytes": instance.lds_bytes,
        "registers": family.registers(instance),
        "tap_step": family.tap_step(instance),
        "overlaps": int(family.overlaps(instance)),
        "gathered": int(instance.conv_spec == "Default" and not instance.channels_last),
        "sweep_taps": prod(tile.sweep[:2]),
        "sweep_groups": max(1, tile.sweep[2]),
        "sweep_positions": max(1, tile.sweep[3]),
    }


def problem_numbers(instance: Instance, problem: ConvProblem) -> dict[str, float]:
    """The numbers of a problem for an instance."""
    family, operation = FAMILIES[instance.family], OPERATIONS[instance.operation]
    seen = family.counted(instance, problem)
    tile, sizes = family.coverage(instance), instance.extents(seen)
    written, read = problem.elements(operation.written), [problem.elements(name) for name in operation.read]
    image = map(max, problem.input, problem.output)
    aligned = family.aligns_weight(instance, problem)
    copied = _copied(instance, problem, aligned)
    return {
        "copies": len(copied),
        "copied": 2 * sum(map(problem.elements, copied)) * instance.elem_bytes,
        "tiles": family.tiles(instance, problem),
        "groups": problem.groups,
        "terms": saturated(sizes.k),
        "tap_channels": problem.k * family.merged(instance, problem) if operation.merged.k else 0,
        "mean_taps": saturated(seen.filter) / _sub_gemms(seen),
        "tile_taps": saturated(sizes.taps) if tile.all_taps else 1,
        "result_columns": saturated(sizes.n),
        "stored_columns": min(tile.n, saturated(sizes.n)) if family.sums_columns else tile.n,
        "written": written,
        "compulsory": sum(read) * instance.elem_bytes + written * instance.c_bytes,
        "a_bytes": problem.elements(instance.a_tensor) * instance.elem_bytes,
        "a_lines": _breaks_lines(instance, problem, instance.a_tensor),
        "b_lines": 0 if aligned else _breaks_lines(instance, problem, instance.b_tensor),
        "positions": saturated((problem.batch, *(problem.input if operation.merged.k else image))),
        "passes": _passes(instance, problem),
    }


def _copied(instance: Instance, problem: ConvProblem, aligned: bool) -> list[TensorName]:
    """The tensors that kernels before the main one copy; ``aligned``: the weight, because of its rows."""
    of_output, of_b = FAMILIES[instance.family].copied_units(instance)
    rows: tuple[tuple[TensorName, int, int], ...] = (
        ("out", of_output, problem.groups * problem.k),
        (instance.b_tensor, -1 if aligned else of_b, problem.c * (1 if instance.b_tensor == "wei" else problem.groups)),
    )
    return [name for name, unit, row in rows if unit < 0 or (unit > 0 and row % unit)]


def _sub_gemms(problem: ConvProblem) -> int:
    """Matrix products into which strides divide backward data; a tap belongs to one of them."""
    return prod(map(tilde, problem.strides, problem.dilations))


def _breaks_lines(instance: Instance, problem: ConvProblem, tensor: TensorName) -> int:
    """1 if the rows of a tensor do not begin at lines of the cache."""
    if tensor == "wei":
        pitch = problem.c
    elif LAYOUTS[instance.layout].channels_last_in(tensor):
        pitch = problem.groups * (problem.k if tensor == "out" else problem.c)
    else:
        pitch = saturated(problem.output if tensor == "out" else problem.input)
    return int(pitch * instance.elem_bytes % LINE_BYTES > 0)


def _passes(instance: Instance, problem: ConvProblem) -> int:
    """Times that a family of sweeps multiplies each position by a unit of taps; 0 for matrix products."""
    *unit, groups, _ = FAMILIES[instance.family].coverage(instance).sweep
    if not groups:
        return 0
    taps = list(problem.filter)
    if OPERATIONS[instance.operation].merged.k:
        taps = list(map(ceil_div, taps, map(tilde, problem.strides, problem.dilations)))
    units = (1, 1, *unit)[-problem.ndim :]
    return saturated((problem.k, *map(ceil_div, taps, units)))


def split_ks(instance: Instance, problem: ConvProblem, tiles: int, units: int) -> list[int]:
    """The factors that the model compares: powers of two, and those whose workgroups fill the GPU; none below that of
    the rows of a weight that stays in LDS."""
    family, terms = FAMILIES[instance.family], saturated(instance.extents(problem).k)
    if not family.splits(instance):
        return [1]
    least = ceil_div(terms, family.kept_rows(instance) or terms)
    most = min(ceil_div(terms, instance.k_per_block), MOST_SPLITS)
    fills = (fill * units // tiles for fill in range(1, FILLS + 1))
    powers = (1 << power for power in range(POWERS))
    return sorted({factor for factor in (*powers, *fills) if least <= factor <= most} | {least})


def device_numbers(arch: str) -> dict[str, float]:
    """The numbers of an architecture."""
    rates = RATES[arch]
    nvidia = arch in NVIDIA_ARCHES
    lds = NVIDIA_ARCHES[arch].lds_limit if nvidia else UNITS[arch].lds_capacity
    return {
        "units": rates.units,
        "wave": rates.wave,
        "unit_threads": 2048,  # of both vendors: 4 SIMDs of 8 waves of 64, and CUDA programming guide
        "unit_lds": lds,
        "unit_registers": _NVIDIA_REGISTERS if nvidia else UNITS[arch].registers * 64 * UNITS[arch].simds,
        "memory": rates.memory_bytes_per_s / 1e6,
        "cache": _CACHE_BYTES.get(arch, 1e30),
    }


def times_of(coefficients: Coefficients, arch: str, family: str, dtype: str) -> dict[str, float]:
    """The coefficients in microseconds: per product, per byte, per access, per step, per wait and per run."""
    rates = RATES[arch]
    cycle = 1e6 / rates.clock_hz
    product = 2.0 * cycle / (FAMILIES[family].matrix_rate(dtype, rates) * rates.simds)
    byte = cycle / rates.load_bytes
    scales = {"launch": 1.0, "matrix": product, "load": byte, "line": byte, "write": byte}
    return {name: getattr(coefficients, name) * scales.get(name, cycle) for name in NAMES}


Fitted = Mapping[tuple[str, str, str], Coefficients]  # by architecture, operation and family


@cache
def load_fitted() -> Fitted:
    """The fitted coefficients that ckgen includes."""
    return parse_fitted(COEFFICIENTS.read_text(encoding="utf-8"))


def parse_fitted(text: str) -> Fitted:
    """The coefficients in the text of the file."""
    data = json.loads(text)["coefficients"]
    return {
        (arch, operation, family): Coefficients(**row)
        for arch, operations in data.items()
        for operation, families in operations.items()
        for family, row in families.items()
    }


def fastest(instance: Instance, problem: ConvProblem, arch: str, coefficients: Coefficients) -> tuple[float, int]:
    """Predicted microseconds of an instance with its best split-K factor, and that factor."""
    device, own = device_numbers(arch), problem_numbers(instance, problem)
    numbers = {**device, **instance_numbers(instance), **own}
    numbers = {name: float(value) for name, value in numbers.items()}  # as in C++
    numbers |= times_of(coefficients, arch, instance.family, instance.dtype)
    factors = split_ks(instance, problem, int(own["tiles"]), int(device["units"]))
    return min((evaluate({**numbers, "split_k": float(factor)}), factor) for factor in factors)

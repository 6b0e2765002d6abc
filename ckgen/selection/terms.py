"""The model of the time of an instance on a problem: a table of expressions, evaluated here and rendered to C++.

The model counts what a kernel does on the busiest compute unit: waves of workgroups, steps along GEMM-K with their
products, loads and latency, and the results that are written; beside it the bytes that the whole GPU moves through
memory. ``TERMS`` has one line per quantity. Every name is a number of an instance, of a problem, of a device, of the
row of coefficients (all times in microseconds), or another term; the functions are max, min, ceil_div, floor_div and
pick(condition, value, otherwise). The text of an expression is valid Python and C++.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The fitted numbers of a family and operation on an architecture: `matrix`, `load`, `line` and `write` in
    multiples of the time at the vendor's rates, `vector`, `gather`, `store`, `step`, `latency` and `start` in cycles,
    `launch` in microseconds. `gather` is for vectors of positions that taps shift, `store` for vectors of results."""

    launch: float
    matrix: float
    load: float
    line: float
    vector: float
    gather: float
    step: float
    latency: float
    start: float
    write: float
    store: float


NAMES = tuple(item.name for item in fields(Coefficients))


class Term(NamedTuple):
    """One quantity of the model: its name, its expression and what it means."""

    name: str
    expression: str
    meaning: str


TERMS = (
    Term("reached", "pick(tap_channels > 0.0, min(1.0, mean_taps), 1.0)", "The share of tiles that a tap reaches."),
    Term("workgroups", "max(1.0, tiles * reached) * split_k", "Workgroups of the kernel."),
    Term("blocks", "ceil_div(workgroups, units)", "Workgroups of the busiest compute unit."),
    Term(
        "residents",
        "max(1.0, min(floor_div(unit_threads, threads), min(floor_div(unit_lds, max(1.0, lds_bytes)),"
        " floor_div(unit_registers, threads * max(1.0, registers)))))",
        "Workgroups that a unit runs at a time.",
    ),
    Term("rounds", "ceil_div(blocks, residents)", "Times that a unit waits for the latency of its workgroups."),
    Term(
        "depth",
        "pick(tap_channels > 0.0,"
        " ceil_div(tap_channels, tap_step) * tap_step / k_per_block * mean_taps / reached / split_k,"
        " ceil_div(ceil_div(terms, split_k), k_per_block))",
        "Steps along GEMM-K of a workgroup.",
    ),
    Term("macs", "rows * columns * k_per_block * tile_taps * pace", "Products of a step, slower ones as several."),
    Term("accesses", "(rows / a_vector + columns / b_vector) * k_per_block", "Vectors that a step loads."),
    Term("loaded", "values * k_per_block * elem_bytes", "Bytes that a step loads."),
    Term("lined", "(rows * a_lines + columns * b_lines) * k_per_block * elem_bytes", "Of these, in one line more."),
    Term(
        "compute",
        "blocks * depth * (macs * matrix + accesses * (vector + gathered * gather) + step)",
        "The unit issues instructions.",
    ),
    Term("traffic", "workgroups / units * depth * (loaded * load + lined * line)", "The shared cache delivers."),
    Term(
        "serial",
        "rounds * depth * (latency + macs * matrix * max(1.0, 4.0 * wave / (64.0 * waves)))",
        "Workgroups wait for their own steps.",
    ),
    Term("out_bytes", "pick(split_k > 1.0, 4.0, c_bytes)", "Bytes of a result; partial sums are float32."),
    Term(
        "multiplying",
        "max(max(compute, traffic) + 0.2 * min(compute, traffic), serial)",
        "The busiest unit sums.",
    ),
    Term(
        "storing",
        "blocks * rows * stored_columns * tile_taps * (out_bytes * write + store / c_vector)",
        "It writes results.",
    ),
    Term(
        "tiled",
        "pick(overlaps > 0.0, max(multiplying, storing) + 0.2 * min(multiplying, storing), multiplying + storing)"
        " + rounds * start",
        "The busiest unit of a matrix product; some store one tile while they multiply the next.",
    ),
    Term(
        "sweepers",
        "min(units, ceil_div(groups, sweep_groups) * max(1.0, floor_div(positions, sweep_positions)))",
        "Units that sweep a filter.",
    ),
    Term(
        "swept",
        "ceil_div(groups, sweep_groups) * sweep_groups * positions * passes"
        " * (sweep_taps * matrix + vector / a_vector) / sweepers + start * (36.0 + sweep_taps * a_vector) / 72.0",
        "A unit that sweeps a filter; its threads have weights or sums of each tap and group.",
    ),
    Term("unit", "pick(passes > 0.0, swept, tiled)", "The busiest unit."),
    Term(
        "footprint",
        "min(units * residents, workgroups) / max(1.0, ceil_div(result_columns, columns)) * rows * tap_channels"
        " * elem_bytes",
        "Bytes of A that backward data's workgroups read again for the next tap.",
    ),
    Term(
        "reread",
        "pick(tap_channels > 0.0, pick(footprint > cache, max(0.0, mean_taps - 1.0) * a_bytes, 0.0),"
        " pick(compulsory > cache, pick(passes > 0.0, 0.0, max(0.0, tiles / (units * residents) - 1.0)) * compulsory,"
        " 0.0))",
        "Bytes that memory delivers again because the cache does not hold them; sweeps read each element once.",
    ),
    Term(
        "idle",
        "pick(passes > 0.0, 1.0, max(1.0, 0.6 * units / min(units, workgroups)))",
        "Slowdown of memory by too few units: 60 percent of them saturate it.",
    ),
    Term("partials", "pick(split_k > 1.0, 8.0 * split_k * written, 0.0)", "Bytes of partial sums, written and read."),
    Term(
        "moving",
        "(compulsory + reread) / (0.8 * memory) * idle + partials / (0.75 * memory)",
        "The memory moves bytes at 80 percent of its bandwidth.",
    ),
    Term("copying", "copied / (0.8 * memory) + 2.0 * copies", "Kernels that copy a tensor before the main one."),
    Term(
        "microseconds",
        "launch + max(unit, moving) + 0.2 * min(unit, moving) + pick(split_k > 1.0, 2.0, 0.0) + copying",
        "The whole run. The kernel that adds partial sums starts after 2 us, as copies do.",
    ),
)
TIME = TERMS[-1].name
DEVICE_NAMES = ("units", "wave", "unit_threads", "unit_lds", "unit_registers", "memory", "cache")


def read_names() -> tuple[str, ...]:
    """The names of the numbers of an instance, a problem and a split-K factor, in the order of their first use."""
    others = {*NAMES, *DEVICE_NAMES, *(term.name for term in TERMS), *_FUNCTIONS}
    every = re.findall(r"[a-z]\w*", " ".join(term.expression for term in TERMS))
    return tuple(name for name in dict.fromkeys(every) if name not in others)


def evaluate(numbers: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """The microseconds. ``numbers`` has a value for each name that is not a term's; ``functions`` replaces those of
    this module, for arrays."""
    scope = {**_FUNCTIONS, **(functions or {}), **numbers}
    exec(_CODE, scope)
    return scope[TIME]


_CODE = compile("\n".join(f"{term.name} = {term.expression}" for term in TERMS), "<ckgen time model>", "exec")
_FUNCTIONS: dict[str, Any] = {
    "max": max,
    "min": min,
    "ceil_div": lambda value, step: math.ceil(value / step),
    "floor_div": lambda value, step: math.floor(value / step),
    "pick": lambda condition, value, otherwise: value if condition else otherwise,
}

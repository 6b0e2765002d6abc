"""Report on a compiled instance: resources, occupancy, and the instruction mix of its loops by role.

Roles: `main` is the loop of family xdl, where every wave loads and multiplies; `math` and `load` are the loops of the
wavelet's two kinds of waves. The loop of main and math is the one with the most matrix instructions, or, if the
architecture has no matrix instructions, the one with the most LDS reads that also has global loads. The loop of load is
the one with the most global loads and no matrix instruction. All counts are per wave.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ckgen.errors import CkgenError, Diagnostic
from ckgen.families.registry import FAMILIES
from ckgen.hardware.compute_units import UNITS
from ckgen.hardware.occupancy import waves_per_simd
from ckgen.instance.instance import Instance
from ckgen.machine_code.assembly import Instruction, Kernel, Resources, read_kernels
from ckgen.machine_code.loops import Loop, find_loops

ROLES = ("main", "math", "load")
_LOADS = ("global_load", "to_lds")
_LOAD_WAIT = re.compile(r"vmcnt\((\d+)\)|^s_wait_loadcnt (\w+)")


@dataclass(frozen=True, slots=True)
class Mix:
    """Number of instructions of each kind in a piece of code. `slow` counts the VALU instructions that take four times
    as long, `exposed` the loads whose wait is in the iteration that issues them. Bytes are per lane."""

    matrix: int
    valu: int
    slow: int
    salu: int
    lds_read: int
    lds_write: int
    loads: int
    stores: int
    waits: int
    barriers: int
    exposed: int
    total: int
    lds_read_bytes: int
    lds_write_bytes: int
    load_bytes: int


@dataclass(frozen=True, slots=True)
class LoopReport:
    """A role's loop. `hot` is the mix of the hot path, which nearly all iterations take, `whole` that of all its code.
    One iteration works on `tiles` tiles."""

    role: str
    tiles: int
    hot: Mix
    whole: Mix

    @property
    def valu_per_matrix(self) -> float | None:
        """VALU instructions per matrix instruction, on the hot path."""
        return self.hot.valu / self.hot.matrix if self.hot.matrix else None

    @property
    def exposed_loads(self) -> int:
        """Number of loads whose wait is in the iteration that issues them."""
        return self.hot.exposed

    @property
    def valu_per_tile(self) -> float:
        """VALU instructions per tile, on the hot path."""
        return self.hot.valu / self.tiles


@dataclass(frozen=True, slots=True)
class CodeReport:
    """One instance compiled for one architecture."""

    name: str
    arch: str
    resources: Resources
    waves: float
    loops: tuple[LoopReport, ...]

    def loop(self, role: str) -> LoopReport | None:
        """Return the loop of a role, None if the kernel has none."""
        return next((loop for loop in self.loops if loop.role == role), None)


def analyse(text: str, instance: Instance, arch: str) -> CodeReport:
    """Analyse the assembly of an instance's source. Raises CkgenError if the kernel or a role's loop is missing."""
    kernel = read_kernels(text).get(f"{instance.name}_kernel")
    if kernel is None:
        message = f"the compiler's output for {arch} has no kernel of {instance.name}"
        raise CkgenError((Diagnostic(None, "isa", message),), 1)
    resources = kernel.resources
    waves = waves_per_simd(
        UNITS[arch],
        vgprs=max(resources.vgprs, resources.agprs),  # gfx908 has a file of each
        sgprs=resources.sgprs,
        lds_bytes=resources.lds_bytes,
        threads=instance.launch_threads,
    )
    return CodeReport(instance.name, arch, resources, waves, _loops(kernel, instance, arch))


def count(instructions: Iterable[Instruction]) -> Mix:
    """Count the instructions of each kind."""
    items = tuple(instructions)
    kinds = Counter(item.kind for item in items)

    def bytes_of(*wanted: str) -> int:
        return sum(item.lane_bytes for item in items if item.kind in wanted)

    return Mix(
        matrix=kinds["matrix"],
        valu=kinds["valu"],
        slow=sum(item.slow for item in items),
        salu=kinds["salu"],
        lds_read=kinds["lds_read"] + kinds["lds_other"],
        lds_write=kinds["lds_write"],
        loads=kinds["global_load"] + kinds["to_lds"],
        stores=kinds["global_store"],
        waits=kinds["wait"],
        barriers=kinds["barrier"],
        exposed=_exposed(items),
        total=len(items),
        lds_read_bytes=bytes_of("lds_read"),
        lds_write_bytes=bytes_of("lds_write", "to_lds"),
        load_bytes=bytes_of(*_LOADS),
    )


def _exposed(items: Sequence[Instruction]) -> int:
    """Count the loads of a path that a later wait on the same path waits for. Only other waves hide their latency. A
    loop that loads ahead instead waits at its start for the loads of the iteration before."""
    outstanding = exposed = 0
    for item in items:
        if item.kind in _LOADS:
            outstanding += 1
        elif item.kind == "wait" and (match := _LOAD_WAIT.search(f"{item.mnemonic} {item.operands}")):
            arrived = max(0, outstanding - int(match[1] or match[2], 0))
            outstanding, exposed = outstanding - arrived, exposed + arrived
    return exposed


def _loops(kernel: Kernel, instance: Instance, arch: str) -> tuple[LoopReport, ...]:
    if not FAMILIES[instance.family].loops:
        return ()
    loops = find_loops(kernel)
    has_matrix = FAMILIES[instance.family].atom(instance, arch) is not None
    if has_matrix:
        math = _most(loops, lambda loop: _number(loop, "matrix"))
    else:
        math = _most(loops, lambda loop: _number(loop, "lds_read") * bool(_number(loop, *_LOADS)))
    found = [("math" if instance.load_waves else "main", math)]
    if instance.load_waves:
        load = _most(loops, lambda loop: _number(loop, *_LOADS) * (not _number(loop, "matrix")))
        found.append(("load", load))
    return tuple(_report(role, loop, instance, arch) for role, loop in found)


def _most(loops: Sequence[Loop], number: Callable[[Loop], int]) -> Loop | None:
    """Return the loop with the largest number, the innermost one on a tie; None if all numbers are 0."""
    best = max(loops, key=lambda loop: (number(loop), -loop.inner), default=None)
    return best if best is not None and number(best) else None


def _number(loop: Loop, *kinds: str) -> int:
    return sum(item.kind in kinds for item in loop.hot)


def _report(role: str, loop: Loop | None, instance: Instance, arch: str) -> LoopReport:
    if loop is None:
        message = f"{instance.name} for {arch} has no loop for role {role}"
        raise CkgenError((Diagnostic(None, "isa", message, "has the kernel's loop structure changed?"),), 1)
    hot, whole = count(loop.hot), count(loop.body)
    per_tile = _matrix_per_tile(instance, arch)
    if role != "load" and per_tile:
        tiles = hot.matrix / per_tile
    else:
        tiles = hot.lds_write_bytes / ((instance.a_elems + instance.b_elems) * instance.compute_bytes)
    return LoopReport(role, max(1, round(tiles)), hot, whole)


def _matrix_per_tile(instance: Instance, arch: str) -> int:
    """Matrix instructions per wave and tile; 0 if the architecture has none."""
    atom = FAMILIES[instance.family].atom(instance, arch)
    if atom is None:
        return 0
    return instance.m_xdl_per_wave * instance.n_xdl_per_wave * (instance.k_per_block // atom.k)

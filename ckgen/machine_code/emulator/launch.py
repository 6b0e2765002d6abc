"""A kernel launch: its memory, its workgroups, and the report of a fault."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.machine_code.emulator.code_object import CodeObject, Kernel
from ckgen.machine_code.emulator.handlers import Handlers
from ckgen.machine_code.emulator.instruction import SCALARS, Decoded, NativeInstruction
from ckgen.machine_code.emulator.lines import SourceLines
from ckgen.machine_code.emulator.program import Decoder
from ckgen.machine_code.emulator.trace import Recorder, Trace, recorder
from ckgen.machine_code.emulator.unsupported import Unsupported

MAX_STEPS = 40_000_000  # per launch; more means an endless loop
_SPACING = 1 << 40  # between the arrays of a launch
_TTMP9 = 108 + 9  # has the workgroup's number on gfx12
_REGION = re.compile(r"region (\d+)")

Bytes = NDArray[np.uint8]


class Fault(Exception):
    """Machine code did something forbidden; the message has the instruction, its source line, and the other side."""


class _Region(ctypes.Structure):
    _fields_ = [("start", ctypes.c_uint64), ("size", ctypes.c_uint64)]
    _fields_ += [(name, ctypes.c_void_p) for name in ("data", "known", "writer")]


class _Launch(ctypes.Structure):
    _fields_ = [("code", ctypes.c_void_p), ("count", ctypes.c_uint32), ("regions", ctypes.c_void_p)]
    _fields_ += [(name, ctypes.c_uint32) for name in ("region_count", "lds_bytes", "scratch_bytes", "wave_size")]
    _fields_ += [(name, ctypes.c_uint32) for name in ("threads", "blocks", "kernarg_register", "block_register")]
    _fields_ += [(name, ctypes.c_uint32) for name in ("extent_x", "extent_y", "y_register", "z_register")]
    _fields_ += [("kernarg", ctypes.c_uint64), ("unordered_stores", ctypes.c_uint32), ("late", ctypes.c_uint32)]
    _fields_ += [("seed", ctypes.c_uint64), ("max_steps", ctypes.c_uint64), ("trace", ctypes.c_void_p)]


class _Report(ctypes.Structure):
    _fields_ = [("steps", ctypes.c_uint64), ("accesses", ctypes.c_uint64)]
    _fields_ += [(name, ctypes.c_int64) for name in ("ins", "other", "wave", "other_wave", "block")]
    _fields_ += [("used", ctypes.c_uint64), ("what", ctypes.c_char * 480)]


@dataclass
class Array:
    """An array of a launch. `known` marks the bytes that have a value, None if all have one (an input)."""

    name: str
    bytes: Bytes
    known: Bytes | None
    address: int
    writer: NDArray[np.uint64] | None = None


@dataclass
class Memory:
    """The arrays that a launch may access, far from each other. Outputs keep what one launch knows for the next."""

    arrays: list[Array] = field(default_factory=list)

    def add(self, name: str, array: NDArray[Any], *, writable: bool) -> int:
        """Make a contiguous array accessible and return its address. A writable array has no values yet."""
        assert array.flags.c_contiguous
        data = array.reshape(-1).view(np.uint8)
        known = np.zeros(data.size, np.uint8) if writable else None
        address = (len(self.arrays) + 1) * _SPACING
        self.arrays.append(Array(name, data, known, address))
        return address

    def fill(self, address: int, value: int, size: int) -> None:
        """Set bytes of a writable array, as a memset does. Raises Fault if they are not in one."""
        for array in self.arrays:
            begin = address - array.address
            if array.known is not None and begin >= 0 and begin + size <= array.bytes.size:
                array.bytes[begin : begin + size] = value
                array.known[begin : begin + size] = 1
                return
        raise Fault(f"a memset of {size} bytes at {address:#x}, which are not in a writable array")

    def need_written(self, name: str) -> None:
        """Raise Fault unless every byte of an array was written."""
        array = next(array for array in self.arrays if array.name == name)
        missing = 0 if array.known is None else int(np.count_nonzero(array.known == 0))
        if missing:
            raise Fault(f"{missing} of {array.bytes.size} bytes of {name} were never written")

    def native(self) -> Any:
        """The arrays as native regions, written by nobody in this launch."""
        regions = (_Region * len(self.arrays))()
        for at, array in enumerate(self.arrays):
            regions[at] = _Region(array.address, array.bytes.size, array.bytes.ctypes.data)
            if array.known is not None:
                array.writer = np.zeros(max(1, array.bytes.size), np.uint64)
                regions[at].known, regions[at].writer = array.known.ctypes.data, array.writer.ctypes.data
        return regions


@dataclass(frozen=True)
class Schedule:
    """The order in which waves run: with `shuffled` they switch at random points, else each runs to its barrier."""

    shuffled: bool
    seed: int


@dataclass(frozen=True)
class Done:
    """The wave instructions of a launch, and the number of different instructions of the code among them."""

    steps: int
    used: int


@dataclass
class Prepared:
    """A kernel ready to run."""

    kernel: Kernel
    code: list[Decoded]
    native: Any
    handlers: Handlers
    lines: SourceLines


class Emulator:
    """Runs kernels. Compiled handlers stay in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handlers: dict[int, Handlers] = {}
        self._decoders: dict[str, Decoder] = {}

    def compile(self, code: CodeObject, *, lenient: bool = False) -> None:
        """Compile what the instructions of all kernels need, which is faster than kernel by kernel. Kernels that
        cannot be run raise Unsupported; a lenient call leaves that to prepare()."""
        bodies: dict[int, set[str]] = {}
        for kernel in code.kernels.values():
            known = bodies.setdefault(kernel.wave_size, set())
            try:
                known.update(item.body for item in self._decoded(code, kernel) if item.body)
            except Unsupported:
                if not lenient:
                    raise
        for wave, needed in bodies.items():
            self._handlers_of(wave).require(needed)

    def _handlers_of(self, wave: int) -> Handlers:
        if wave not in self._handlers:
            self._handlers[wave] = Handlers(self._folder, wave)
        return self._handlers[wave]

    def _decoded(self, code: CodeObject, kernel: Kernel) -> list[Decoded]:
        decoder = self._decoders.setdefault(code.arch, Decoder(code.arch))
        return decoder.instructions(code.image, kernel.entry)

    def prepare(self, code: CodeObject, name: str) -> Prepared:
        """Decode a kernel and compile what its instructions need."""
        kernel = code.kernel(name)
        handlers, decoded = self._handlers_of(kernel.wave_size), self._decoded(code, kernel)
        handlers.require(item.body for item in decoded if item.body)
        index_of = {item.offset: at for at, item in enumerate(decoded)}
        native = (NativeInstruction * len(decoded))()
        for at, item in enumerate(decoded):
            address = handlers.fixed(item.handler) if item.handler else handlers.address(item.body) if item.body else 0
            native[at] = item.native(address, index_of)
        return Prepared(kernel, decoded, native, handlers, SourceLines(code.sections))

    def launch(
        self,
        prepared: Prepared,
        arch: str,
        blocks: int,
        threads: int,
        arguments: bytes,
        memory: Memory,
        schedule: Schedule,
        record: Recorder | None = None,
        extents: tuple[int, int] | None = None,
    ) -> Done:
        """Run the first `blocks` workgroups of `threads` threads. `extents` are those of the grid in x and y, None if
        all workgroups are in x. Raises Fault."""
        kernel = prepared.kernel
        kernarg = memory.add("the kernel's arguments", np.frombuffer(arguments, np.uint8).copy(), writable=False)
        regions = memory.native()
        launch = _Launch(
            trace=record.handle if record else None,
            code=ctypes.addressof(prepared.native),
            count=len(prepared.code),
            regions=ctypes.addressof(regions),
            region_count=len(memory.arrays),
            threads=threads,
            blocks=blocks,
            **_kernel_fields(kernel, arch),
            extent_x=extents[0] if extents else max(blocks, 1),
            extent_y=extents[1] if extents else 1,
            kernarg=kernarg,
            unordered_stores=int(arch.startswith("gfx1")),
            late=int(schedule.shuffled),
            seed=schedule.seed,
            max_steps=MAX_STEPS,
        )
        report = _Report()
        failed = prepared.handlers.core.emulate(ctypes.byref(launch), ctypes.byref(report))
        memory.arrays.pop()  # the kernel's arguments
        if failed:
            raise Fault(_told(prepared, report, [array.name for array in memory.arrays]))
        return Done(report.steps, report.used)

    def traced(
        self,
        prepared: Prepared,
        arch: str,
        blocks: int,
        threads: int,
        arguments: bytes,
        memory: Memory,
        extents: tuple[int, int] | None = None,
    ) -> Trace:
        """Run `blocks` workgroups with their waves in order, and record what they execute. Raises Fault."""
        with recorder(prepared.handlers.core) as record:
            self.launch(prepared, arch, blocks, threads, arguments, memory, Schedule(False, 1), record, extents)
            return record.read()


def _kernel_fields(kernel: Kernel, arch: str) -> dict[str, int]:
    """The fields of a launch that its kernel determines, such as the registers for a workgroup's place."""
    fields = {"lds_bytes": kernel.lds_bytes, "scratch_bytes": kernel.scratch_bytes, "wave_size": kernel.wave_size}
    fields["kernarg_register"], first = kernel.kernarg_register, kernel.user_registers
    if arch.startswith("gfx12"):
        if kernel.has_y or kernel.has_z:
            raise Unsupported(f"{kernel.name}: a grid of more than one dimension on {arch}")
        return fields | {"block_register": _TTMP9, "y_register": SCALARS, "z_register": SCALARS}
    y, z = first + 1, first + 1 + kernel.has_y
    fields |= {"y_register": y if kernel.has_y else SCALARS, "z_register": z if kernel.has_z else SCALARS}
    return fields | {"block_register": first}


def _told(prepared: Prepared, report: _Report, names: list[str]) -> str:
    def name_of(match: re.Match[str]) -> str:
        at = int(match[1])
        return names[at] if at < len(names) else "the kernel's arguments"

    what = _REGION.sub(name_of, report.what.decode())
    text = (
        f"{prepared.kernel.name}: workgroup {report.block}, wave {report.wave}: {_place(prepared, report.ins)} {what}"
    )
    if report.other >= 0:
        text += f"; the other side, wave {report.other_wave}: {_place(prepared, report.other)}"
    elif report.other_wave >= 0:
        text += f"; the other side is wave {report.other_wave}"
    return text


def _place(prepared: Prepared, at: int) -> str:
    item = prepared.code[at]
    line = prepared.lines.at(item.offset)
    return f"{item.text} at byte {item.offset - prepared.kernel.entry}{f' ({line})' if line else ''}"

"""One convolution on emulated AMD machine code: the same launch as the library's, and its result against float64."""

from __future__ import annotations

import re
import struct
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckgen.build.cmake import compile_device_only
from ckgen.conv.dtypes import element_of
from ckgen.conv.encoding import decode
from ckgen.conv.layout import LAYOUTS, to_physical
from ckgen.conv.problem import ConvProblem
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CProblem, UnsupportedProblem
from ckgen.library.d_tensors import d_slots, fuse, scalar_values
from ckgen.library.library import Library
from ckgen.machine_code.emulator.code_object import CodeObject
from ckgen.machine_code.emulator.decode import FAMILIES
from ckgen.machine_code.emulator.launch import Done, Emulator, Fault, Memory, Prepared, Schedule
from ckgen.machine_code.emulator.trace import Trace
from ckgen.operations.operation import OPERATIONS
from ckgen.paths import cache_dir
from ckgen.verify.run_tensors import Data

ARCHS = tuple(FAMILIES)
POISON = b"\xfd\xff"  # NaN in every type that has one, alone or doubled
# Line tables for the reports; they do not change the code.
_DEBUG = ("-gline-tables-only",)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a run: the element closest to its tolerance or furthest beyond it, the split-K factor that was used,
    and the wave instructions that ran."""

    error: float
    tolerance: float
    split_k: int
    instructions: int

    @property
    def ok(self) -> bool:
        """True if every element is within its tolerance (NaN is not)."""
        return self.error <= self.tolerance


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of an instance: its kernels' code, its arrays and how waves are scheduled."""

    code: CodeObject
    memory: Memory
    schedule: Schedule


class _Planned(NamedTuple):
    """The argument of a kernel, its workgroups and their threads."""

    arguments: bytes
    blocks: int
    threads: int


@dataclass(frozen=True, slots=True)
class _Job:
    """A run with its launches, its output, and the addresses of the output and of the split-K partials."""

    run: _Run
    launch: _Planned
    weight_copy: _Planned
    result: NDArray[Any]
    address: int
    partials: int


class Machine:
    """Runs instances of a generated tree as machine code of one architecture.

    `library` is the host library of the same tree: it plans the launches. `folder` keeps code objects; the
    handlers of instructions, which all sets share, are in the user's cache. Threads may share a machine.
    """

    def __init__(self, library: Library, tree: Path, arch: str, folder: Path) -> None:
        self.library, self.tree, self.arch, self._folder = library, tree, arch, folder
        self._emulator = Emulator(cache_dir() / "handlers")
        self._lock = threading.Lock()
        self._prepared: dict[tuple[int, str], tuple[CodeObject, Prepared]] = {}
        self._threads = _launch_threads(tree)
        self._shared: dict[str, CodeObject] = {}

    def compile(self, source: Path) -> CodeObject:
        """The code object of one source of the tree."""
        target = self._folder / self.arch / f"{source.stem}.co"
        made = compile_device_only(source, self.arch, target, include=[self.tree / "include"], extra=_DEBUG)
        return CodeObject.read(made.path)

    def code_of(self, name: str) -> CodeObject:
        """The code object of an instance."""
        return self.compile(next(self.tree.rglob(f"{name}.cpp")))

    def run(
        self, code: CodeObject, name: str, problem: ConvProblem, data: Data, split_k: int, schedule: Schedule
    ) -> Outcome:
        """Run an instance and compare. Raises Fault if the machine code does something forbidden, Unsupported if the
        emulator does not know an instruction."""
        instance = self.library.instance(name)
        written, job = OPERATIONS[instance.operation].written, self._job(code, name, problem, data, split_k, schedule)
        done = self._copy_weight(job, instance) + self._launch(job.run, f"{name}_kernel", job.launch).steps
        used = self.library.split_k(name, problem, split_k)
        if used > 1:
            elements = job.result.size
            if OPERATIONS[instance.operation].merged.k:  # partials have all channels of the last merged groups
                merged = min(instance.groups_to_merge, problem.groups)
                elements = elements // problem.groups * (-(-problem.groups // merged) * merged)
            done += self._reduce(job, instance, elements, used)
        job.run.memory.need_written(written)
        element, order = element_of(instance.dtype, written), to_physical(written, instance.layout)
        error = np.abs(decode(job.result, element) - data.expected.transpose(order))
        limit = data.allowance(element).transpose(order)
        at = int(np.argmax(np.where(np.isnan(error), np.inf, error / limit)))
        return Outcome(float(error.flat[at]), float(limit.flat[at]), used, done)

    def trace(
        self, code: CodeObject, name: str, problem: ConvProblem, data: Data, split_k: int, most_blocks: int
    ) -> tuple[Prepared, Trace]:
        """Run the first workgroups of an instance's launch, at most `most_blocks`, and record what they execute."""
        job = self._job(code, name, problem, data, split_k, Schedule(False, 1))
        self._copy_weight(job, self.library.instance(name))
        prepared = self._prepare(job.run, f"{name}_kernel")
        arguments, blocks, threads = job.launch
        blocks, memory = min(blocks, most_blocks), job.run.memory
        return prepared, self._emulator.traced(prepared, self.arch, blocks, threads, arguments, memory)

    def _job(
        self, code: CodeObject, name: str, problem: ConvProblem, data: Data, split_k: int, schedule: Schedule
    ) -> _Job:
        instance, memory = self.library.instance(name), Memory()
        written = OPERATIONS[instance.operation].written
        element = element_of(instance.dtype, written)
        result = np.empty(problem.shape(written, instance.layout), element.storage)
        workspace = np.empty(self.library.workspace_size(name, problem, split_k=split_k) // 2, np.uint16)
        for array in (result, workspace):
            array.reshape(-1).view(np.uint8)[:] = np.resize(np.frombuffer(POISON, np.uint8), array.nbytes)
        address = {written: memory.add(written, result, writable=True)}
        for tensor, values in data.tensors.items():
            array = np.ascontiguousarray(values.transpose(to_physical(tensor, instance.layout)))
            address[tensor] = memory.add(tensor, array, writable=False)
        c_problem = CProblem.make(problem, instance.layout, split_k)
        self._fuse(c_problem, name, problem, data, memory)
        partials = memory.add("workspace", workspace, writable=True) if workspace.size else 0
        in_, wei, out = (address[tensor] for tensor in ("in", "wei", "out"))
        try:
            launch = _Planned(*self.library.planned(name, c_problem, (in_, wei, out, partials)))
            copy = _Planned(*self.library.planned_weight_copy(name, c_problem, (in_, wei, out, partials)))
        except UnsupportedProblem as error:
            raise Fault(f"{name}: the library does not plan this problem: {error}") from error
        return _Job(_Run(code, memory, schedule), launch, copy, result, address[written], partials)

    def _launch(self, run: _Run, kernel: str, planned: _Planned) -> Done:
        prepared = self._prepare(run, kernel)
        arguments, blocks, threads = planned
        return self._emulator.launch(prepared, self.arch, blocks, threads, arguments, run.memory, run.schedule)

    def _launch_shared(self, run: _Run, source: str, kernel: str, planned: _Planned) -> Done:
        """Run a kernel of src/kernels, whose code all instances share."""
        with self._lock:
            if source not in self._shared:
                self._shared[source] = self.compile(self.tree / "src/kernels" / source)
        return self._launch(_Run(self._shared[source], run.memory, run.schedule), kernel, planned)

    def _copy_weight(self, job: _Job, instance: Instance) -> int:
        """Make the copy of the weight that the main kernel reads, if it reads one."""
        if job.weight_copy.blocks == 0:
            return 0
        kernel = f"ckgen_weight_copy_{instance.elem_bytes}"
        return self._launch_shared(job.run, "weight_copy.cpp", kernel, job.weight_copy).steps

    def _prepare(self, run: _Run, kernel: str) -> Prepared:
        with self._lock:
            key = (id(run.code), kernel)
            if key not in self._prepared:
                self._prepared[key] = run.code, self._emulator.prepare(run.code, kernel)
            return self._prepared[key][1]

    def forget(self, code: CodeObject) -> None:
        """Drop what is kept for a code object that will not run again."""
        with self._lock:
            for key in [key for key in self._prepared if key[0] == id(code)]:
                del self._prepared[key]

    def _fuse(self, c_problem: CProblem, name: str, problem: ConvProblem, data: Data, memory: Memory) -> None:
        """Add the D tensors and scalars of an instance's function."""
        function = self.library.function_of(name)
        slots = d_slots(self.library.instance(name), function)
        fuse(c_problem, problem, slots)
        c_problem.set_scalars(scalar_values(function, data.scalars))
        for at, slot in enumerate(slots):
            array = np.ascontiguousarray(data.d_array(at, slot))
            c_problem.d[at].data = memory.add(f"D{at}", array, writable=False)

    def _reduce(self, job: _Job, instance: Instance, elements: int, split_k: int) -> int:
        """Sum the split-K partials: with the instance's own kernel if it has one, which takes the same arguments, else
        with the kernel of src/kernels/reduce.cpp, launched as the host does it."""
        own = f"{instance.name}_reduce_kernel"
        run = job.run
        if own in run.code.kernels:
            operation = OPERATIONS[instance.operation]
            in_vectors = LAYOUTS[instance.layout].channels_last_in(operation.written)
            width = min(4, instance.c_vector) if in_vectors else 1
            lanes = _reduce_lanes(elements, split_k) if operation.shares_splits else 1
            blocks = -(-(elements // width) // (self._threads // lanes))
            return self._launch(run, own, _Planned(job.launch.arguments, blocks, self._threads)).steps
        width, lanes = 1 if elements % 4 else 4, _reduce_lanes(elements, split_k)
        arguments = struct.pack("<QQqiii4x", job.partials, job.address, elements, split_k, width, lanes)
        blocks = -(-elements // (self._threads // lanes * width))
        kernel = f"ckgen_split_k_reduce_{element_of(instance.dtype, 'wei').name}"
        return self._launch_shared(run, "reduce.cpp", kernel, _Planned(arguments, blocks, self._threads)).steps


def _reduce_lanes(elements: int, split_k: int) -> int:
    """The threads that share the splits of a weight, as ckgen/epilogue/split_k_reduce.hpp counts them."""
    lanes = 1
    while lanes < 32 and split_k // lanes >= 16 and elements // 4 * lanes < 1 << 16:
        lanes *= 2
    return lanes


def _launch_threads(tree: Path) -> int:
    """The threads of a workgroup of all reduction kernels, from their headers."""
    headers = (tree / "include/ckgen/epilogue").glob("*_reduce.hpp")
    found = {
        int(number)
        for header in headers
        for number in re.findall(r"int (?:launch_threads|kReduceThreads) = (\d+);", header.read_text(encoding="utf-8"))
    }
    (threads,) = found
    return threads

"""One convolution on emulated machine code: the same launch as the library's, and its result compared with float64."""

from __future__ import annotations

import ctypes
import re
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ckgen.conv.dtypes import element_of
from ckgen.conv.encoding import decode
from ckgen.conv.layout import TensorName, to_physical
from ckgen.conv.problem import ConvProblem
from ckgen.library.c_api import CProblem
from ckgen.library.d_tensors import d_slots, fuse, scalar_values
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA, OPERATIONS
from ckgen.verify.run_tensors import Data
from tests.machine.code_object import CodeObject
from tests.machine.engine import Engine
from tests.machine.launch import launch
from tests.machine.memory import Memory

POISON = 0xFFFD  # NaN in every type, alone or doubled


@dataclass(frozen=True)
class Outcome:
    """Result of a run: the element closest to its tolerance or furthest beyond it, the split-K factor, and instructions
    run."""

    error: float
    tolerance: float
    split_k: int
    instructions: int

    @property
    def ok(self) -> bool:
        """True if every element is within its tolerance (NaN is not)."""
        return self.error <= self.tolerance


@dataclass(frozen=True)
class Reducer:
    """The kernel that sums the split-K partials: its code and, from its header, the threads per workgroup. The
    reduction kernel that each backward-data instance contains has the same number.

    The launch of the former is that of the host library; the latter's has one thread per element of the sum, of which
    some are idle if the code sums several elements per thread.
    """

    code: CodeObject
    threads: int

    @classmethod
    def make(cls, code: CodeObject, tree: Path) -> Reducer:
        text = (tree / "include/ckgen/epilogue/split_k_reduce.hpp").read_text()
        (threads,) = re.findall(r"int launch_threads = (\d+);", text)
        own = (tree / "include/ckgen/epilogue/bwd_data_reduce.hpp").read_text()
        assert f"int launch_threads = {threads};" in own
        return cls(code, int(threads))


@dataclass(frozen=True)
class Machine:
    """Everything except the instance: the engine, the host library that plans launches, and the reducer."""

    engine: Engine
    library: Library
    reducer: Reducer

    def run(
        self, code: CodeObject, name: str, problem: ConvProblem, data: Data, split_k: int, *, lazy: bool, seed: int
    ) -> Outcome:
        """Run an instance and compare. Raise Fault if the machine code does something forbidden."""
        instance = self.library.instance(name)
        layout, dtype, written = instance.layout, instance.dtype, OPERATIONS[instance.operation].written
        memory, element = Memory(), element_of(dtype, written)
        result = np.empty(problem.shape(written, layout), element.storage)
        workspace = np.empty(self.library.workspace_size(name, problem, split_k=split_k) // 2, np.uint16)
        for array in (result, workspace):
            array.reshape(-1).view(np.uint16)[:] = POISON
        address = {written: memory.add(written, result, writable=True)}
        for tensor, values in data.tensors.items():
            array = np.ascontiguousarray(values.transpose(to_physical(tensor, layout)))
            address[tensor] = memory.add(tensor, array, writable=False)
        c_problem = CProblem.make(problem, layout, split_k)
        self._fuse(c_problem, name, problem, data, memory)
        partials = memory.add("workspace", workspace, writable=True) if workspace.size else 0
        arguments, blocks, threads = self._plan(name, c_problem, address, partials)
        how = {"lazy": lazy, "seed": seed}
        self.engine.forget()
        done = launch(self.engine, code, f"{name}_kernel", blocks, threads, arguments, memory, **how)  # type: ignore[arg-type]
        used = self.library.split_k(name, problem, split_k)
        if used > 1 and instance.operation == BWD_DATA:  # the instance's own kernel, with the same arguments
            blocks = -(-(result.size // min(4, instance.c_vector)) // self.reducer.threads)
            kernel = f"{name}_reduce_kernel"
            self.engine.forget()
            done += launch(self.engine, code, kernel, blocks, self.reducer.threads, arguments, memory, **how)  # type: ignore[arg-type]
        elif used > 1:
            done += self._reduce(dtype, result.size, used, address["wei"], partials, memory, lazy=lazy, seed=seed)
        order = to_physical(written, layout)
        error = np.abs(decode(result, element) - data.expected.transpose(order))
        limit = data.allowance(element).transpose(order)
        at = int(np.argmax(np.where(np.isnan(error), np.inf, error / limit)))
        return Outcome(float(error.flat[at]), float(limit.flat[at]), used, done)

    def _fuse(self, c_problem: CProblem, name: str, problem: ConvProblem, data: Data, memory: Memory) -> None:
        """Add the D tensors and scalars of an instance's function."""
        function = self.library.function_of(name)
        slots = d_slots(self.library.instance(name), function)
        fuse(c_problem, problem, slots)
        c_problem.set_scalars(scalar_values(function, data.scalars))
        for at, slot in enumerate(slots):
            array = np.ascontiguousarray(data.d_array(at, slot))
            c_problem.d[at].data = memory.add(f"D{at}", array, writable=False)

    def _plan(
        self, name: str, c_problem: CProblem, address: dict[TensorName, int], partials: int
    ) -> tuple[bytes, int, int]:
        """The kernel's arguments, workgroups and threads, from `ckgen_plan` of the C API."""
        space = (ctypes.c_char * 4096)()
        size, blocks, threads = ctypes.c_int64(), ctypes.c_uint32(), ctypes.c_uint32()
        pointers = [ctypes.c_void_p(address[tensor]) for tensor in ("in", "wei", "out")]
        plan = ctypes.CDLL(self.library.path).ckgen_plan
        status = plan(
            ctypes.c_int32(self.library.names.index(name)),
            ctypes.byref(c_problem),
            *pointers,
            ctypes.c_void_p(partials),
            space,
            ctypes.c_int64(len(space)),
            *(ctypes.byref(out) for out in (size, blocks, threads)),
        )
        assert status == 0 and 0 < size.value <= len(space), f"{name}: ckgen_plan failed with {status}"
        return space.raw[: size.value], blocks.value, threads.value

    def _reduce(
        self, dtype: str, elements: int, split_k: int, wei: int, partials: int, memory: Memory, *, lazy: bool, seed: int
    ) -> int:
        kernel = f"ckgen_split_k_reduce_{element_of(dtype, 'wei').name}"
        width, lanes = 1 if elements % 4 else 4, 1
        while lanes < 32 and split_k // lanes >= 16 and elements // 4 * lanes < 1 << 16:  # as src/kernels/reduce.cpp
            lanes *= 2
        arguments = struct.pack("<QQqiii4x", partials, wei, elements, split_k, width, lanes)
        threads = self.reducer.threads
        blocks = -(-elements // (threads // lanes * width))
        self.engine.forget()
        return launch(self.engine, self.reducer.code, kernel, blocks, threads, arguments, memory, lazy=lazy, seed=seed)

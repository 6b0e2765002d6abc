"""Hand-made instances of backward data (tests/data/bwd_data_host), compiled for the host, and a run of one of them that
is compared with the float64 reference.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ckgen.conv.dtypes import ELEMENTS
from ckgen.conv.encoding import decode, encode
from ckgen.conv.problem import ConvProblem
from ckgen.elementwise.function import BUILTINS, Function
from ckgen.operations.bwd_data import backward_data
from ckgen.operations.operation import BWD_DATA, OPERATIONS
from ckgen.verify.reference import summing_allowance
from ckgen.verify.reference_fused import DTensor, allowance, fused
from tests.support.objects import compiled

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/data/bwd_data_host"


def _sources_in(folder: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{path.stem}" for path in sorted((ROOT / "templates/src" / folder).glob("*.cpp")))


# Argument, plan and run functions of both operations.
PLANNED_SOURCES = ("op/planned", "op/runner", "kernels/repack", "kernels/weight_copy", *_sources_in("plan"))
RUNTIME = (*PLANNED_SOURCES, *_sources_in("host"))
LAYOUTS = {1: "NWGC/GKXC/NWGK", 2: "NHWGC/GKYXC/NHWGK", 3: "NDHWGC/GKZYXC/NDHWGK"}
_Six, _Three = ctypes.c_int64 * 6, ctypes.c_int64 * 3


class CTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("lengths", _Six), ("strides", _Six)]


class CProblem(ctypes.Structure):
    _fields_ = [
        ("ndim", ctypes.c_int32),
        ("split_k", ctypes.c_int32),
        *((f"{tensor}_{what}", _Six) for tensor in ("in", "wei", "out") for what in ("lengths", "strides")),
        *((name, _Three) for name in ("strides", "dilations", "left_pads", "right_pads")),
        ("d_count", ctypes.c_int32),
        ("scalar_count", ctypes.c_int32),
        ("d", ctypes.POINTER(CTensor)),
        ("scalars", ctypes.POINTER(ctypes.c_float)),
    ]


def build(folder: Path, flags: Sequence[str] = ("-O1",), leave_out: Sequence[str] = ()) -> Path:
    """The shared library of the hand-made instances, without those of the sources named in ``leave_out``."""
    compiler = shutil.which("g++")
    assert compiler, "this test compiles C++ and needs g++"
    (folder / "ckgen").mkdir(parents=True, exist_ok=True)
    (folder / "ckgen/config.h").write_text("#pragma once\n#define CKGEN_PLATFORM_HOST 1\n")
    sources = [path for path in sorted(HERE.glob("*.cpp")) if path.stem not in ("shim", *leave_out)]
    (folder / "instances.hpp").write_text(_registry(sources))
    templates = ROOT / "templates"
    sources += [HERE / "shim.cpp", *(templates / f"src/{name}.cpp" for name in RUNTIME)]
    options = ["-std=c++17", "-fPIC", "-Wall", "-Wextra", "-Werror", *flags]
    include = [folder, templates / "include", ROOT / "generated/include", HERE]
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda source: str(compiled(compiler, source, options, include).path), sources))
    library = folder / "data.so"
    subprocess.run([compiler, *flags, "-shared", *objects, "-o", str(library), "-lpthread"], check=True)
    return library


def _registry(sources: Sequence[Path]) -> str:
    """A registry of every instance of the sources by name."""
    names = [name for path in sources for name in re.findall(r"^CKGEN_TEST_INSTANCE\((\w+),", path.read_text(), re.M)]
    return "\n".join(
        [
            "#include <map>",
            "namespace ckgen::instances {",
            *(f"std::unique_ptr<tensor_operation::device::BaseOperator> base_{name}();" for name in names),
            "}",
            "static std::map<std::string, std::unique_ptr<ckgen::tensor_operation::device::BaseOperator>> make_all() {",
            "    std::map<std::string, std::unique_ptr<ckgen::tensor_operation::device::BaseOperator>> all;",
            *(f'    all.emplace("{name}", ckgen::instances::base_{name}());' for name in names),
            "    return all;",
            "}",
        ]
    )


@dataclass(frozen=True)
class Given:
    """A D tensor for a run: storage array in the axis order of ``layout``, with element type ``dtype``."""

    array: np.ndarray[Any, Any]
    dtype: str
    layout: str


@dataclass(frozen=True)
class Fused:
    """A function with its D tensors by name and scalars."""

    function: Function = BUILTINS["PassThrough"]
    tensors: Mapping[str, Given] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)
    in_place: bool = False  # the first D tensor is the input itself


class BwdDataLibrary:
    """The compiled instances."""

    def __init__(self, path: Path) -> None:
        self._api = ctypes.CDLL(str(path))
        self._api.last_sentence.restype = ctypes.c_char_p
        self._api.workspace_bytes.restype = ctypes.c_int64

    def schedule(self, seed: int, threads: int) -> None:
        self._api.schedule(ctypes.c_uint64(seed), threads)

    def reason(self, name: str, problem: CProblem, *pointers: int) -> str:
        """The reason why the instance refuses the problem, "" if it takes it."""
        places = [ctypes.c_void_p(pointer) for pointer in pointers or (0, 0, 0)]
        status = self._api.refused(name.encode(), ctypes.byref(problem), *places)
        assert status in (0, 1), self._sentence()
        return self._sentence() if status else ""

    def split_k(self, name: str, problem: CProblem) -> int:
        return int(self._api.used_split_k(name.encode(), ctypes.byref(problem)))

    def run(self, name: str, c: CProblem, in_: Any, wei: Any, out: Any) -> None:
        bytes_ = self._api.workspace_bytes(name.encode(), ctypes.byref(c))
        assert bytes_ >= 0, self._sentence()
        workspace = np.full(bytes_ // 4 + 64, np.nan, np.float32)
        start = (-workspace.ctypes.data % 64) // 4
        places = [array.ctypes.data for array in (in_, wei, out)]
        places.append(workspace[start:].ctypes.data if bytes_ else 0)
        status = self._api.run(name.encode(), ctypes.byref(c), *map(ctypes.c_void_p, places))
        assert status == 0, f"{name}: {self._sentence()}"

    def run_dense(self, c: CProblem, in_: Any, wei: Any, out: Any, short_lengths: bool = False) -> int:
        """Run a two-dimensional problem of one group through the dense operator and return its status."""
        places = [ctypes.c_void_p(array.ctypes.data) for array in (in_, wei, out)]
        return int(self._api.run_dense(ctypes.byref(c), *places, int(short_lengths)))

    def _sentence(self) -> str:
        return str(self._api.last_sentence().decode())


def c_problem(problem: ConvProblem, layout: str, split_k: int = 1) -> CProblem:
    """The C form of a problem with gap-free tensors."""
    made = CProblem(ndim=problem.ndim, split_k=split_k)
    for tensor in ("in", "wei", "out"):
        setattr(made, f"{tensor}_lengths", _Six(*problem.lengths(tensor)))
        setattr(made, f"{tensor}_strides", _Six(*problem.strides_of(tensor, layout)))
    for name in ("strides", "dilations", "left_pads", "right_pads"):
        setattr(made, name, _Three(*getattr(problem, name)))
    return made


def add_fusion(c: CProblem, problem: ConvProblem, fusion: Fused, in_: Any) -> list[Any]:
    """Set the D tensors and scalars of a problem; return the objects that must outlive its use."""
    axes = storage_axes("in", problem.ndim)
    lengths = dict(zip(axes, problem.lengths("in"), strict=True))
    tensors = (CTensor * max(1, len(fusion.function.tensors)))()
    for at, tensor in enumerate(fusion.function.tensors):
        given = fusion.tensors[tensor]
        own = given.layout.replace("_", "")
        steps = {axis: int(np.prod([lengths[inner] for inner in own[i + 1 :]])) for i, axis in enumerate(own)}
        array = in_ if fusion.in_place and at == 0 else given.array
        strides = [steps.get(axis, 0) for axis in axes]
        tensors[at] = CTensor(array.ctypes.data, _Six(*lengths.values()), _Six(*strides))
    scalars = {**dict(fusion.function.scalars), **fusion.scalars}
    values = (ctypes.c_float * max(1, len(scalars)))(*scalars.values())
    c.d_count, c.d = len(fusion.function.tensors), tensors
    c.scalar_count, c.scalars = len(scalars), values
    return [tensors, values]


def storage_axes(tensor: str, ndim: int) -> str:
    """Axis letters in logical order."""
    space = {1: "X", 2: "YX", 3: "ZYX"} if tensor == "wei" else {1: "W", 2: "HW", 3: "DHW"}
    return {"in": "GNC", "wei": "GKC", "out": "GNK"}[tensor] + space[ndim]


def random_storage(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Any:
    return encode(rng.uniform(-1, 1, shape).astype(np.float32), ELEMENTS[dtype])


def check(
    library: BwdDataLibrary,
    name: str,
    problem: ConvProblem,
    dtype: str,
    layout: str = "",
    split_k: int = 1,
    fusion: Fused | None = None,
    seed: int = 0,
) -> None:
    """Run an instance on random data into a poisoned input gradient and compare with the float64 reference."""
    fusion, layout = fusion or Fused(), layout or LAYOUTS[problem.ndim]
    rng, element = np.random.default_rng(seed), ELEMENTS[dtype]
    wei = random_storage(rng, problem.shape("wei", layout), dtype)
    out = random_storage(rng, problem.shape("out", layout), dtype)
    in_ = encode(np.full(problem.shape("in", layout), np.nan), element)
    d = dict(fusion.tensors)
    if fusion.in_place:
        in_[...] = d[fusion.function.tensors[0]].array
    c = c_problem(problem, layout, split_k)
    alive = add_fusion(c, problem, fusion, in_)
    library.run(name, c, in_, wei, out)
    del alive

    def logical(tensor: str, array: Any) -> Any:
        own = layout.split("/")[("in", "wei", "out").index(tensor)]
        return decode(array, element).transpose([own.index(axis) for axis in storage_axes(tensor, problem.ndim)])

    exact_out, exact_wei = logical("out", out), logical("wei", wei)
    gradient = backward_data(problem, exact_out, exact_wei)
    scale = float(np.abs(exact_out).max() * np.abs(exact_wei).max())
    error = summing_allowance(OPERATIONS[BWD_DATA].accumulations(problem), scale)
    tensors = {key: DTensor(one.array, one.dtype, one.layout) for key, one in d.items()}
    expected = fused(gradient, error, fusion.function, tensors, fusion.scalars)
    limit = allowance(element, expected)
    wrong = ~(np.abs(logical("in", in_) - expected.value) <= limit)
    if wrong.any():
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise AssertionError(
            f"{name}, {problem}, split_k {split_k}: {int(wrong.sum())} of {wrong.size} elements are wrong, the first "
            f"at {first}: {logical('in', in_)[first]} is not {expected.value[first]} within {limit[first]}"
        )

"""Compile small libraries with g++ directly from a rendered tree, without CMake, and run single instances."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ckgen.conv.dtypes import Element, element_of
from ckgen.conv.encoding import decode, encode
from ckgen.conv.layout import TENSORS, to_logical, to_physical
from ckgen.conv.problem import ConvProblem
from ckgen.elementwise.function import Function
from ckgen.generate.command import GenerateCommand
from ckgen.generate.inputs import load_context
from ckgen.generate.render import render_tree
from ckgen.instance.instance import Instance
from ckgen.library.d_tensors import d_slots
from ckgen.library.library import Library
from ckgen.operations.operation import OPERATIONS
from ckgen.selection.takes import takes
from ckgen.verify.run_tensors import make_data
from tests.support.objects import Failed, compiled

ROOT = Path(__file__).resolve().parents[2]
JOINED = 4  # as many sources of instances are joined: those of fewer are objects that other libraries share
BATCH = 8  # sources of instances in one file
# Half the time of plain -O1, compiled as fast. With induction variables optimized, g++ 12.2 lets a generic instance of
# backward data of k_per_block 160 read past its tensors; at -O0, -O2 and -O3 it does not.
FAST = ("-ftree-vectorize", "-finline-small-functions", "-march=native", "-fno-ivopts")
CHECKED = ("-Wall", "-Wextra", "-Werror")  # flags of sources that must compile without warnings


def compile_with(folder: Path, arguments: Sequence[str]) -> None:
    """Run g++ in ``folder``. If it fails, report its exit and its output, which is empty if it was killed."""
    compiler = shutil.which("g++")
    assert compiler, "this test compiles C++ and needs g++"
    command = [compiler, "-std=c++17", "-O1", "-fPIC", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"g++ {ending(done.returncode)}\n{done.stderr[-4000:]}"


def ending(status: int) -> str:
    """The end of a process in words, from the status of ``subprocess``: a negative one is the signal that killed it."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was killed by {signal.Signals(-status).name}; did memory run out?"


def write_tree(folder: Path, instances: Sequence[Instance], functions: Sequence[Function] = ()) -> Path:
    """The rendered tree of ``instances`` below ``folder``, configured for the host; ``functions`` are those of the
    spec."""
    tree = folder / "tree"
    for path, text in render_tree(instances, load_context(GenerateCommand(), "", {}, functions)).items():
        file = tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    # The host also executes code for those architectures.
    used = {macro for path in tree.rglob("*.cpp") for macro in re.findall(r"CKGEN_HAS_SM_\w+", path.read_text())}
    made = {"config": ["CKGEN_PLATFORM_HOST"], "contents": sorted({*used, "CKGEN_HAS_SM_90A", "CKGEN_HAS_AMD_ONLY"})}
    for name, macros in made.items():
        lines = "".join(f"#define {macro} 1\n" for macro in macros)
        (tree / f"include/ckgen/{name}.h").write_text(f"#pragma once\n{lines}")
    return tree


def header(tree: Path, name: str) -> Path:
    """The header of a tree with this file name, in any folder; fails unless there is exactly one."""
    found = sorted((tree / "include").rglob(name))
    assert len(found) == 1, f"{len(found)} headers are called {name}: {found}"
    return found[0]


def source(tree: Path, name: str) -> Path:
    """The C++ source of a tree's runtime with this file name, in any folder; fails unless there is exactly one."""
    found = sorted((tree / "src").rglob(name))
    assert len(found) == 1, f"{len(found)} sources are called {name}: {found}"
    return found[0]


def link(folder: Path, tree: Path, flags: Sequence[str] = ()) -> Path:
    """Compile a tree to a shared library."""
    sources = batched(sorted((tree / "src").rglob("*.cpp")), tree / "batches")
    return shared_library(folder / "libckgen_conv.so", sources, [tree / "include"], flags)


def batched(sources: Sequence[Path], folder: Path) -> list[Path]:
    """The sources, where those of many instances are joined in files in ``folder``: a compiler reads the same headers
    for each file, which takes longer than an instance."""
    alike: dict[str, list[Path]] = {}
    for path in sources:
        own = path.parents[1].name in OPERATIONS
        alike.setdefault(f"{path.parents[1].name}_{path.parent.name}" if own else str(path), []).append(path)
    made = []
    for name, group in alike.items():
        if len(group) < JOINED:
            made += group
            continue
        folder.mkdir(exist_ok=True)
        for first in range(0, len(group), BATCH):
            made.append(folder / f"{name}_{first}.cpp")
            made[-1].write_text("".join(path.read_text() for path in group[first : first + BATCH]))
    return made


def shared_library(library: Path, sources: Sequence[Path], include: Sequence[Path], flags: Sequence[str]) -> Path:
    """Compile sources to a shared library; objects that an earlier library compiled are taken from the store."""
    objects = [str(_object(source, include, flags)) for source in sources]
    compile_with(library.parent, [*flags, "-shared", *objects, "-o", str(library), "-lpthread"])
    return library


def _object(source: Path, include: Sequence[Path], flags: Sequence[str]) -> Path:
    """The object of a source. With macros alone it is that of CHECKED, which other libraries share, unless a planted
    bug makes the compiler warn."""
    # Kernels run longer than they compile in most tests, and the host's engine runs in all.
    options = ("-std=c++17", "-O2" if source.parent.name == "host" else "-O1", *FAST, "-fPIC")
    try:
        if all(flag.startswith("-D") for flag in flags):
            with contextlib.suppress(Failed):
                return compiled("g++", source, (*options, *CHECKED, *flags), include).path
        return compiled("g++", source, (*options, *flags), include).path
    except Failed as failed:
        raise AssertionError(f"g++ {ending(failed.status)}\n{failed.said[-4000:]}") from None


def run_instance(
    library: Library, name: str, problem: ConvProblem, split_k: int = 1, *, in_place: bool = False, gap: int = 0
) -> None:
    """Run an instance on random data into a poisoned result and compare with the float64 reference. With ``in_place``,
    its D tensor is the result itself. in and out are the first elements of rows with ``gap`` more, which are NaN: no
    result may depend on them, and a run must not write them."""
    instance, function = library.instance(name), library.function_of(name)
    assert takes(instance, problem), f"{name} runs {problem}, and ckgen.select without a library would leave it out"
    written = OPERATIONS[instance.operation].written
    data = make_data(problem, instance.dtype, 7, instance.operation, function)
    element = element_of(instance.dtype, written)
    arrays = {
        tensor: np.ascontiguousarray(array.transpose(to_physical(tensor, instance.layout)))
        for tensor, array in data.tensors.items()
    }
    ds = [np.ascontiguousarray(data.d_array(i, slot)) for i, slot in enumerate(d_slots(instance, function))]
    poisoned = encode(np.full(problem.shape(written, instance.layout), np.nan), element)
    arrays[written] = ds[0] if in_place else poisoned
    wide = {
        tensor: _widened(array, element_of(instance.dtype, tensor), instance.layout, 0 if tensor == "wei" else gap)
        for tensor, array in arrays.items()
    }
    operands = (_first_of(wide[tensor], arrays[tensor].shape) for tensor in TENSORS)
    library.run(name, problem, *operands, ds=ds, scalars=data.scalars, split_k=split_k)
    results = _first_of(wide[written], arrays[written].shape)
    error = np.abs(decode(results, element).transpose(to_logical(written, instance.layout)) - data.expected)
    assert (error <= data.allowance(element)).all(), (name, problem, split_k, gap, error.max())
    beside = decode(wide[written], element)[..., wide[written].shape[-1] - gap :] if written != "wei" else np.empty(0)
    assert np.isnan(beside).all(), (name, problem, split_k, gap, "elements beside the result were written")


def _widened(array: Any, element: Element, layout: str, gap: int) -> Any:
    """Rows with ``gap`` more elements, which are NaN; the array itself for none. A row has the channels of all groups
    where these are side by side."""
    if gap == 0:
        return array
    rows = array.reshape(*array.shape[:-2], -1) if layout.endswith(("GC", "GK")) else array
    return np.concatenate([rows, encode(np.full((*rows.shape[:-1], gap), np.nan), element)], axis=-1)


def _first_of(wide: Any, shape: tuple[int, ...]) -> Any:
    """The array of this shape at the beginning of each row."""
    if wide.shape == shape:
        return wide
    length = shape[-1] if len(wide.shape) == len(shape) else shape[-2] * shape[-1]
    return wide[..., :length].reshape(shape)

"""The host platform finds what a GPU hides: each bug is planted in a copy of the headers and must be reported.

A planted bug is one textual change. If the text it replaces is gone, the test fails rather than passing on sound code.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ckgen.context import load_context
from ckgen.element import element_of, encode
from ckgen.instance import Instance
from ckgen.library import Library, LibraryError
from ckgen.problem import ConvProblem, make_problem
from ckgen.render import render_tree

ROOT = Path(__file__).resolve().parents[1]
LAYOUT = "NHWGC/GKYXC/NHWGK"
XDL = Instance("xdl", LAYOUT, "f16", "Default", 64, 64, 32, 32, 0, 4, 4, 4, 8, 1)
XDL_TWO_STAGES = Instance("xdl", LAYOUT, "f16", "Default", 64, 64, 32, 32, 0, 4, 4, 4, 8, 2)
WAVELET = Instance("wavelet", LAYOUT, "f16", "Default", 64, 64, 32, 32, 4, 4, 2, 2, 2, 2)
PROBLEM = make_problem(groups=2, batch=3, k=24, c=16, filter=[3, 3], input=[9, 11], pad=1)


@dataclass(frozen=True)
class Plant:
    """Replace ``old`` by ``new`` in ``header``; running ``instance`` must then raise a report with all of ``words``."""

    id: str
    header: str
    old: str
    new: str
    instance: Instance
    words: tuple[str, ...]


PLANTS = (
    Plant(
        "removed-barrier",
        "pipeline/xdl.hpp",
        "loader.store(thread, stage, registers);\n            thread.barrier();",
        "loader.store(thread, stage, registers);",
        XDL,
        ("LDS read of bytes that nobody wrote", "wave 0", "block/wave_mma.hpp"),
    ),
    Plant(
        "removed-barrier-after-reading",
        "pipeline/xdl.hpp",
        "if constexpr(D::stages == 1)\n                thread.barrier();",
        "",
        XDL,
        ("LDS race", "write by wave", "read by", "block/wave_mma.hpp", "block/tile_copy.hpp", "no barrier between"),
    ),
    Plant(
        "wavelet-reads-early",
        "pipeline/wavelet.hpp",
        "const int base = (half % 2 * tiles_per_half + i)",
        "const int base = ((half + 1) % 2 * tiles_per_half + i)",
        WAVELET,
        ("LDS", "block/wave_mma.hpp"),
    ),
    Plant(
        "lds-offset-off-by-one",
        "block/tile_copy.hpp",
        "const int byte = lds_base + (",
        "const int byte = lds_base + 16 + (",
        XDL,
        ("LDS", "at"),
    ),
    Plant(
        "lds-past-the-end",
        "pipeline/xdl.hpp",
        "const int stage = D::stages == 1 ? 0 : t % D::stages;",
        "const int stage = t + 2;",
        XDL_TWO_STAGES,
        ("LDS write of", "is outside its", "bytes", "block/tile_copy.hpp"),
    ),
    Plant(
        "missing-bounds-check-on-store",
        "epilogue/cshuffle.hpp",
        "&& m < args.m && n < args.n)",
        ")",
        XDL,
        ("global write of", "out of bounds", "weight", "epilogue/cshuffle.hpp"),
    ),
    Plant(
        "missing-bounds-check-on-load",
        "conv/bwd_weight_view.hpp",
        "return static_cast<uint32>(bytes < 0 ? 0 : bytes > limit ? limit : bytes);",
        "return static_cast<uint32>(limit);",
        XDL,
        ("global read of", "out of bounds", "conv/bwd_weight_view.hpp"),
    ),
    Plant(
        "role-skips-a-barrier",
        "pipeline/wavelet.hpp",
        "            Epilogue::accompany(thread);\n",
        "",
        WAVELET,
        ("barrier mismatch", "waits at barrier ckgen/epilogue/cshuffle.hpp", "waves 0-3", "finished"),
    ),
    Plant(
        "lanes-of-a-wave-part",
        "epilogue/cshuffle.hpp",
        "thread.barrier();  // the main loop's LDS reads are over",
        "if(math_id % 2 == 0) thread.barrier();",
        XDL,
        ("barrier mismatch", "threads 0-0", "waits at barrier ckgen/epilogue/cshuffle.hpp"),
    ),
    Plant(
        "read-of-what-nobody-wrote",
        "pipeline/xdl.hpp",
        "loader.store(thread, stage, registers);",
        "if(id != 77) loader.store(thread, stage, registers);",
        XDL,
        ("LDS read of bytes that nobody wrote", "block/wave_mma.hpp"),
    ),
)


def compile_with(folder: Path, arguments: list[str]) -> None:
    compiler = shutil.which("g++")
    assert compiler, "this test compiles C++ and needs g++"
    command = [compiler, "-std=c++17", "-O1", "-fPIC", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def write_tree(folder: Path, instances: tuple[Instance, ...]) -> Path:
    tree = folder / "tree"
    for path, text in render_tree(instances, load_context("instances.yaml", "", "ckgen generate", {})).items():
        file = tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tree / "include/ckgen/config.h").write_text("#pragma once\n#define CKGEN_PLATFORM_HOST 1\n")
    return tree


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The object files that do not depend on an instance, compiled once."""
    folder = tmp_path_factory.mktemp("runtime")
    tree = write_tree(folder, (XDL,))
    sources = sorted(str(path) for path in (tree / "src/runtime").glob("*.cpp"))
    compile_with(folder, [f"-I{tree / 'include'}", "-c", *sources])
    return sorted(str(path) for path in folder.glob("*.o"))


def build(folder: Path, runtime: list[str], instances: tuple[Instance, ...], plant: Plant | None = None) -> Library:
    """Compile a library of ``instances`` with g++ from a tree of its own, with ``plant`` in its headers."""
    tree = write_tree(folder, instances)
    if plant:
        header = tree / "include/ckgen" / plant.header
        text = header.read_text()
        assert text.count(plant.old) == 1, f"{plant.id}: the text to replace is not in {plant.header} exactly once"
        header.write_text(text.replace(plant.old, plant.new))
    runtime_folder = tree / "src/runtime"
    sources = sorted(str(path) for path in (tree / "src").rglob("*.cpp") if path.parent != runtime_folder)
    compile_with(
        folder,
        [f"-I{tree / 'include'}", "-shared", *sources, *runtime, "-o", "libckgen_conv.so", "-lpthread"],
    )
    return Library(folder / "libckgen_conv.so")


def run(library: Library, instance: Instance, problem: ConvProblem, seed: int = 0) -> None:
    rng = np.random.default_rng(5)
    arrays = {}
    for tensor in ("in", "out", "wei"):
        values = rng.standard_normal(problem.shape(tensor, instance.layout)).astype(np.float32)
        arrays[tensor] = encode(values, element_of(instance.dtype, tensor))
    library.configure_host(seed=seed)
    library.run(instance.name, problem, arrays["in"], arrays["wei"], arrays["out"])


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.id)
def test_planted_bug_is_reported(plant: Plant, runtime: list[str], tmp_path: Path) -> None:
    library = build(tmp_path, runtime, (plant.instance,), plant)
    with pytest.raises(LibraryError) as caught:
        run(library, plant.instance, PROBLEM)
    message = str(caught.value)
    assert "workgroup" in message
    for word in plant.words:
        assert word in message, message


def test_sound_kernels_run_in_any_order(runtime: list[str], tmp_path: Path) -> None:
    """No report without a bug, whatever order the waves and lanes run in."""
    instances = (WAVELET, XDL, XDL_TWO_STAGES)
    library = build(tmp_path, runtime, instances)
    for instance in instances:
        for seed in (0, 1, 2, 99):
            run(library, instance, PROBLEM, seed)

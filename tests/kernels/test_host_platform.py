"""Test that the host platform finds bugs that a GPU hides: each is planted in a copy of the headers and must be
reported.

A planted bug is one textual change. If the replaced text does not exist, the test fails instead of passing on sound
code.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ckgen.conv.problem import make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library, LibraryError
from tests.support.cxx import ROOT, compile_with, header, link, run_instance, source, write_tree
from tests.support.planted_bugs import without_folders
from tests.support.planting import replace_once
from tests.support.sweep.sampled import every_third

pytestmark = pytest.mark.compiles

LAYOUT = "NHWGC/GKYXC/NHWGK"
XDL = Instance("xdl", LAYOUT, "f16", "Default", 64, 64, 32, 32, 0, 4, 4, 4, 8, 1)
XDL_TWO_STAGES = Instance("xdl", LAYOUT, "f16", "Default", 64, 64, 32, 32, 0, 4, 4, 4, 8, 2)
WAVELET = Instance("wavelet", LAYOUT, "f16", "Default", 64, 64, 32, 32, 4, 4, 2, 2, 2, 2)
PROBLEM = make_problem(groups=2, batch=3, k=24, c=16, filter=[3, 3], input=[9, 11], pad=1)


# A kernel whose threads synchronise through mbarriers, then one with more threads and more LDS in the same workgroup.
REUSED = """#include "ckgen/platform/host_lds.hpp"
int main() {
    ckgen::platform::CheckedLds lds;
    const int launches[][2] = {{192, 4096}, {768, 4096}, {128, 1024}, {768, 8192}};
    for(const auto& [threads, bytes] : launches) {
        lds.prepare(threads, bytes);
        lds.begin();
        const bool clocks = threads < 768;
        if(clocks)
            lds.track();
        for(int offset = 0; offset < bytes; offset += 4) {
            const auto thread = lds.by_thread(offset / 4 % threads, ckgen::platform::Site::here());
            lds.access(thread, offset, 4, true);
            lds.access(thread, offset, 4, false);
        }
    }
}
"""


def test_a_workgroup_forgets_who_read_in_the_kernel_before(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, (XDL,))
    (tmp_path / "reused.cpp").write_text(REUSED, encoding="utf-8")
    compile_with(tmp_path, ["-D_GLIBCXX_ASSERTIONS", f"-I{tree / 'include'}", "reused.cpp", "-o", "reused"])
    done = subprocess.run([tmp_path / "reused"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# Runs a kernel of each library and prints how many mappings of the process each needed on average.
LOADED = """
import sys
from pathlib import Path
from ckgen.library.library import Library
from tests.kernels.test_host_platform import PROBLEM, XDL
from tests.support.cxx import run_instance
mappings = lambda: len(Path("/proc/self/maps").read_text().splitlines())
libraries = [Library(path) for path in sys.argv[1:]]
begin = mappings()
for library in libraries:
    run_instance(library, XDL.name, PROBLEM)
print((mappings() - begin) / len(libraries))
"""
# A system older than Linux 6.13, where each guard page is a mapping.
OLD_MADVISE = """
#include <errno.h>
int madvise(void* begin, unsigned long bytes, int advice) { (void)begin, (void)bytes; return errno = EINVAL, -advice; }
"""
# Writes to a stack, from its upper end down to the byte GUARD.
OVERFLOW = """#include "ckgen/platform/host_stacks.hpp"
int main() {
    ckgen::platform::FiberStacks stacks;
    volatile char* begin = stacks.add(3) + ckgen::platform::FiberStacks::kBytes;  // the second of three
    for(long byte = ckgen::platform::FiberStacks::kBytes - 1; byte >= GUARD; --byte)
        begin[byte] = 1;
}
"""


@pytest.mark.parametrize("old", [False, True])
def test_stacks_need_few_mappings(tmp_path: Path, old: bool) -> None:
    """A process may have 65530 mappings, so 256 threads with two of them each would exhaust them with 128 engines."""
    path = build(tmp_path, (XDL,)).path
    copies = [shutil.copy(path, tmp_path / f"copy-{number}.so") for number in range(5)]
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    if old:
        environment["LD_PRELOAD"] = without_guards(tmp_path)
    command = [sys.executable, "-c", LOADED, *copies]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 40, "mappings per library"


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(("least", "status"), [("4096", 0), ("0", -signal.SIGSEGV)])
def test_a_stack_that_overflows_faults(tmp_path: Path, old: bool, least: str, status: int) -> None:
    tree = write_tree(tmp_path, (XDL,))
    (tmp_path / "overflow.cpp").write_text(OVERFLOW, encoding="utf-8")
    sources = ["overflow.cpp", str(source(tree, "stacks.cpp"))]
    compile_with(tmp_path, [f"-DGUARD={least}", f"-I{tree / 'include'}", *sources, "-o", "overflow"])
    environment = dict(os.environ, LD_PRELOAD=without_guards(tmp_path)) if old else None
    done = subprocess.run([tmp_path / "overflow"], capture_output=True, env=environment, check=False)
    assert done.returncode == status


def without_guards(folder: Path) -> str:
    """A library that replaces madvise by that of an older system."""
    (folder / "madvise.c").write_text(OLD_MADVISE, encoding="utf-8")
    compile_with(folder, ["-x", "c", "-std=c11", "-shared", "madvise.c", "-o", "madvise.so"])
    return str(folder / "madvise.so")


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
        "xdl.hpp",
        "loader.store(thread, stage, registers);\n            thread.barrier();",
        "loader.store(thread, stage, registers);",
        XDL,
        ("LDS read of bytes that nobody wrote", "wave 0", "mfma.hpp"),
    ),
    Plant(
        "removed-barrier-after-reading",
        "xdl.hpp",
        "if constexpr(D::stages == 1)\n                thread.barrier();",
        "",
        XDL,
        (
            "LDS race",
            "write by wave",
            "read by",
            "mfma.hpp",
            "tile_copy.hpp",
            "no barrier between",
        ),
    ),
    Plant(
        "wavelet-reads-early",
        "wavelet.hpp",
        "constexpr int base = Half * tiles_per_half",
        "constexpr int base = (1 - Half) * tiles_per_half",
        WAVELET,
        ("LDS", "mfma.hpp"),
    ),
    Plant(
        "lds-offset-off-by-one",
        "tile_copy.hpp",
        "const int byte = lds_base + lds_byte(",
        "const int byte = lds_base + 16 + lds_byte(",
        XDL,
        ("LDS", "at"),
    ),
    Plant(
        "lds-past-the-end",
        "xdl.hpp",
        "const int stage = D::stages == 1 ? 0 : t % D::stages;",
        "const int stage = t + 2;",
        XDL_TWO_STAGES,
        ("LDS write of", "is outside its", "bytes", "tile_copy.hpp"),
    ),
    Plant(
        "missing-bounds-check-on-store",
        "bwd_weight_store.hpp",
        "&& m < args_.m && n < args_.n)",
        ")",
        XDL,
        ("global write of", "out of bounds", "weight", "bwd_weight_store.hpp"),
    ),
    Plant(
        "missing-bounds-check-on-load",
        "bwd_weight_view.hpp",
        "return static_cast<uint32>(bytes < 0 ? 0 : bytes > limit ? limit : bytes);",
        "return static_cast<uint32>(limit);",
        XDL,
        ("global read of", "out of bounds", "tile_copy.hpp"),
    ),
    Plant(
        "rows-past-the-last",
        "bwd_weight_view.hpp",
        "rows_left_ >= Copy::k_per_block",
        "rows_left_ != 0",
        XDL,
        ("global read of", "out of bounds", "tile_copy.hpp"),
    ),
    Plant(
        "lanes-outside-the-wave",
        "im2col_source.hpp",
        "next_ = 0;\n        tiles_left_ = tiles_;",
        "next_ = 64;\n        tiles_left_ = tiles_;",
        XDL,
        ("gather of", "leaves the 64 that a lane can read"),
    ),
    Plant(
        "role-skips-a-barrier",
        "wavelet.hpp",
        "Epilogue::accompany(thread); } private:",
        "} private:",
        WAVELET,
        ("barrier mismatch", "waits at barrier cshuffle.hpp", "waves 0-3", "finished"),
    ),
    Plant(
        "lanes-of-a-wave-part",
        "cshuffle.hpp",
        "thread.barrier(); typename Parts::template Store<Shape> store(thread, math_id,",
        "if(math_id % 2 == 0) thread.barrier(); typename Parts::template Store<Shape> store(thread, math_id,",
        XDL,
        ("barrier mismatch", "threads 0-0", "waits at barrier cshuffle.hpp"),
    ),
    Plant(
        "read-of-what-nobody-wrote",
        "xdl.hpp",
        "Loader loader(thread, id, ... loader.store(thread, stage, registers);",
        "Loader loader(thread, id, ... if(id != 77) loader.store(thread, stage, registers);",
        XDL,
        ("LDS read of bytes that nobody wrote", "mfma.hpp"),
    ),
)


def build(folder: Path, instances: tuple[Instance, ...], plant: Plant | None = None) -> Library:
    """A library of ``instances``, with ``plant`` in its headers."""
    tree = write_tree(folder, instances)
    if plant:
        replace_once(header(tree, plant.header), plant.old, plant.new)
    return Library(link(folder, tree))


@pytest.mark.parametrize("plant", every_third(PLANTS), ids=lambda plant: plant.id)
def test_planted_bug_is_reported(plant: Plant, tmp_path: Path) -> None:
    library = build(tmp_path, (plant.instance,), plant)
    with pytest.raises(LibraryError) as caught:
        run_instance(library, plant.instance.name, PROBLEM)
    message = without_folders(str(caught.value))
    assert "workgroup" in message
    for word in plant.words:
        assert word in message, message


def test_sound_kernels_run_in_any_order(tmp_path: Path) -> None:
    """Sound kernels give no report in any order of waves and lanes."""
    instances = (WAVELET, XDL, XDL_TWO_STAGES)
    library = build(tmp_path, instances)
    for instance in instances:
        for seed in (0, 1, 2, 99):
            library.configure_host(seed=seed)
            run_instance(library, instance.name, PROBLEM)

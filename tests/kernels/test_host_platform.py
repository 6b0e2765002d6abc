"""Test that the host platform finds bugs that a GPU hides: each is planted in a copy of the headers and must be
reported.

A planted bug is one textual change. If the replaced text does not exist, the test fails instead of passing on sound
code.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from ckgen.conv.problem import make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library, LibraryError
from tests.support.cxx import compile_with, header, link, replace_once, run_instance, write_tree
from tests.support.planted_bugs import without_folders

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
        "            Epilogue::accompany(thread);\n",
        "",
        WAVELET,
        ("barrier mismatch", "waits at barrier cshuffle.hpp", "waves 0-3", "finished"),
    ),
    Plant(
        "lanes-of-a-wave-part",
        "cshuffle.hpp",
        "thread.barrier();  // the main loop's LDS reads are over",
        "if(math_id % 2 == 0) thread.barrier();",
        XDL,
        ("barrier mismatch", "threads 0-0", "waits at barrier cshuffle.hpp"),
    ),
    Plant(
        "read-of-what-nobody-wrote",
        "xdl.hpp",
        "loader.store(thread, stage, registers);",
        "if(id != 77) loader.store(thread, stage, registers);",
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


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.id)
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

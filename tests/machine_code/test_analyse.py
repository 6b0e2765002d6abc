"""ckgen isa on real compiler output: resources, roles and tiles, compared with LLVM's own numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.build.toolchain import Toolchain, find_toolchain
from ckgen.errors import CkgenError
from ckgen.generate import writer
from ckgen.generate.render import render_tree
from ckgen.instance.instance import Instance
from ckgen.machine_code.analyse import CodeReport, analyse
from ckgen.machine_code.compile import assemble, compile_and_read, identify
from ckgen.operations.operation import BWD_DATA
from tests.support.amd_assembly import LOAD_LOOP, MATH_LOOP, kernel_text
from tests.support.specs import WEIGHT_LAYOUTS
from tests.support.trees import GENERIC, WAVELET, XDL, context

pytestmark = pytest.mark.compiles

TOOLS = find_toolchain()
SMALL = Instance("wavelet", WEIGHT_LAYOUTS[1], "f16", "Default", 64, 64, 32, 32, 4, 4, 2, 2, 2, 4, archs=WAVELET.archs)

WMMA = Instance("wmma", WEIGHT_LAYOUTS[0], "f16", "Default", 128, 128, 64, 16, 0, 4, 8, 8, 8, 1)
DOT = Instance("dl", WEIGHT_LAYOUTS[0], "f16", "Default", 128, 128, 16, 32, 0, 4, 4, 4, 8, 1)
BF16 = replace(XDL, dtype="bf16")
DATA = Instance(
    *("wavelet", "NHWGK/GKYXC/NHWGC", "f16", "Default", 128, 128, 32, 32, 1, 4, 8, 8, 8, 2),
    operation=BWD_DATA,
    archs=WAVELET.archs,
)
DIRECT = {
    "weight": replace(WAVELET, a_vector=8, b_vector=8, stages=4),
    "data": DATA,
    "deep-bf16": replace(DATA, n_per_block=64, k_per_block=64, load_waves=2, dtype="bf16"),
}
TO_LDS = re.compile(r"^\tbuffer_load_dwordx4 .* lds$", re.MULTILINE)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("isa") / "tree"
    writer.apply(render_tree((WAVELET, SMALL, XDL, GENERIC, WMMA, DOT, BF16, *DIRECT.values()), context()), folder)
    return folder


def read(tree: Path, instance: Instance, arch: str) -> tuple[CodeReport, str]:
    compiler = identify(TOOLS.assembly_compiler(arch))
    (report,) = compile_and_read(tree, [instance], arch, tree.parent / arch, compiler)
    return report, (tree.parent / arch / f"{instance.name}.s").read_text()


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("instance", [WAVELET, SMALL, XDL, GENERIC], ids=lambda i: f"{i.family}-{i.m_per_block}")
def test_roles_and_tiles_of_real_code(tree: Path, instance: Instance, arch: str) -> None:
    """An iteration has a whole number of tiles, and as many accesses as these need."""
    report, _ = read(tree, instance, arch)
    assert [loop.role for loop in report.loops] == (["math", "load"] if instance.load_waves else ["main"])
    for loop in report.loops:
        hot = loop.hot
        if loop.role != "load":
            fragments = (instance.m_xdl_per_wave + instance.n_xdl_per_wave) * instance.k_per_block // instance.k_step
            assert hot.matrix and hot.lds_read_bytes == 16 * fragments * loop.tiles
        if loop.role != "math":
            tile = (instance.a_elems + instance.b_elems) * instance.elem_bytes
            assert hot.lds_write_bytes == tile * loop.tiles == hot.load_bytes
        assert hot.total <= loop.whole.total and hot.barriers >= 1
    assert report.resources.lds_bytes == instance.lds_bytes
    assert report.resources.scratch_bytes == 0


@pytest.mark.parametrize("name", DIRECT)
def test_load_waves_of_gfx950_load_directly_to_lds(tree: Path, name: str) -> None:
    """No load of the loop returns to a register, where both operands have 16 bytes per lane. Elsewhere all do."""
    instance = DIRECT[name]
    report, text = read(tree, instance, "gfx950")
    load, math = report.loop("load"), report.loop("math")
    assert load is not None and math is not None and math.valu_per_matrix == 0
    pieces = (instance.a_elems + instance.b_elems) * instance.elem_bytes // 16
    assert load.tiles == instance.stages and load.hot.loads == pieces * load.tiles == len(TO_LDS.findall(text))
    assert load.hot.lds_write == 0 and load.hot.lds_write_bytes == 16 * load.hot.loads
    assert (report.resources.vgpr_spills, report.resources.sgpr_spills, report.resources.scratch_bytes) == (0, 0, 0)
    through_registers, text = read(tree, instance, "gfx942")
    load = through_registers.loop("load")
    assert load is not None and load.hot.lds_write > 0 and not TO_LDS.search(text)


@pytest.mark.parametrize("instance", [WAVELET, XDL, GENERIC], ids=lambda i: f"{i.family}-{i.m_per_block}")
def test_occupancy_is_what_llvm_prints(tree: Path, instance: Instance) -> None:
    report, text = read(tree, instance, "gfx942")
    (printed,) = re.findall(r"; Occupancy: (\d+)", text)
    assert report.waves == int(printed)


def test_an_architecture_without_matrix_instructions_has_a_main_loop_too(tree: Path) -> None:
    report, _ = read(tree, GENERIC, "gfx1100")
    (loop,) = report.loops
    assert (loop.role, loop.tiles, loop.hot.matrix, loop.valu_per_matrix) == ("main", 1, 0, None)
    assert loop.hot.loads and loop.hot.lds_write and loop.hot.lds_read
    assert report.resources.wave_size == 32


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1151", "gfx1201"])
def test_the_loop_of_wmma_has_few_other_vector_instructions(tree: Path, arch: str) -> None:
    report, text = read(tree, WMMA, arch)
    (loop,) = report.loops
    assert loop.hot.matrix == 4 * 4 * 4 and loop.tiles == 1 and loop.valu_per_tile < 100
    assert len(re.findall(r"v_wmma_f32_16x16x16_f16 ", text)) == loop.hot.matrix
    resources = report.resources
    assert (resources.vgpr_spills, resources.sgpr_spills, resources.scratch_bytes, resources.wave_size) == (0, 0, 0, 32)


@pytest.mark.parametrize("arch", ["gfx1030", "gfx1200"])
def test_the_loop_of_dot_products_has_little_else(tree: Path, arch: str) -> None:
    """A lane multiplies 8 rows with 8 columns of 16 positions, two at once."""
    report, text = read(tree, DOT, arch)
    (loop,) = report.loops
    assert len(re.findall(r"\bv_dot2c?_f32_f16", text)) == 8 * 8 * 16 // 2
    assert 512 <= loop.valu_per_tile < 560 and loop.hot.matrix == 0
    assert (report.resources.vgpr_spills, report.resources.scratch_bytes) == (0, 0)


def test_gfx908_multiplies_two_bf16_per_lane(tree: Path) -> None:
    report, text = read(tree, BF16, "gfx908")
    (loop,) = report.loops
    assert "v_mfma_f32_32x32x4bf16" in text and "bf16_1k" not in text
    assert loop.hot.matrix == 2 * 2 * 32 // 4 and loop.tiles == 1


def test_roles_are_found_by_what_loops_do() -> None:
    """MATH_LOOP has two of the eight MFMA that a wave of SMALL needs for four tiles."""
    name = f"{SMALL.name}_kernel"
    text = kernel_text(LOAD_LOOP + MATH_LOOP, name)
    report = analyse(text, SMALL, "gfx942")
    math, load = report.loop("math"), report.loop("load")
    assert math is not None and load is not None and report.loop("main") is None
    assert (math.hot.matrix, load.hot.loads) == (2, 1)
    assert math.valu_per_matrix == 0.5
    with pytest.raises(CkgenError, match="no loop for role load"):
        analyse(kernel_text(MATH_LOOP, name), SMALL, "gfx942")
    with pytest.raises(CkgenError, match="has no kernel of"):
        analyse(text, WAVELET, "gfx942")


def test_a_compiler_is_known_by_its_release(tmp_path: Path) -> None:
    def release(said: str) -> str:
        program = tmp_path / "clang"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\n")
        program.chmod(0o755)
        return identify((str(program),)).release

    assert release("Debian clang version 19.1.7 (3~deb12u1)\nTarget: x86_64") == "clang 19.1.7"
    assert release("clang version 22.1.8\nTarget: x86_64-unknown-linux-musl") == "clang 22.1.8"
    rocm = "AMD clang version 19.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-6.4.0 25133 c7fe45c)"
    assert release(f"HIP version: 6.4.43482-0f2d60242\n{rocm}") == "AMD clang 19.0.0git roc-6.4.0"
    with pytest.raises(CkgenError, match="is not a clang: gcc"):
        release("gcc (Debian 12.2.0) 12.2.0")
    with pytest.raises(CkgenError, match="No such file"):
        identify((str(tmp_path / "absent"),))


def test_a_broken_source_gives_the_compilers_errors(tmp_path: Path) -> None:
    (tmp_path / "k.cpp").write_text("int f() { return 1 }\n")
    with pytest.raises(CkgenError) as caught:
        assemble(TOOLS.assembly_compiler("gfx942"), tmp_path, tmp_path / "k.cpp", "gfx942", tmp_path / "k.s")
    assert caught.value.exit_code == 1 and caught.value.diagnostics[0].rule == "compile"


def test_assembly_needs_no_linker_and_any_of_three_compilers() -> None:
    nothing = Toolchain(None, None, None, None, None, None, None, None, None)
    both = replace(nothing, clang=("clang++-19",), zig_clang=("zig", "clang"))
    assert both.assembly_compiler("gfx942") == ("clang++-19",)
    assert both.assembly_compiler("gfx950") == ("zig", "clang", "-nostdinc")
    assert replace(both, clang=None).assembly_compiler("gfx90a")[0] == "zig"
    assert replace(nothing, hipcc=("hipcc",)).assembly_compiler("gfx90a") == ("env", "HIP_PLATFORM=amd", "hipcc")
    with pytest.raises(CkgenError, match="no compiler here makes device code for gfx90a"):
        nothing.assembly_compiler("gfx90a")

"""Programs written for CK build against a tree of `ckgen generate --compat ck` without a change, and run."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.build.cmake import build
from ckgen.build.toolchain import find_toolchain
from ckgen.cli.common.selection import load
from ckgen.generate import writer
from ckgen.generate.render import render_tree
from ckgen.generate.style import Style
from ckgen.instance.filters import filtered
from tests.support.trees import SAMPLE, context, in_style

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parents[1] / "data" / "ck_programs"
LAYOUTS = "layout=NHWGC/GKYXC/NHWGK,NHWGK/GKYXC/NHWGC,NGCHW/GKCYX/NGKHW"
CHOSEN = ("set=default", "generic=true", "dtype=f16", "ndim=2", LAYOUTS)
DEEP = ("layout=NDHWGC/GKZYXC/NDHWGK,NDHWGK/GKZYXC/NDHWGC", "function=PassThrough,Bilinear,Scale")
CHOSEN_3D = ("set=default", "generic=true", "dtype=f16", "ndim=3", *DEEP)
CK = Style("ck", "ck")
TOOLS = find_toolchain()
# Scratch and spilled registers of a kernel, in the metadata at the end of its machine code.
_SPILLED = re.compile(r"^ +\.(?:private_segment_fixed_size|vgpr_spill_count): +(\d+)$", re.MULTILINE)


def test_only_a_compat_tree_has_the_files_of_compat() -> None:
    plain = set(render_tree(SAMPLE, context()))
    compat = set(render_tree(SAMPLE, in_style(CK)))
    assert plain < compat
    added = compat - plain
    assert {path.partition("/")[0] for path in added} == {"compat"}
    folder = "compat/include/ck/library/tensor_operation_instance/gpu/"
    for name in ("weight", "weight_bilinear", "weight_scale", "data", "data_bilinear", "data_scale"):
        assert f"{folder}grouped_convolution_backward_{name}.hpp" in added


def test_the_page_lists_the_functions_of_hip() -> None:
    stub = (ROOT / "templates/compat/no_hip/hip/hip_runtime.h").read_text(encoding="utf-8")
    page = (ROOT / "docs/porting.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"has these functions of HIP's runtime(.*?)\. ", page, re.DOTALL)
    assert set(re.findall(r"^(?:inline )?(?:hipError_t|const char\*) (hip\w+)\(", stub, re.MULTILINE)) == set(
        re.findall(r"`(hip\w+)`", listed)
    )


def run(*command: str | Path) -> str:
    done = subprocess.run(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compat tree."""
    folder = tmp_path_factory.mktemp("ck") / "tree"
    loaded = load(ROOT / "instances.yaml").expansion
    chosen = (filtered(loaded.instances, filters, sets=loaded.sets) for filters in (CHOSEN, CHOSEN_3D))
    instances = [instance for part in chosen for instance in part]
    functions = loaded.spec.own_functions
    writer.apply(render_tree(instances, replace(in_style(CK), functions=functions)), folder)
    return folder


@pytest.fixture(scope="module")
def programs(tree: Path) -> Path:
    """The folder in which the programs are built, against an installed library."""
    folder, cmake = tree.parent, TOOLS.cmake
    build(tree, "host", folder / "library")
    assert cmake is not None, "these tests need cmake"
    run(*cmake, "--install", folder / "library", "--prefix", folder / "prefix")
    run(*cmake, "-S", PROGRAMS, "-B", folder / "programs", f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}")
    run(*cmake, "--build", folder / "programs")
    return folder / "programs"


def machine_code_of(source: str, tree: Path, folder: Path, *compiler: str) -> str:
    """Compile a program with the headers of a tree that is configured for AMD GPUs; the assembly of its kernels."""
    assert TOOLS.hipcc is not None and TOOLS.cmake is not None
    amd = ("-DCKGEN_PLATFORM=amd", f"-DCMAKE_CXX_COMPILER={TOOLS.hipcc[0]}", "-DGPU_TARGETS=gfx90a")
    run(*TOOLS.cmake, "-S", tree, "-B", folder / "configured", *amd)
    roots = (tree / "include", folder / "configured" / "include", tree / "compat" / "include")
    options = ("-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", *(f"-I{root}" for root in roots))
    run(*compiler, *options, PROGRAMS / f"{source}.cpp")
    (assembly,) = folder.glob("*amdgcn*.s") if "-c" in compiler else folder.glob("*.s")
    return assembly.read_text(encoding="utf-8")


@pytest.mark.compiles
def test_backward_weight_of_both_index_sizes_with_and_without_a_workspace(programs: Path) -> None:
    assert run(programs / "bwd_weight").startswith("found 1 instances, dim 5, lengths {2, 3, 16, 7, 6}")


@pytest.mark.compiles
def test_a_workspace_of_a_size_that_was_not_asked_for_is_left_alone(programs: Path) -> None:
    lines = run(programs / "miopen_calls").splitlines()
    assert lines[0] == "2 names, 2 right; int8 0, bhalf 0"
    assert lines[1] == "planned 1, workspace of known size 1, of unknown size 0"


@pytest.mark.compiles
def test_calls_of_miopens_plugin_for_3d_and_for_data_gradients(programs: Path) -> None:
    assert run(programs / "miopen_plugin_calls").splitlines() == [
        *(f"weight {function} 4 of 4, 2 split" for function in ("scale", "bilinear")),
        *(f"data{function} 1 of 1, 0 split" for function in ("", " scale", " bilinear")),
        "data in 2D 4 of 4, 0 split",
        "by tf32 000",
    ]


@pytest.mark.compiles
def test_backward_data_plain_fused_and_dense(programs: Path) -> None:
    assert run(programs / "bwd_data") == "plain 1, fused 1, dense 1\n"


@pytest.mark.compiles
def test_lists_have_the_instances_of_a_type_or_are_empty(programs: Path) -> None:
    lines = run(programs / "surface").splitlines()
    assert lines[0] == "1 1 0 1 1 1"
    assert lines[1].startswith("DeviceGroupedConvBwdWeight_Xdl_CShuffle<256, 64, 64")
    assert lines[3] == "1.00781" or lines[3] == "1"
    assert lines[4] == "1111 00 10 11 11 11 00"  # self-checks; matrix units and direct loads, by device


@pytest.mark.compiles
def test_class_templates_run_the_kernel_of_their_arguments(programs: Path) -> None:
    lines = run(programs / "class_templates").splitlines()
    assert lines[0].startswith("DeviceGroupedConvBwdWeight_Xdl_CShuffle<64, 64, 64, 4, Default, 8, 2, 2, 8")
    assert lines[1] == "weight 1, grouped 1, dense 1"


@pytest.mark.compiles
def test_class_templates_of_two_stages_wmma_and_dl(programs: Path) -> None:
    lines = run(programs / "other_class_templates").splitlines()
    assert lines[0].endswith(", 1, BlkGemmPipelineScheduler: Interwave, BlkGemmPipelineVersion: v2>")
    assert lines[1].endswith(", 1, BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion: v4>")
    assert [line.partition("<")[0] for line in lines[:-1]] == [
        "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3",
        "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3",
        *("DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle",) * 4,
        *("DeviceGroupedConvBwdWeight_Xdl_CShuffleV3",) * 2,
        "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle",
        "DeviceGroupedConvBwdWeight_Wmma_CShuffle",
        "DeviceGroupedConvBwdWeight_Dl",
        "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffleV3_DirectLoad",
        "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffleV3_Large_Tensor",
    ]
    assert [line.rpartition(", ")[2] for line in lines[2:6]] == ["1>", "4>", "4>", "8>"]
    ends = ", 4, TransposeTransferSrcScalarPerVector: 1, TransposeTransferDstScalarPerVector: 4>"
    assert "<64, 32, 64, 32, Default, 8, 1, 2, 4, 4, 4, 4, 1, 1, 1, " in lines[8] and lines[8].endswith(ends)
    assert lines[9].endswith("<128, 64, 64, 4, Default, 8, 1, 8, 1, 8, 1, 1, 1>")
    assert lines[10].endswith("<256, 128, 128, 16, Default, 2>")
    assert lines[11].endswith("<256, 128, 64, 32, 8, 8, Default, 32, 32, 2, 1, 8, 8, 1, 1>")
    assert lines[12].endswith("<256, 128, 64, 32, 8, 8, Filter1x1Stride1Pad0, 32, 32, 2, 1, 8, 8, 1, 1>")
    assert lines[-1] == "two-stage 1111, WMMA 11, DL 11, V3 1111"


@pytest.mark.compiles
def test_class_template_with_d_tensors_on_random_problems(programs: Path) -> None:
    lines = run(programs / "fused_class_templates").splitlines()
    assert lines == [
        "DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle<64, 64, 64, 4, Default, 8, 2, 2, 2, 4, 2, 4, 1, 1, 2>",
        "28 of 28 right",
    ]


@pytest.mark.compiles
@pytest.mark.skipif(TOOLS.hipcc is None, reason="hipcc is not here")
@pytest.mark.parametrize(
    ("source", "kernels"),
    [
        ("class_templates", 5),
        pytest.param("other_class_templates", 17, marks=pytest.mark.sweep),
        pytest.param("fused_class_templates", 12, marks=pytest.mark.sweep),
    ],
)
def test_class_templates_compile_with_hipcc(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, kernels: int
) -> None:
    """Host and device code; the kernels multiply with MFMA, in registers only."""
    monkeypatch.setenv("HIP_PLATFORM", "amd")
    monkeypatch.chdir(tmp_path)  # for the files of --save-temps
    assert TOOLS.hipcc is not None
    command = (*TOOLS.hipcc, "--offload-arch=gfx90a", "--save-temps", "-c", "-o", f"{tmp_path}/{source}.o")
    code = machine_code_of(source, tree, tmp_path, *command)
    assert "v_mfma_f32_32x32x8f16" in code
    assert [int(size) for size in _SPILLED.findall(code)] == [0, 0] * kernels


@pytest.mark.compiles
@pytest.mark.skipif(TOOLS.hipcc is None or TOOLS.clang is None, reason="clang for RDNA is not here")
def test_class_templates_of_rdna_multiply_with_its_instructions(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIP_PLATFORM", "amd")
    assert TOOLS.clang is not None
    device = ("-x", "hip", "--offload-arch=gfx1100", "--offload-device-only", "-nogpulib", "-D__HIP_PLATFORM_AMD__")
    command = (*TOOLS.clang, *device, "-S", "-o", str(tmp_path / "kernels.s"))
    code = machine_code_of("other_class_templates", tree, tmp_path, *command)
    assert "v_wmma_f32_16x16x16_f16" in code and "v_dot2acc_f32_f16" in code
    assert set(_SPILLED.findall(code)) == {"0"}


@pytest.mark.compiles
@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("refused_operand", "ckgen applies PassThrough, UnaryConvert or Scale to the input and the output's gradient"),
        ("refused_d_layout", "a D tensor of backward weight has the layout of the weight, or one value per channel"),
        ("refused_function", "a function takes (float&, float, float...) or (E&, float, D...)"),
        ("refused_type", "no data type of ckgen has these types of tensors and operands"),
        ("refused_merging", "at most 32 groups are merged, of a layout whose images hold them side by side, as NHWGC"),
    ],
)
def test_class_templates_without_a_kernel_refuse_with_a_sentence(programs: Path, target: str, sentence: str) -> None:
    assert TOOLS.cmake is not None
    command = [*map(str, TOOLS.cmake), "--build", str(programs), "--target", target]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode != 0
    assert sentence in done.stdout

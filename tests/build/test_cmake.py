"""Test the generated CMake: client projects of both kinds, messages of refused options, libraries that follow their
spec.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ckgen.build.cmake import build
from ckgen.build.toolchain import find_toolchain
from ckgen.cli.common.selection import load
from ckgen.errors import one_of
from ckgen.generate import writer
from ckgen.generate.render import render_tree
from ckgen.generate.style import Style
from ckgen.hardware.archs import ARCHES
from ckgen.instance.filters import filtered
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from tests.support.trees import GENERIC, TMA, XDL, context, in_style

pytestmark = pytest.mark.compiles

ROOT = Path(__file__).resolve().parents[2]
CLIENT = Path(__file__).parents[1] / "data" / "consumer"
TOOLS = find_toolchain()
INSTANCES = (XDL, GENERIC)
# As build() configures: ccache finds a runtime that another test compiled with these.
AS_BUILT = ("-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={(TOOLS.host_cxx or ('c++',))[0]}")
# The tile of CK's dense example.
DENSE_TILE = (
    *("set=full", "family=xdl", "layout=NHWGK/GKYXC/NHWGC", "dtype=f16", "tile=128x128", "block_size=256"),
    *("conv_spec=Default", "function=PassThrough", "set!=ck_rows"),
)


def cmake(*arguments: str | Path, code: int = 0) -> str:
    """Run CMake, expect an exit code (1: any failure) and return its output."""
    assert TOOLS.cmake is not None, "these tests need cmake"
    done = subprocess.run(
        [*TOOLS.cmake, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert bool(done.returncode) == bool(code), done.stdout
    return done.stdout


def output_of(program: Path) -> str:
    return subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class Installed:
    """A generated tree, the folder in which it was built and its install prefix."""

    tree: Path
    build_dir: Path
    prefix: Path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("cmake")
    writer.apply(render_tree(INSTANCES, context()), folder / "tree")
    options = {"CKGEN_BUILD_STATIC": "ON", "CMAKE_INSTALL_INCLUDEDIR": "headers/of"}  # not the default folder
    result = build(folder / "tree", "host", folder / "build", options=options)
    assert result.library == folder / "build" / "libckgen_conv.so"
    cmake("--install", folder / "build", "--prefix", folder / "prefix")
    return Installed(folder / "tree", folder / "build", folder / "prefix")


def check_client(build_dir: Path) -> None:
    lines = output_of(build_dir / "count_operators").splitlines()
    assert lines[0].startswith("2d f16 1 DeviceGroupedConvBwdWeight_Xdl_CShuffle<")
    assert lines[1].startswith("3d f32 1 ") and lines[2] == "1d bf16 0"
    assert output_of(build_dir / "count_instances") == "host 2\n"


def test_client_of_an_installed_library(installed: Installed, tmp_path: Path) -> None:
    cmake("-S", CLIENT, "-B", tmp_path, "-DUSE=installed", f"-DCMAKE_PREFIX_PATH={installed.prefix}")
    cmake("--build", tmp_path)
    check_client(tmp_path)
    assert output_of(tmp_path / "count_instances_static") == "host 2\n"
    assert (installed.prefix / "share/ckgen_conv/manifest.json").exists()
    assert (installed.prefix / "headers/of/ckgen/c_api.h").exists()


def test_a_build_is_not_a_package(installed: Installed, tmp_path: Path) -> None:
    """find_package used to find the configuration of the package there, without the targets that it includes."""
    place = f"-DCMAKE_PREFIX_PATH={installed.build_dir}"
    said = cmake("-S", CLIENT, "-B", tmp_path, "-DUSE=installed", place, code=1)
    assert "Could not find a package configuration file" in " ".join(said.split())


def test_ck_headers_are_found_in_another_include_folder(tmp_path: Path) -> None:
    writer.apply(render_tree(INSTANCES, in_style(Style("ck", "ck"))), tmp_path / "tree")
    cmake("-S", tmp_path / "tree", "-B", tmp_path / "build", "-DCMAKE_INSTALL_INCLUDEDIR=headers/of", *AS_BUILT)
    (exported,) = (tmp_path / "build").rglob("ckgen_conv-targets.cmake")
    assert "${_IMPORT_PREFIX}/headers/of/ckgen_no_hip" in exported.read_text(encoding="utf-8")


def test_a_static_library_alone(installed: Installed, tmp_path: Path) -> None:
    """BUILD_SHARED_LIBS is the default of both options; the build returns what it made, not an older library."""
    folder = installed.tree.parent / "static"
    for options, name in (
        ({}, "libckgen_conv.so"),
        ({"BUILD_SHARED_LIBS": "OFF"}, "libckgen_conv.a"),
        ({}, "libckgen_conv.so"),
        ({"CKGEN_BUILD_SHARED": "off", "CKGEN_BUILD_STATIC": "ON"}, "libckgen_conv.a"),
    ):
        assert build(installed.tree, "host", folder, options=options).library == folder / name
    cmake("--install", folder, "--prefix", tmp_path / "prefix")
    cmake("-S", CLIENT, "-B", tmp_path / "client", "-DUSE=installed", f"-DCMAKE_PREFIX_PATH={tmp_path}/prefix")
    cmake("--build", tmp_path / "client")
    check_client(tmp_path / "client")


LINKS = """\
cmake_minimum_required(VERSION 3.20)
project(client LANGUAGES {languages})
{found}
add_executable(client client.c)
target_link_libraries(client PRIVATE {libraries})
"""


def configured(folder: Path, found: str, libraries: str, *options: str | Path, languages: str = "CXX C") -> str:
    """Configure a project that links libraries, in a new folder. Return the message of an error, or nothing."""
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(LINKS.format(languages=languages, found=found, libraries=libraries))
    shutil.copy(CLIENT / "count_instances.c", folder / "client.c")
    assert TOOLS.cmake is not None
    command = [*TOOLS.cmake, "-S", folder, "-B", folder / "build", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return " ".join(done.stderr.split()) if done.returncode else ""


def test_two_libraries_are_not_linked_to_one_program(tmp_path: Path) -> None:
    """The linker takes the C interface of either without a word. The operations of one library do fit together."""
    both = (GENERIC, replace(GENERIC, layout="NHWGK/GKYXC/NHWGC", dtype="f16", k_per_block=32, operation=BWD_DATA))
    writer.apply(render_tree(both, context()), tmp_path / "tree")
    found = "".join(
        f"set(CKGEN_LIBRARY_NAME {name})\nadd_subdirectory({tmp_path}/tree {name})\n" for name in ("one", "two")
    )
    said = configured(tmp_path / "refused", found, "one::ckgen_conv two::ckgen_conv", *AS_BUILT)
    assert "CKGEN_ONE_LIBRARY_PER_TARGET" in said
    operations = "one::grouped_conv_bwd_weight one::grouped_conv_bwd_data"
    assert configured(tmp_path / "fits", found, operations, *AS_BUILT) == ""


def test_a_project_for_c_alone_is_told_what_it_needs(installed: Installed, tmp_path: Path) -> None:
    inside = f"add_subdirectory({installed.tree} library)"
    said = configured(tmp_path / "inside", inside, "ckgen_conv::ckgen_conv", languages="C")
    assert "add CXX to project() of the enclosing project" in said
    package, prefix = "find_package(ckgen_conv CONFIG REQUIRED)", f"-DCMAKE_PREFIX_PATH={installed.prefix}"
    said = configured(tmp_path / "static", package, "ckgen_conv::ckgen_conv_static", prefix, languages="C")
    assert "ckgen_conv::add_CXX_to_project_for_the_static_library" in said
    assert configured(tmp_path / "shared", package, "ckgen_conv::ckgen_conv", prefix, languages="C") == ""
    cmake("--build", tmp_path / "shared/build")
    assert output_of(tmp_path / "shared/build/client") == "host 2\n"


def test_client_of_a_subdirectory(installed: Installed, tmp_path: Path) -> None:
    places = (f"-DTREE={installed.tree}", f"-DBUILD={installed.tree.parent / 'subdirectory'}")
    cmake("-S", CLIENT, "-B", tmp_path, "-DUSE=subdirectory", *places, *AS_BUILT)
    cmake("--build", tmp_path)
    check_client(tmp_path)


def test_a_component_that_is_not_there_is_not_found(installed: Installed, tmp_path: Path) -> None:
    prefix = f"-DCMAKE_PREFIX_PATH={installed.prefix}"
    found = "-DWANTED=grouped_conv_bwd_weight"
    cmake("-S", CLIENT, "-B", tmp_path / "found", "-DUSE=installed", prefix, found)
    said = cmake("-S", CLIENT, "-B", tmp_path / "no", "-DUSE=installed", prefix, "-DWANTED=fft", code=1)
    assert "it has no operation fft, only: grouped_conv_bwd_weight" in " ".join(said.split())


def test_a_client_cannot_disagree_about_the_platform(installed: Installed, tmp_path: Path) -> None:
    flags = (
        "-DUSE=installed",
        f"-DCMAKE_PREFIX_PATH={installed.prefix}",
        "-DCMAKE_CXX_FLAGS=-DCKGEN_PLATFORM_AMD=1",
    )
    cmake("-S", CLIENT, "-B", tmp_path, *flags)
    said = cmake("--build", tmp_path, "--target", "count_operators", code=1)
    assert "the platform is the library's choice (host)" in said


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("CKGEN_PLATFORM=cuda", 'CKGEN_PLATFORM is "cuda"; it can be amd, nvidia or host'),
        ("CKGEN_PLATFORM=amd", "CKGEN_PLATFORM=amd needs HIP's compiler"),
        ("CKGEN_HOST_ARCH=gfx999", f'CKGEN_HOST_ARCH is "gfx999"; it can be {one_of(ARCHES).replace("`", "")}'),
        ("CKGEN_INSTANCES_PER_FILE=0", 'CKGEN_INSTANCES_PER_FILE is "0"; it is a count of 1 or more'),
        ("CKGEN_SANITIZE=thread", 'CKGEN_SANITIZE is "thread"; it can be ON'),
        ("CKGEN_BUILD_SHARED=OFF", "nothing to build"),
    ],
)
def test_options_that_cannot_be_are_refused_in_words(
    installed: Installed, tmp_path: Path, option: str, message: str
) -> None:
    said = cmake("-S", installed.tree, "-B", tmp_path, f"-D{option}", code=1)
    assert message in " ".join(said.split())


def test_instances_share_translation_units(tmp_path: Path) -> None:
    instances = [XDL] + [GENERIC]
    writer.apply(render_tree(instances, context()), tmp_path / "tree")
    counts = {}
    for per_file in (1, 8):
        folder = tmp_path / str(per_file)
        flags = (f"-DCKGEN_INSTANCES_PER_FILE={per_file}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        cmake("-S", tmp_path / "tree", "-B", folder, "-G", "Unix Makefiles", *flags)
        commands = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
        counts[per_file] = sum("Unity/" in row["file"] for row in commands)
    assert counts[1] == counts[8] + 1  # two factories


SPEC = """\
version: 1
groups:
  - name: generic
    family: xdl
    generic: true
    block_size: 256
    layout: NWGC/GKXC/NWGK
    dtype: [{dtypes}]
    conv_spec: Default
    tile: 64x64
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(client LANGUAGES CXX)
include({module})
ckgen_add_instance_library(TARGET my_conv SPEC my.yaml FILTER dtype!=bf16)
add_executable(count count.c)
set_source_files_properties(count.c PROPERTIES LANGUAGE CXX)
target_link_libraries(count PRIVATE my_conv::ckgen_conv)
"""


@pytest.fixture
def client(tmp_path: Path) -> Path:
    """A project that builds its library from a spec, with a private copy of ckgen that a test may change."""
    for name in ("ckgen", "templates"):
        shutil.copytree(ROOT / name, tmp_path / "tool" / name, ignore=shutil.ignore_patterns("__pycache__"))
    ckgen = tmp_path / "tool" / "run-ckgen"
    ckgen.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}/tool" exec "{sys.executable}" -B -m ckgen "$@"\n')
    ckgen.chmod(0o755)
    source = tmp_path / "source"
    source.mkdir()
    (source / "my.yaml").write_text(SPEC.format(dtypes="f16, bf16"))
    module = tmp_path / "tool/templates/cmake/CkgenInstanceLibrary.cmake"
    (source / "CMakeLists.txt").write_text(PROJECT.format(module=module))
    shutil.copy(CLIENT / "count_instances.c", source / "count.c")
    options = (f"-DCKGEN_EXECUTABLE={ckgen}", *AS_BUILT, "-G", "Unix Makefiles")
    cmake("-S", source, "-B", tmp_path / "build", *options)
    return tmp_path


def test_a_library_made_from_a_spec_follows_spec_and_generator(client: Path) -> None:
    program = client / "build" / "count"
    cmake("--build", client / "build")
    assert output_of(program) == "host 1\n"

    assert "Building" not in cmake("--build", client / "build")

    spec = client / "source" / "my.yaml"
    spec.write_text(SPEC.format(dtypes="f16, bf16, f32"))
    said = cmake("--build", client / "build")
    assert output_of(program) == "host 2\n"
    assert "host/runtime" not in said, "what did not change is not compiled again"

    spec.write_text(SPEC.format(dtypes="f16, f64"))
    assert "f64" in cmake("--build", client / "build", code=1)
    spec.write_text(SPEC.format(dtypes="f16, bf16"))
    cmake("--build", client / "build")
    assert output_of(program) == "host 1\n"

    c_api = client / "tool/templates/src/library/c_api.cpp"
    c_api.write_text(c_api.read_text().replace('return "host";', 'return "changed";'))
    cmake("--build", client / "build")
    assert output_of(program) == "changed 1\n"


@pytest.mark.skipif(TOOLS.hipcc is None, reason="hipcc is not installed (Debian: hipcc libamdhip64-dev)")
def test_amd_library_builds_and_says_so(installed: Installed) -> None:
    """Build for two architectures: the xdl instance has no code for gfx1100, the generic instance has code for both."""
    folder = installed.tree.parent / "amd"
    build(installed.tree, "amd", folder, archs=("gfx90a", "gfx1100"))
    script = "import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); l.ckgen_platform.restype = ctypes.c_char_p;"
    script += "print(l.ckgen_platform().decode(), l.ckgen_instance_count())"
    library = str(folder / "libckgen_conv.so")
    done = subprocess.run([sys.executable, "-c", script, library], capture_output=True, text=True, check=True)
    assert done.stdout == "amd 2\n"
    code = (folder / "libckgen_conv.so").read_bytes()
    assert b"amdgcn-amd-amdhsa--gfx90a" in code and b"amdgcn-amd-amdhsa--gfx1100" in code


@pytest.mark.skipif(TOOLS.hipcc is None, reason="hipcc is not installed (Debian: hipcc libamdhip64-dev)")
def test_amd_client_with_another_compiler(installed: Installed, tmp_path: Path) -> None:
    """An installed AMD library requires HIP's package from a g++ client, and reports if it is missing."""
    writer.apply(render_tree([GENERIC], context()), tmp_path / "tree")
    build(tmp_path / "tree", "amd", tmp_path / "build", archs=("gfx90a",))
    cmake("--install", tmp_path / "build", "--prefix", tmp_path / "prefix")
    flags = ("-DUSE=installed", f"-DCMAKE_PREFIX_PATH={tmp_path}/prefix")
    said = cmake("-S", CLIENT, "-B", tmp_path / "no", *flags, "-DCMAKE_DISABLE_FIND_PACKAGE_hip=ON", code=1)
    assert "HIP's CMake package was not found" in " ".join(said.split())
    cmake("-S", CLIENT, "-B", tmp_path / "client", *flags)
    cmake("--build", tmp_path / "client", "--target", "count_instances")
    assert output_of(tmp_path / "client" / "count_instances") == "amd 1\n"


def test_examples_build_against_an_installed_library(installed: Installed) -> None:
    folder = installed.prefix.parent / "examples"  # as in the tests below: ccache compares relative paths
    cmake("-S", ROOT / "examples", "-B", folder, f"-DCMAKE_PREFIX_PATH={installed.prefix}")
    cmake("--build", folder)
    program = folder / "grouped_conv_bwd_weight_xdl"
    done = subprocess.run([program, "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage: grouped_conv_bwd_weight_xdl" in done.stdout + done.stderr
    client = folder / "grouped_conv3d_bwd_weight_fp16_comp_bf8_fp8"
    without = subprocess.run([client], capture_output=True, text=True, check=False)
    assert without.returncode == 1 and "the library has no instance for this program's layout" in without.stderr


def test_examples_of_backward_weight_run(tmp_path: Path) -> None:
    """Run the programs that try every instance, plain and fused, with the names of CK's clients."""
    fused = replace(GENERIC, layout="NDHWGC/GKZYXC/NDHWGK", dtype="f16", k_per_block=32)
    plain = [
        replace(fused, layout=layout) for layout in ("GNWC/GKXC/GNWK", "GNHWC/GKYXC/GNHWK", "GNDHWC/GKZYXC/GNDHWK")
    ]
    plain.append(replace(GENERIC, layout="GNDHWC/GKZYXC/GNDHWK"))
    plain.append(replace(fused, dtype="f16_comp_bf8_f8"))
    instances = [replace(fused, function=function) for function in ("Bilinear", "Scale")] + plain
    writer.apply(render_tree(instances, context()), tmp_path / "tree")
    build(tmp_path / "tree", "host", tmp_path / "build")
    cmake("--install", tmp_path / "build", "--prefix", tmp_path / "prefix")
    cmake("-S", ROOT / "examples", "-B", tmp_path / "examples", f"-DCMAKE_PREFIX_PATH={tmp_path}/prefix")
    cmake("--build", tmp_path / "examples")
    volume = (3, 2, 2, 5, 3, 3, 2, 3, 4, 5, 6, 1, 2, 1, 1, 1, 2, 1, 1, 1, 0, 1, 1)
    runs = [
        (f"grouped_conv_bwd_weight_{word}_fp16", volume, "DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle<")
        for word in ("bilinear_residual", "scale")
    ]
    row, image = (1, 3, 2, 5, 3, 3, 11, 2, 1, 1, 1), (2, 3, 2, 5, 3, 3, 2, 8, 9, 1, 2, 1, 1, 1, 0, 1, 1)
    problems = {"1d": row, "2d": image, "3d": volume}
    runs += [
        (
            f"grouped_conv{name[:2]}_bwd_weight_{name[3:]}",
            problems[name[:2]],
            "DeviceGroupedConvBwdWeight_Xdl_CShuffle<",
        )
        for name in ("1d_fp16", "2d_fp16", "3d_fp16", "3d_fp32", "3d_fp16_comp_bf8_fp8")
    ]
    for name, problem, words in runs:
        command = [tmp_path / "examples" / name, *map(str, (1, 2, 1, *problem))]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "found 1 instances" in said and words in said and "verified" in said and "Done" in said
    # CK's default problem has gigabytes of tensors; for the host it is a small one.
    small = tmp_path / "examples" / "grouped_conv1d_bwd_weight_fp16"
    default = subprocess.run([small], capture_output=True, text=True, check=True).stdout
    assert "lengths {2, 2, 32, 14}" in default and "1 instances support the problem" in default


# The lines of CK's example for its default problem, example/17_convnd_bwd_data; its four kernels have 1369 workgroups.
CK_DENSE_LINES = (
    "in_n_c_hi_wi: dim 4, lengths {128, 128, 71, 71}, strides {645248, 1, 9088, 128}",
    "wei_k_c_y_x: dim 4, lengths {256, 128, 3, 3}, strides {1152, 1, 384, 128}",
    "out_n_k_ho_wo: dim 4, lengths {128, 256, 36, 36}, strides {331776, 1, 9216, 256}",
    *(
        line
        for k0 in (128, 64, 64, 32)
        for line in (
            f"arg.a_grid_desc_k0_m_k1_container_{{{k0}, 175232, 8}}",
            f"arg.b_grid_desc_k0_n_k1_container_{{{k0}, 128, 8}}",
            "arg.c_grid_desc_m_n_container_{ 175232, 128}",
            "arg.c_grid_desc_m0_n0_m1_n1_m2_m3_m4_n2_container_( 2738, 2, 2, 2, 4, 2 ) ",
            "launch_and_time_kernel: grid_dim {1369, 1, 1}, block_dim {256, 1, 1} ",
            "Warm up",
            "Start running 1 times...",
        )
    ),
)


@pytest.fixture(scope="module")
def data_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples of backward data, with the tile of CK's dense example and two generic instances."""
    folder = tmp_path_factory.mktemp("data_examples")
    plain = replace(GENERIC, layout="NHWGK/GKYXC/NHWGC", dtype="f16", k_per_block=32, operation=BWD_DATA)
    loaded = load(ROOT / "instances.yaml")
    tile = filtered(loaded.expansion.instances, DENSE_TILE, sets=loaded.expansion.sets)
    writer.apply(
        render_tree((*tile, plain, replace(plain, function="AddResidual")), context()),
        folder / "tree",
    )
    build(folder / "tree", "host", folder / "build")
    cmake("--install", folder / "build", "--prefix", folder / "prefix")
    said = cmake("-S", ROOT / "examples", "-B", folder / "examples", f"-DCMAKE_PREFIX_PATH={folder}/prefix")
    assert "example grouped_conv_bwd_weight_xdl left out" in said
    cmake("--build", folder / "examples")
    return folder / "examples"


def test_the_dense_example_prints_the_lines_of_ck(data_examples: Path) -> None:
    """Read the lines for CK's default problem, which is too large to run here, up to the run."""
    command = [data_examples / "convnd_bwd_data_xdl", "0", "0", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        lines = [program.stdout.readline().removesuffix("\n") for _ in range(2 + len(CK_DENSE_LINES))]
        program.kill()
    assert lines[0].startswith("instance: ") and "<256, 128, 128, 32, 8, 8, Default, 32, 32, 2, 2, " in lines[0]
    # 36 * 36 rows per image inside the input, where CK counts 37 * 37.
    assert lines[2:] == [line.replace("{1369, 1, 1}", "{1296, 1, 1}") for line in CK_DENSE_LINES]
    # One launch for all: the sub-GEMMs' workgroups, and those of no other.
    assert lines[1] == "launch of all: grid_dim {5184, 1, 1}, block_dim {256, 1, 1}"


def test_examples_of_backward_data_run(data_examples: Path) -> None:
    """Run the dense example with CK's argument list and the fused one with a residual."""
    lists = (3, 3, 13, 12, 2, 2, 1, 1, 1, 1, 1, 1)
    command = [data_examples / "convnd_bwd_data_xdl", *map(str, (1, 1, 1, 2, 2, 16, 8, *lists))]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[1] == "launch of all: grid_dim {4, 1, 1}, block_dim {256, 1, 1}"
    assert lines[2] == "in_n_c_hi_wi: dim 4, lengths {2, 8, 13, 12}, strides {1248, 1, 96, 8}"
    assert lines[5:12] == [
        "arg.a_grid_desc_k0_m_k1_container_{8, 112, 8}",
        "arg.b_grid_desc_k0_n_k1_container_{8, 8, 8}",
        "arg.c_grid_desc_m_n_container_{ 112, 8}",
        "arg.c_grid_desc_m0_n0_m1_n1_m2_m3_m4_n2_container_( 2, 2, 2, 2, 4, 2 ) ",
        "launch_and_time_kernel: grid_dim {1, 1, 1}, block_dim {256, 1, 1} ",
        "Warm up",
        "Start running 1 times...",
    ]
    assert sum(line.startswith("arg.a_grid_desc_k0_m_k1_container_{") for line in lines) == 4
    # CK's last line; nothing follows but the verification.
    assert re.fullmatch(r"Perf: \S+ ms, \S+ TFlops, \S+ GB/s", lines[5 + 4 * 7])
    assert len(lines) == 5 + 4 * 7 + 2 and "verified" in lines[-1]
    odd = [*command[:4], *map(str, (2, 2, 3, 5, *lists))]  # only a generic instance takes these channels
    assert "_generic" in subprocess.run(odd, capture_output=True, text=True, check=True).stdout
    program = data_examples / "grouped_conv_bwd_data_multiple_d_xdl"
    command = [program, *map(str, (1, 2, 0, 2, 3, 2, 16, 8, *lists))]
    fused = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "_xdl_add_residual_" in fused and "verified" in fused


def test_what_is_for_nvidia_alone_is_in_a_host_library(tmp_path: Path) -> None:
    writer.apply(render_tree((TMA, XDL), context()), tmp_path / "tree")
    heard: list[str] = []
    result = build(tmp_path / "tree", "host", tmp_path / "build", on_line=heard.append)
    assert not any("left out" in line for line in heard)
    assert Library(result.library).names == tuple(sorted((TMA.name, XDL.name)))


@pytest.mark.skipif(TOOLS.hipcc is None, reason="hipcc is not here")
def test_what_is_for_nvidia_alone_is_left_out_for_amd(tmp_path: Path) -> None:
    """Configure only, because configuring already selects the sources of a library."""
    assert TOOLS.hipcc is not None
    amd = ("-DCKGEN_PLATFORM=amd", f"-DCMAKE_CXX_COMPILER={TOOLS.hipcc[0]}")
    writer.apply(render_tree((TMA, XDL), context()), tmp_path / "both")
    said = cmake("-S", tmp_path / "both", "-B", tmp_path / "some", *amd)
    assert "-- left out: 1 instances that are for sm_90a alone" in said
    writer.apply(render_tree((TMA,), context()), tmp_path / "one")
    said = " ".join(cmake("-S", tmp_path / "one", "-B", tmp_path / "none", *amd, code=1).split())
    assert "all 1 instances of this tree are for sm_90a alone; configure with -DCKGEN_PLATFORM=nvidia" in said
    assert "or with -DCKGEN_PLATFORM=host" in said


@pytest.mark.skipif(TOOLS.hipcc is None, reason="hipcc is not here")
@pytest.mark.parametrize("name", ["GPU_TARGETS", "AMDGPU_TARGETS", "CMAKE_HIP_ARCHITECTURES"])
def test_an_architecture_that_no_instance_is_for_is_refused(tmp_path: Path, name: str) -> None:
    """Both names of the option are checked. CMake's own name used to be ignored, which built a library for gfx90a."""
    assert TOOLS.hipcc is not None
    amd = ("-DCKGEN_PLATFORM=amd", f"-DCMAKE_CXX_COMPILER={TOOLS.hipcc[0]}")
    writer.apply(render_tree((XDL,), context()), tmp_path / "tree")
    said = " ".join(
        cmake("-S", tmp_path / "tree", "-B", tmp_path / "no", *amd, f"-D{name}=gfx942;gfx908", code=1).split()
    )
    assert "no instance of this tree is for gfx908, only for gfx90a, gfx942, gfx950" in said
    said = cmake("-S", tmp_path / "tree", "-B", tmp_path / "comma", *amd, f"-D{name}=gfx90a,gfx942", code=1)
    assert 'GPU_TARGETS is "gfx90a,gfx942"; separate architectures by ;' in " ".join(said.split())
    cmake("-S", tmp_path / "tree", "-B", tmp_path / "yes", *amd, f"-D{name}=gfx942:xnack-;gfx90a")
    options = (tmp_path / "yes" / "CMakeCache.txt").read_text(encoding="utf-8")
    assert "GPU_TARGETS:STRING=gfx942:xnack-;gfx90a\n" in options

"""Test build: it produces the library, compiler errors become diagnostics, and options do not persist."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.build.cmake import Platform, build, compile_device_only, first_errors, is_built
from ckgen.build.toolchain import find_toolchain
from ckgen.errors import CkgenError
from ckgen.generate import writer
from ckgen.generate.render import render_tree
from ckgen.hardware.archs import ARCHES
from ckgen.instance.instance import Instance
from tests.support.trees import GENERIC, WAVELET, XDL, context

pytestmark = pytest.mark.compiles

TOOLS = find_toolchain()
CMAKELISTS = """\
cmake_minimum_required(VERSION 3.20)
project(small LANGUAGES CXX)
set(CKGEN_NUMBER 1 CACHE STRING "")
message(STATUS "number ${CKGEN_NUMBER}")
if(CKGEN_NUMBER GREATER 9)
    message(FATAL_ERROR "CKGEN_NUMBER is ${CKGEN_NUMBER};
        it is a digit")
endif()
add_library(ckgen_conv SHARED a.cpp)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A library of one line, which builds quickly."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(CMAKELISTS)
    (folder / "a.cpp").write_text("int a() { return 1; }\n")
    return folder


def test_build_returns_the_library_and_speaks_while_it_works(tree: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    result = build(tree, "host", tmp_path / "build", on_line=heard.append)
    assert result.library == tmp_path / "build" / "libckgen_conv.so" and result.library.exists()
    assert result.seconds > 0 and result.log.splitlines()[-1] == heard[-1]
    assert any("number 1" in line for line in heard)


def test_a_second_build_compiles_nothing(tree: Path, tmp_path: Path) -> None:
    build(tree, "host", tmp_path / "build")
    assert "a.cpp" not in build(tree, "host", tmp_path / "build").log


def test_options_of_an_earlier_build_are_forgotten(tree: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    build(tree, "host", tmp_path / "build", options={"CKGEN_NUMBER": "2"})
    build(tree, "host", tmp_path / "build", on_line=heard.append)
    assert any("number 1" in line for line in heard)


def test_a_folder_of_another_tree_is_configured_afresh(tree: Path, tmp_path: Path) -> None:
    build(tree, "host", tmp_path / "build")
    other = tmp_path / "other"
    tree.rename(other)
    assert build(other, "host", tmp_path / "build").library.exists()


def test_compiler_errors_have_their_place(tree: Path, tmp_path: Path) -> None:
    (tree / "a.cpp").write_text("int a() {\n    return nothing;\n}\n")
    with pytest.raises(CkgenError, match="nothing") as caught:
        build(tree, "host", tmp_path / "build")
    place = caught.value.diagnostics[0].place
    assert place is not None and (place.file, place.line, place.column) == (str(tree / "a.cpp"), 2, 12)
    assert caught.value.diagnostics[0].rule == "compile" and caught.value.exit_code == 1


def test_cmake_errors_are_one_sentence(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(CkgenError) as caught:
        build(tree, "host", tmp_path / "build", options={"CKGEN_NUMBER": "10"})
    assert str(caught.value) == "error[cmake]: CKGEN_NUMBER is 10; it is a digit"


def test_what_is_missing_is_named(tree: Path, tmp_path: Path) -> None:
    for tools, message in (
        (replace(TOOLS, cmake=None), "cmake is not here"),
        (replace(TOOLS, host_cxx=None), "there is no C\\+\\+ compiler here"),
        (replace(TOOLS, ninja=None, make=None), "neither ninja nor make"),
    ):
        with pytest.raises(CkgenError, match=message):
            build(tree, "host", tmp_path / "build", toolchain=tools)
    with pytest.raises(CkgenError, match="hipcc is not here"):
        build(tree, "amd", tmp_path / "build", toolchain=replace(TOOLS, hipcc=None))
    with pytest.raises(CkgenError, match="holds no generated library"):
        build(tmp_path / "nowhere", "host", tmp_path / "build")


def test_make_does_where_there_is_no_ninja(tree: Path, tmp_path: Path) -> None:
    assert build(tree, "host", tmp_path / "build", toolchain=replace(TOOLS, ninja=None)).library.exists()


def test_errors_in_what_tools_print() -> None:
    lines = [
        "[1/2] Building x",
        "x.hpp:3:7: warning: odd",
        "x.hpp:12:5: error: static assertion failed: lds-bytes: too much",
        "y.cpp:4: fatal error: z.h: No such file or directory",
        "/usr/bin/ld: x.o: undefined reference to `f()'",
        "x.hpp:12:5: error: static assertion failed: lds-bytes: too much",
    ]
    compile_error, fatal, link = first_errors(lines, ["cmake"])
    assert compile_error.place is not None and compile_error.place.column == 5
    assert compile_error.message == "static assertion failed: lds-bytes: too much"
    assert fatal.place is not None and (fatal.place.line, fatal.place.column) == (4, 1)
    assert link.rule == "link" and "undefined reference" in link.message
    many = [f"x.cpp:{line}:1: error: no {line}" for line in range(1, 100)]
    assert len(first_errors(many, ["cmake"])) == 5
    for line in ("clang: error: invalid target ID 'gfx999'", "nvcc fatal   : Unsupported gpu architecture 'compute_1'"):
        (tool,) = first_errors(
            ["FAILED: x.o", "/usr/bin/hipcc " + "-I/x " * 100, line, "ninja: error: stopped"], ["cmake"]
        )
        assert (tool.rule, tool.message) == ("compile", line.replace(" fatal   :", ":").replace(" error:", ""))
    (near,) = first_errors(["../tree/a.cpp:2:12: error: no"], ["cmake"], Path("build/host"))
    assert near.place is not None and near.place.file == "build/tree/a.cpp"
    (cut,) = first_errors(["/usr/bin/hipcc " + "-I/x " * 100], ["cmake"])
    assert len(cut.message) < 200 and cut.message.endswith(" ...")
    (unknown,) = first_errors(["Killed"], ["ninja"])
    assert unknown.message == "ninja failed: Killed"
    assert "it said nothing" in first_errors([], ["ninja"])[0].message


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "tree"
    writer.apply(render_tree([WAVELET, XDL, GENERIC], context()), folder)
    return folder


@pytest.mark.parametrize(
    ("instance", "arch"),
    [(instance, arch) for instance in (WAVELET, XDL, GENERIC) for arch in instance.archs],
    ids=lambda value: value if isinstance(value, str) else "generic" if value.generic else value.family,
)
def test_single_instances_become_device_code(sample: Path, tmp_path: Path, instance: Instance, arch: str) -> None:
    """Compile each family without ROCm for each architecture that its instance names, to an ELF file with its
    kernel."""
    try:
        TOOLS.device_compiler(arch)
    except CkgenError as error:
        pytest.skip(str(error))
    source = sample / f"src/{instance.operation}/{instance.family}/{instance.name}.cpp"
    made = compile_device_only(source, arch, tmp_path / "k.co", include=[sample / "include"])
    code = made.path.read_bytes()
    assert code[:4] == b"\x7fELF" and instance.name.encode() in code and arch.encode() in code
    assert made.arch == arch and made.seconds > 0


def test_device_code_of_an_unknown_architecture_is_refused(sample: Path, tmp_path: Path) -> None:
    if TOOLS.clang is None:
        pytest.skip("clang is not here")
    with pytest.raises(CkgenError, match="gfx94"):
        compile_device_only(sample / "src/library/registry.cpp", "gfx94", tmp_path / "k.co", include=[])


@pytest.mark.parametrize("arch", ["gfx906", "gfx1036"])
def test_code_for_an_architecture_that_the_headers_do_not_know_is_an_error(
    sample: Path, tmp_path: Path, arch: str
) -> None:
    """Without the error, the code would use the portable multiply-add, or read through an incompatible buffer
    resource."""
    if TOOLS.clang is None:
        pytest.skip("clang is not here")
    source = sample / f"src/{GENERIC.operation}/xdl/{GENERIC.name}.cpp"
    with pytest.raises(CkgenError, match="no instance is for this AMD architecture; known are ") as raised:
        compile_device_only(source, arch, tmp_path / "k.co", include=[sample / "include"])
    assert all(known in str(raised.value) for known in ARCHES)


def test_a_tuned_instance_is_no_code_without_its_matrix_unit(sample: Path, tmp_path: Path) -> None:
    if TOOLS.clang is None:
        pytest.skip("clang is not here")
    source = sample / f"src/{XDL.operation}/xdl/{XDL.name}.cpp"
    with pytest.raises(CkgenError, match="there is no atom for this architecture's matrix unit"):
        compile_device_only(source, "gfx1100", tmp_path / "k.co", include=[sample / "include"])


WAITING = (
    CMAKELISTS
    + 'add_custom_target(wait ALL COMMAND sh -c "echo started; sleep 3000; echo ${CMAKE_BINARY_DIR}" VERBATIM)\n'
)


@pytest.mark.parametrize("moment", ["-- ", "started"], ids=["while CMake configures", "while a compiler runs"])
def test_an_interrupted_build_leaves_no_process_behind(tree: Path, tmp_path: Path, moment: str) -> None:
    """No process may remain even briefly: a new build must not meet the old one in the same folder."""
    (tree / "CMakeLists.txt").write_text(WAITING)

    def stop(line: str) -> None:
        if line.startswith(moment):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(tree, "host", tmp_path / "build", on_line=stop, toolchain=replace(TOOLS, ninja=None))
    listing = subprocess.run(["ps", "-eo", "args", "-ww"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path / "build") not in listing


@pytest.mark.parametrize(
    ("archs", "platform", "targets", "expected"),
    [
        (("gfx90a",), "host", (), True),
        (("gfx90a",), "amd", ("gfx942",), True),
        (("gfx90a",), "nvidia", (), True),
        ((), "nvidia", (), True),
        (("sm_90a",), "host", (), True),
        (("sm_90a",), "amd", (), False),
        (("sm_90a",), "nvidia", (), True),
        (("sm_90a",), "nvidia", ("sm_80",), False),
        (("sm_90a",), "nvidia", ("sm_80", "sm_90a"), True),
    ],
)
def test_what_is_in_a_library(
    archs: tuple[str, ...], platform: Platform, targets: tuple[str, ...], expected: bool
) -> None:
    """The function agrees with templates/cmake/CkgenGroups.cmake."""
    assert is_built(archs, platform, targets) == expected


@pytest.mark.parametrize("platform", ["host", "amd", "nvidia"])
def test_a_family_for_amd_alone_is_in_no_library_for_nvidia(platform: Platform) -> None:
    assert is_built(("gfx1100",), platform, amd_only=True) is (platform != "nvidia")

"""Names of functions and of their inputs: every accepted name compiles, even after all headers and their macros."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ckgen.build.toolchain import Command, find_toolchain
from ckgen.conv.dtypes import DTYPES
from ckgen.elementwise.cpp import cpp_name
from ckgen.elementwise.function import BUILTINS, FUNCTION_NAME, make_function
from ckgen.errors import CkgenError
from ckgen.instance.instance import function_tag
from ckgen.operations.operation import BWD_DATA, OPERATIONS
from ckgen.paths import templates_dir
from ckgen.spec.functions import MAX_TAG
from tests.support.specs import expand_groups
from tests.support.sweep.compile import HOST, Way, complaint, write_tree

_STANDARD = """algorithm any array atomic bitset cassert ccomplex cctype cerrno cfenv cfloat charconv chrono cinttypes
climits clocale cmath complex condition_variable csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime
cwchar exception filesystem functional future iostream iterator limits locale map memory mutex new numeric optional
random ratio regex set sstream stdexcept string string_view system_error thread tuple type_traits utility variant vector
complex.h dirent.h dlfcn.h fcntl.h fenv.h inttypes.h math.h netdb.h poll.h pthread.h sched.h signal.h stdio.h stdlib.h
sys/ioctl.h sys/mman.h sys/resource.h sys/socket.h sys/stat.h sys/time.h sys/types.h sys/wait.h syslog.h termios.h
tgmath.h unistd.h wchar.h"""
_HIP = "hip/hip_runtime.h hip/hip_fp16.h"
_CUDA = "cuda.h cuda_runtime.h cuda_fp16.h cuda_bf16.h cooperative_groups.h"


def included(headers: str) -> str:
    """Lines that include those headers that exist."""
    return "".join(f"#if __has_include(<{header}>)\n#include <{header}>\n#endif\n" for header in headers.split())


def refused(name: str) -> str:
    """The message against a function of this name, empty if there is none."""
    try:
        make_function(name, "2 * e")
    except CkgenError as error:
        return error.diagnostics[0].message
    return ""


@pytest.mark.parametrize(
    "name", ["EOF", "NAN", "INFINITY", "BUFSIZ", "EINVAL", "ENOMEM", "E2BIG", "I", "PRId64", "SCNx8"]
)
def test_a_name_that_headers_may_define_is_refused(name: str) -> None:
    assert "reads as a macro" in refused(name)


@pytest.mark.parametrize("name", ["Eof", "Nan", "Gelu", "LRelu", "X2y", "PRelu", "Prid64", "Scnorm", "Convert"])
def test_other_names_are_accepted(name: str) -> None:
    assert refused(name) == ""


def macros(compiler: Command, headers: str) -> dict[str, bool]:
    """The macros that headers define, and whether each works without parentheses."""
    text = included(headers)
    done = subprocess.run(compiler, input=text, capture_output=True, text=True, errors="replace", check=True)
    found = re.findall(r"^#define (\w+)(\(?)", done.stdout, re.MULTILINE)
    return {name: parenthesis == "" for name, parenthesis in found}


COMPILERS: dict[str, tuple[Command, str]] = {
    "g++": (("-std=gnu++17", "-D__HIP_PLATFORM_AMD__", "-dM", "-E", "-x", "c++", "-"), f"{_STANDARD} {_HIP}"),
    "nvcc": (("-E", "-Xcompiler", "-dM", "-x", "cu", "-"), f"{_STANDARD} {_CUDA}"),
}


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("tool", COMPILERS)
def test_no_header_defines_a_name_that_is_accepted(tool: str) -> None:
    tools = find_toolchain()
    program = {"g++": tools.host_cxx, "nvcc": tools.nvcc}[tool]
    if program is None:
        pytest.skip(f"{tool} is not here")
    options, headers = COMPILERS[tool]
    found = macros((*program, *options), headers)
    assert len(found) > 2000 and {"EOF", "NAN", "INFINITY", "BUFSIZ", "EINVAL", "PRId64"} <= set(found)
    assert [name for name in found if re.fullmatch(FUNCTION_NAME, name) and not refused(name)] == []
    inputs = [name for name, alone in found.items() if alone and name == cpp_name(name[:-1])]
    assert [name for name in inputs if re.fullmatch(r"[A-Za-z]\w*", name)] == []


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("half", [0, 1])  # a spec has at most 1000 functions
def test_names_of_our_own_headers_compile_behind_the_standard_ones(half: int, tmp_path: Path) -> None:
    """One file of functions with the name of each type, template and constant of the templates that is a valid name."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((templates_dir() / "include").rglob("*.h*"))]
    words = {word for text in texts for word in re.findall(r"\b[A-Z][A-Za-z0-9]*\b", text)}
    names = [
        name for name in sorted(words) if not refused(name) and name not in BUILTINS and not name.startswith("Tma")
    ]
    assert {"Convert", "Vec", "Tuple", "Thread", "Derived", "Args", "In", "Out", "Config"} <= set(names)
    functions = [
        {"name": name, "tensors": ["double", "main"], "scalars": {"int": 0.5, "errno": 1, "unix": 2},
         "expression": "tanh(e) * int + double * errno + max(main, unix)"}
        for name in dict.fromkeys(["Convert", *names[half::2]])
    ]  # fmt: skip
    keys = {"operation": BWD_DATA, "layout": "NHWGK/GKYXC/NHWGC", "dtype": "bf16", "block_size": 64, "tile": "32x32"}
    group = {"name": "a", "family": "xdl", **keys, "function": "Convert"}
    expansion = expand_groups(group, functions=functions)
    tree = write_tree(expansion, tmp_path)
    source = tree / "all.cpp"
    instance = next((tree / "src").glob("*/xdl/*.cpp"))
    source.write_text(f'{included(_STANDARD)}#include "{instance}"\n', encoding="utf-8")
    assert complaint(tree, HOST, [source], Way(codegen=False, hipcc=False)) == ""
    assert complaint(tree, "gfx90a", [instance], Way(codegen=False, hipcc=False)) == ""


def test_a_name_that_makes_no_file_name_is_refused() -> None:
    long = "A" + "b" * (MAX_TAG - 1)
    widest = {
        "family": "wavelet_tma",
        "operation": BWD_DATA,
        "tile": "128x256",
        "dtype": list(OPERATIONS[BWD_DATA].dtypes[:2]),
    }
    group = {"name": "a", **widest, "layout": "NDHWGK/GKZYXC/NDHWGC", "function": long}
    made = expand_groups(group, functions=[{"name": long, "expression": "2 * e"}]).instances
    # nvcc's intermediate files: tmpxft_0000abcd_00000000-6_NAME.compute_90a.cudafe1.stub.c
    assert all(len(instance.name) + 66 <= 255 for instance in made) and function_tag(long) in made[0].name
    for name in (long + "b", "Ab" * 24):
        with pytest.raises(CkgenError) as caught:
            expand_groups({**group, "function": name}, functions=[{"name": name, "expression": "2 * e"}])
        assert "characters in the names of instances" in caught.value.diagnostics[0].message
        assert caught.value.diagnostics[0].place is not None
    assert set(DTYPES) > set(widest["dtype"])

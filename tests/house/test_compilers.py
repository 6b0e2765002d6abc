"""The tests that start compilers are known from their markers: `make test` leaves most of them out."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.compilers import compiler_in


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("g++ -c a.cpp", "g++"),
        ("/usr/bin/clang++-19 -S a.cpp", "/usr/bin/clang++-19"),
        ("env HIP_PLATFORM=amd hipcc a.cpp", "hipcc"),
        ("python -m ziglang c++ a.cpp", "ziglang"),
        ("cmake --build build", "cmake"),
        ("g++ --version", ""),
        ("g++ -print-file-name=libasan.so", ""),
        ("git add make", ""),
        ("python -m ckgen list make", ""),
    ],
)
def test_a_compiler_is_known_by_its_name(command: str, program: str) -> None:
    assert compiler_in(command.split()) == program


def test_a_test_without_the_marker_may_not_start_a_compiler() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"g\+\+ and lacks the marker"):
        subprocess.run(["g++", "-fsyntax-only", "-x", "c++", "/dev/null"], check=True)


@pytest.mark.compiles
@pytest.mark.quick
def test_a_test_with_the_marker_may() -> None:
    subprocess.run(["g++", "-fsyntax-only", "-x", "c++", "/dev/null"], check=True)


def test_fixtures_that_are_compiled_mark_their_tests(request: pytest.FixtureRequest) -> None:
    """Every collected test that takes a library has the marker."""
    libraries = {"stub", "make_stub", "quick_library", "host_library", "torch_library"}
    for item in request.session.items:
        if libraries & set(getattr(item, "fixturenames", ())):
            assert item.get_closest_marker("compiles"), item.nodeid

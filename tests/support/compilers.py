"""Restrict compilers to tests with the marker `compiles`. A test without it fails when it starts one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import PurePath

import pytest

# Programs that compile or start compilers, with or without a version after the name.
_PROGRAM = re.compile(r"(g\+\+|gcc|cc|c\+\+|clang|clang\+\+|hipcc|nvcc|cmake|ninja|make|zig|ziglang)(-[0-9.]+)?$")
_QUESTION = re.compile(r"(--version|-dump|-print-|--print-)")  # arguments with which a compiler only prints information
_LAUNCHERS = 4  # words that may precede the compiler, as in `env HIP_PLATFORM=amd hipcc`, `python -m ziglang c++`
_watched: list[pytest.Item] = []  # the test that runs now


def compiler_in(command: Sequence[object]) -> str:
    """The compiler that a command starts, "" if it starts none or only prints its version."""
    words = [os.fsdecode(word) for word in command if isinstance(word, (str, bytes, os.PathLike))]
    if any(_QUESTION.match(word) for word in words[1:]):
        return ""
    first = words[:1] if words and PurePath(words[0]).name != "env" and "-m" not in words[:2] else words[:_LAUNCHERS]
    return next((word for word in first if _PROGRAM.fullmatch(PurePath(word).name)), "")


def watch(item: pytest.Item | None) -> None:
    """Note the test that runs from now on; None: no test runs."""
    _watched[:] = [item] if item else []


def install() -> None:
    """Refuse compilers to tests without the marker, in this process until it ends."""
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event != "subprocess.Popen" or not _watched or _watched[0].get_closest_marker("compiles"):
        return
    command = arguments[1]
    words = command.split() if isinstance(command, str) else command
    program = compiler_in(words) if isinstance(words, Sequence) else ""
    if program:
        pytest.fail(f"the test starts {program} and lacks the marker `compiles`")

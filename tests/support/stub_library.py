"""Compile tests/data/stub_library/stub.c: the C API over plain loops, correct or with one planted bug."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests" / "data" / "stub_library" / "stub.c"


def compile_stub(folder: Path, bug: str = "NONE", platform: str = "host") -> Path:
    """The path of the library; compiled once per folder, bug and platform. Fails without a C compiler."""
    path = folder / f"{bug.lower()}-{platform}.so"
    if not path.exists():
        options = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        defines = [f"-DBUG={bug}", f'-DPLATFORM="{platform}"']
        include = f"-I{ROOT / 'generated' / 'include'}"
        subprocess.run([_compiler(), *options, *defines, include, str(SOURCE), "-o", str(path)], check=True)
    return path


def compile_old(folder: Path) -> Path:
    """The path of a library of ABI version 6, which lacks functions of later versions."""
    path = folder / "old.so"
    words = ["-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
    code = "int ckgen_abi_version(void) { return 6; }"
    subprocess.run([_compiler(), *words], input=code, text=True, check=True)
    return path


def _compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc")
    assert found, "the tests need a C compiler, cc or gcc, on PATH"
    return found

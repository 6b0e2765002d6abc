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
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "the tests need a C compiler, cc or gcc, on PATH"
    if not path.exists():
        options = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        defines = [f"-DBUG={bug}", f'-DPLATFORM="{platform}"']
        include = f"-I{ROOT / 'generated' / 'include'}"
        subprocess.run([compiler, *options, *defines, include, str(SOURCE), "-o", str(path)], check=True)
    return path

"""Build and load binding.cpp, which runs plans without Python. PyTorch's own build function does both; the result stays
in its cache of extensions, so that only the first process on a machine compiles, for about ten seconds."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import importlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from ckgen.library.c_api import LibraryError
from ckgen.torch.require import torch

_SOURCE = Path(__file__).with_name("binding.cpp")
_HELP = "install a C++17 compiler and ninja: `pip install ninja`"


@functools.cache
def binding() -> ctypes.CDLL:
    """The binding as a library of C functions; its operators are then in torch.ops.ckgen. Raise LibraryError if it
    cannot be built."""
    _find_ninja()
    extension: Any = importlib.import_module("torch.utils.cpp_extension")
    name = f"ckgen_binding_{torch.__version__}".replace(".", "_").replace("+", "_")
    try:
        folder = extension._get_build_directory(name, verbose=False)
        with Path(folder, "ckgen.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # PyTorch waits for ever for a process that was killed while it built; no other process builds here now.
            Path(folder, "lock").unlink(missing_ok=True)
            extension.load(name, [str(_SOURCE)], extra_cflags=["-O2"], build_directory=folder, is_python_module=False)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        raise LibraryError(f"the binding to PyTorch {torch.__version__} cannot be built: {error}", _HELP) from error
    return ctypes.CDLL(str(Path(folder) / f"{name}.so"))


def _find_ninja() -> None:
    """Let PyTorch find the ninja of the PyPI package in an environment that is not activated."""
    if shutil.which("ninja") is None:
        with contextlib.suppress(ImportError):
            folder = importlib.import_module("ninja").BIN_DIR
            os.environ["PATH"] = os.pathsep.join((os.environ.get("PATH", ""), folder))

"""nvcc from NVIDIA's wheels on PyPI (nvidia-cuda-nvcc and what it needs), which need no root.

The wheels unpack into the folder nvidia/cu13 of the Python packages. Two things differ there from an installed toolkit,
and CMake's FindCUDAToolkit and nvcc's own nvcc.profile need both: the libraries are in lib and not in lib64, and
libcudart.so has its version number in its name only. So a folder of links in the user's cache has the usual shape.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

from ckgen.paths import cache_dir

# One file of each wheel: nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-runtime and nvidia-cuda-cccl.
_NEEDED = ("bin/nvcc", "nvvm/bin/cicc", "include/crt/host_config.h", "include/cuda_runtime.h", "include/cccl/cuda")


def nvcc_of_wheels() -> str | None:
    """The path of an nvcc that works, or None if a wheel is missing or the cache cannot be written."""
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    wheels = next((Path(folder, "cu13") for folder in folders if _whole(Path(folder, "cu13"))), None)
    if wheels is None:
        return None
    known = hashlib.sha256(f"{wheels.resolve()} {os.stat(wheels / 'bin/nvcc').st_mtime_ns}".encode()).hexdigest()
    made = cache_dir() / "cuda" / known[:16]
    try:
        if not made.exists():
            _link(wheels, made)
    except OSError:
        return None
    return str(made / "bin" / "nvcc")


def _whole(wheels: Path) -> bool:
    return all((wheels / name).exists() for name in _NEEDED)


def _link(wheels: Path, made: Path) -> None:
    """Make the folder of links; another process may make it at the same time."""
    made.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=made.parent))
    for name in ("include", "nvvm"):
        (folder / name).symlink_to(wheels / name)
    for source, target in (("bin", "bin"), ("lib", "lib64")):  # nvcc takes the folder of its own name, links included
        (folder / target).mkdir()
        for file in (wheels / source).iterdir():
            (folder / target / file.name).symlink_to(file)
            plain = file.name.partition(".so.")[0] + ".so"
            if ".so." in file.name and not (wheels / source / plain).exists():
                (folder / target / plain).symlink_to(file)
    try:
        folder.rename(made)
    except OSError:
        shutil.rmtree(folder)
        if not made.exists():
            raise

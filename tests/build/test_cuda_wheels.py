"""ckgen.build.cuda_wheels: NVIDIA's wheels in the shape of an installed toolkit."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ckgen.build import cuda_wheels

WHEELS = ("bin/nvcc", "nvvm/bin/cicc", "include/crt/host_config.h", "include/cuda_runtime.h", "include/cccl/cuda")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files with the names of the wheels' files, on Python's path; and an empty cache."""
    folder = tmp_path / "packages" / "nvidia" / "cu13"
    for name in (*WHEELS, "bin/ptxas", "lib/libcudart.so.13", "lib/libcudart_static.a"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("#!/bin/sh\nexit 0\n")
    (folder / "bin/nvcc").chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages")])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    return folder


def test_the_links_have_the_shape_of_a_toolkit(wheels: Path) -> None:
    found = cuda_wheels.nvcc_of_wheels()
    assert found is not None
    toolkit = Path(found).parent.parent
    for name in ("bin/nvcc", "bin/ptxas", "lib64/libcudart.so", "lib64/libcudart.so.13", "lib64/libcudart_static.a"):
        assert (toolkit / name).exists(), name
    assert (toolkit / "include/cuda_runtime.h").exists() and (toolkit / "nvvm/bin/cicc").exists()
    assert os.access(found, os.X_OK)
    assert cuda_wheels.nvcc_of_wheels() == found
    assert [path.name for path in toolkit.parent.iterdir()] == [toolkit.name]


@pytest.mark.parametrize("name", WHEELS)
def test_a_missing_wheel_is_no_toolkit(wheels: Path, name: str) -> None:
    (wheels / name).unlink()
    assert cuda_wheels.nvcc_of_wheels() is None


def test_another_version_has_other_links(wheels: Path) -> None:
    found = cuda_wheels.nvcc_of_wheels()
    (wheels / "bin/nvcc").unlink()
    (wheels / "bin/nvcc").write_text("#!/bin/sh\nexit 1\n")
    other = cuda_wheels.nvcc_of_wheels()
    assert other is not None and other != found


def test_without_a_cache_there_is_none(wheels: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert cuda_wheels.nvcc_of_wheels() is None

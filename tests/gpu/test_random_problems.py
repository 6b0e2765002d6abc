"""Test that random valid problems on tensors in every kind of memory are refused by name or computed correctly: some on
the host, many on the GPU whose library CKGEN_NVIDIA_LIBRARY names.
"""

from __future__ import annotations

import os

import pytest

from ckgen.library.library import Library
from tests.gpu.random_problems import run_all

torch = pytest.importorskip("torch", reason="PyTorch is not installed; it judges the results")
NVIDIA = os.environ.get("CKGEN_NVIDIA_LIBRARY")


@pytest.mark.skipif(not NVIDIA, reason="CKGEN_NVIDIA_LIBRARY names no library")
@pytest.mark.parametrize("seed", range(8))
def test_on_the_gpu(seed: int) -> None:
    outcome = run_all(torch, Library(str(NVIDIA)), 2000, seed)
    assert not outcome.wrong, outcome.wrong[:5]
    assert outcome.right > 1000 and outcome.selected > 300


@pytest.mark.parametrize("seed", range(2))
def test_on_the_host(host_library: Library, seed: int) -> None:
    outcome = run_all(torch, host_library, 40, seed, most_products=300_000)
    assert not outcome.wrong, outcome.wrong[:5]
    assert outcome.right > 20 and outcome.selected > 10

"""Run the host platform under AddressSanitizer and UndefinedBehaviorSanitizer: sound kernels are clean, and a global
access that the platform's own checks miss is caught.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.instance.instance import Instance
from tests.support.cxx import ROOT, header, link, write_tree
from tests.support.planting import replace_once

pytestmark = pytest.mark.compiles

LAYOUT = "NHWGC/GKYXC/NHWGK"
GENERIC = Instance("xdl", LAYOUT, "f16", "Default", 64, 64, 32, 32, 0, 4, 1, 1, 1, 1, generic=True)
INSTANCES = (
    GENERIC,
    replace(GENERIC, layout="NWGC/GKXC/NWGK", dtype="f32", k_per_block=16),
    replace(GENERIC, layout="GNDHWC/GKZYXC/GNDHWK", dtype="bf16_f32_bf16"),
    Instance("xdl", LAYOUT, "bf16", "Filter1x1Stride1Pad0", 64, 64, 32, 16, 0, 1, 8, 8, 8, 2),
    Instance("wavelet", LAYOUT, "f16", "Default", 64, 64, 32, 32, 4, 2, 2, 2, 2, 4),
    Instance("wavelet_tma", LAYOUT, "bf16", "Default", 128, 256, 64, 64, 2, 4, 8, 8, 2, 4, archs=("sm_90a",)),
    Instance("wavelet_tma", LAYOUT, "f32_comp_tf32", "Default", 128, 128, 32, 64, 2, 4, 4, 4, 2, 6, archs=("sm_90a",)),
    Instance("halo", LAYOUT, "f16", "Default", 8, 8, 16, 16, 2, 4, 8, 8, 4, 6, archs=("sm_90a",)),
)
FLAGS = ("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")


def run_sanitized(library: Path, script: str = "tests.support.sanitized.run") -> subprocess.CompletedProcess[str]:
    """Run the script in a process that loads the sanitizers' runtime at the start; Python's own leaks are ignored."""
    runtime = [
        subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    environment = {**os.environ, "LD_PRELOAD": " ".join(runtime), "ASAN_OPTIONS": "detect_leaks=0"}
    command = [sys.executable, "-m", script, str(library)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.sweep
def test_sound_kernels_are_clean(tmp_path: Path) -> None:
    done = run_sanitized(link(tmp_path, write_tree(tmp_path, INSTANCES), FLAGS))
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert "without a report" in done.stdout


@pytest.mark.sweep
def test_a_read_past_the_input_is_reported(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, (GENERIC,))
    replace_once(header(tree, "host.hpp"), "thread.check_global(base_ + byte_offset, sizeof(V), false, site);", "")
    replace_once(header(tree, "bwd_weight_view.hpp"), "bytes < 0 ? 0 : bytes > limit ? limit : bytes", "limit")
    done = run_sanitized(link(tmp_path, tree, FLAGS))
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr, (done.stdout + done.stderr)[-4000:]

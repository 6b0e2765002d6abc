"""Kernels of backward data under AddressSanitizer and UndefinedBehaviorSanitizer: accesses stay inside the tensors that
a run was given."""

from __future__ import annotations

from pathlib import Path

from tests.data_library import build
from tests.test_sanitizers import FLAGS, run_sanitized


def test_sound_kernels_are_clean(tmp_path: Path) -> None:
    done = run_sanitized(build(tmp_path, ("-O1", *FLAGS)), "tests.sanitized_data_run")
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert "without a report" in done.stdout

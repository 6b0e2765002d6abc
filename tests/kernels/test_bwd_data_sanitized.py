"""Run kernels of backward data under AddressSanitizer and UndefinedBehaviorSanitizer: accesses stay inside the tensors
of a run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.test_sanitizers import FLAGS, run_sanitized
from tests.support.bwd_data_library import build

pytestmark = pytest.mark.compiles


@pytest.mark.sweep
def test_sound_kernels_are_clean(tmp_path: Path) -> None:
    done = run_sanitized(build(tmp_path, ("-O1", *FLAGS)), "tests.support.sanitized.run_bwd_data")
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert "without a report" in done.stdout

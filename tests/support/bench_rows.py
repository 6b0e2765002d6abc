"""Rows as if they had been measured on a GPU, and libraries whose instances crash their process."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from ckgen.bench.job import OK, Job, Outcome
from ckgen.bench.store import Origin, ResultRow, make_row
from ckgen.conv.problem import make_problem
from ckgen.problems.sets import NamedProblem
from tests.support.trees import WAVELET, XDL

ROOT = Path(__file__).resolve().parents[2]
ORIGIN = Origin(
    started="2026-01-02T03:04:05Z",
    host="node",
    platform="nvidia",
    device="Test GPU <1>",
    driver="1.2.3",
    software="torch 0, cudnn 0",
    compiler="NVIDIA 13.0.88",
    commit_id="c" * 40,
    spec_digest="5" * 64,
    library_digest="6" * 64,
    tool_version="0.1.0",
    settings={"cache": "flush"},
    ceilings={"bytes": 4e12, "f16": 8e14},
)
PLANE = NamedProblem(
    "plane", make_problem(batch=32, k=256, c=256, filter=(3, 3), input=(100, 100), pad=1), published_uplift=1.24
)
POINT = NamedProblem("point", make_problem(batch=32, k=512, c=256, filter=(1, 1), input=(50, 50), stride=2))


def row(
    ms: float | None,
    name: str = XDL.name,
    problem: NamedProblem = PLANE,
    *,
    split_k: int | None = 1,
    verdict: str = OK,
    run_id: int = 1,
    dtype: str = "f16",
    **work: Any,
) -> ResultRow:
    """A row with a time, or with a verdict without one; the name `cudnn` makes it a reference's. ``work`` is operation,
    function and bytes of D tensors, if it is not backward weight."""
    kind = "reference" if name == "cudnn" else "instance"
    job = Job(kind, name, dtype, problem, None if kind == "reference" else split_k, **work)  # type: ignore[arg-type]
    spread = (ms * 0.9, ms * 0.95, ms * 1.05) if ms else (None, None, None)
    outcome = Outcome(verdict, "" if verdict == OK else "why", ms, *spread, samples=9 if ms else 0, max_error=1e-3)
    return make_row(run_id, "2026-01-02T03:04:06Z", job, outcome)


def rows(run_id: int = 1) -> list[ResultRow]:
    """Two shapes: on one, the wavelet instance wins and beats cudnn; the other has no wavelet instance and cudnn
    wins."""
    return [
        row(0.5, "cudnn", run_id=run_id),
        row(0.6, run_id=run_id),
        row(0.4, split_k=4, run_id=run_id),
        row(0.32, WAVELET.name, run_id=run_id),
        row(None, WAVELET.name, split_k=2, verdict="crashed", run_id=run_id),
        row(0.02, "cudnn", POINT, run_id=run_id),
        row(0.04, problem=POINT, run_id=run_id),
    ]


def compile_fatal(folder: Path, kind: str) -> Path:
    """The library of tests/data/stub_library/fatal.c; `kind` is ABORT, HANG or ONCE. Fails without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "the tests need a C compiler, cc or gcc, on PATH"
    source, path = ROOT / "tests" / "data" / "stub_library" / "fatal.c", folder / f"fatal-{kind.lower()}.so"
    options = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-DFATAL_{kind}"]
    subprocess.run(
        [compiler, *options, f"-I{ROOT / 'generated' / 'include'}", str(source), "-o", str(path)], check=True
    )
    return path

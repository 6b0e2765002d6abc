"""Test ckgen bench with stand-in libraries: rows are stored as they finish, faults lose only their own row, runs
continue.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import connection
from pathlib import Path
from typing import Any

import pytest

from ckgen.bench import job as bench_job
from ckgen.bench.claim import claimed
from ckgen.bench.job import Job, Settings, timed
from ckgen.bench.measuring import Ask, Measuring
from ckgen.bench.origin import find_commit, find_compiler, make_origin, spec_digest
from ckgen.bench.plan import make_jobs
from ckgen.bench.runner import BenchRun, Limits, failures
from ckgen.bench.store import Origin, ResultRow, Store
from ckgen.bench.worker import open_bench
from ckgen.cli import main
from ckgen.cli.common.cluster_option import open_pool
from ckgen.cluster import child as child_process
from ckgen.cluster.child import ChildGone, ChildProcess
from ckgen.conv.problem import make_problem
from ckgen.library.digest import file_digest
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from ckgen.problems.sets import NamedProblem
from tests.library.test_library import F16_POINTWISE, F32
from tests.support.bench_rows import PLANE, compile_fatal, row
from tests.support.patience import HANG_GUARD
from tests.support.stub_library import compile_stub
from tests.support.trees import XDL

ROOT = Path(__file__).resolve().parents[2]
QUICK = Settings(min_samples=1, max_samples=2)
PATIENT = Limits(job_seconds=HANG_GUARD)
F16 = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f16_default_64x64x32_w0x4_xdl32_v1x1x1_s1_generic"
EVEN = NamedProblem("even", make_problem(batch=2, k=8, c=8, filter=(1, 1), input=(4, 4)))
ODD = NamedProblem("odd", make_problem(batch=3, k=4, c=4, filter=(2, 2), input=(5, 5), stride=2), None, 1.5)
FILE = """\
channels: per_group
problems:
  - {name: even, batch: 2, out_channels: 8, in_channels: 8, filter: [1, 1], input: [4, 4]}
  - {name: odd, batch: 3, out_channels: 4, in_channels: 4, filter: [2, 2], input: [5, 5], stride: 2}
"""


@pytest.fixture(scope="module")
def fatal(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Libraries whose generic f16 instance aborts or hangs on odd batch sizes."""
    folder = tmp_path_factory.mktemp("fatal")
    return {kind: compile_fatal(folder, kind) for kind in ("ABORT", "HANG")}


def origin_of(library: Path, settings: Settings = QUICK) -> Origin:
    machine = {"device": "test", "driver": "1", "software": "none"}
    return make_origin(library, settings, machine, library_platform="host", spec_digest="s", commit="c")


def work_of(library: Path) -> Measuring:
    return Measuring(library, file_digest(library), QUICK, HANG_GUARD)


def measure(
    library: Path, store: Store, names: list[str], limits: Limits | None = None, again: str = "nothing"
) -> tuple[list[ResultRow], BenchRun]:
    jobs = make_jobs(Library(library), [ODD, EVEN], names=names, split_ks=(1, 2))
    with open_pool(None, work_of(library), "host") as pool:
        run = BenchRun(pool, store, limits or PATIENT)
        return list(run.measure(jobs, origin_of(library), again=again)), run  # type: ignore[arg-type]


def verdicts(rows: list[ResultRow]) -> list[tuple[str, str, int | None, str]]:
    return [(row.problem_name, row.name, row.split_k, row.verdict) for row in rows]


def test_the_plan_measures_equal_factors_once(stub: Library) -> None:
    jobs = make_jobs(stub, [EVEN], names=[F16], split_ks=(-1, 1, 3))
    assert [(job.split_k, job.automatic) for job in jobs] == [(1, False), (3, True)]


def test_a_problem_with_two_names_is_measured_once(stub: Library) -> None:
    twice = [replace(EVEN, operations=()), EVEN, replace(EVEN, name="again"), ODD]
    jobs = make_jobs(stub, twice, names=[F16, F32], split_ks=(1,), references=("cudnn",))
    assert [(job.problem.name, job.kind) for job in jobs] == [
        (name, kind) for name in ("even", "odd") for kind in ("reference", "instance") * 2
    ]


def test_references_come_first_where_they_have_the_type(stub: Library) -> None:
    jobs = make_jobs(stub, [ODD, EVEN], names=stub.names, split_ks=(1,), references=("cudnn",))
    assert [job.problem.name for job in jobs] == ["odd"] * 8 + ["even"] * 10
    assert [job.name for job in jobs[:2]] == ["cudnn", next(n for n in stub.names if "_bf16_default" in n)]
    assert {job.dtype for job in jobs if job.kind == "reference"} == {"f16", "bf16", "f32"}
    lopsided = NamedProblem("l", make_problem(k=1, c=1, filter=(2, 2), input=(3, 3), pad=1, right_pad=0))
    assert not [job for job in make_jobs(stub, [lopsided], names=[F32], references=("x",)) if job.kind == "reference"]


def test_statistics_and_how_many_samples() -> None:
    outcome = timed("ok", "", [4.0, 1.0, 3.0, 2.0])
    assert (outcome.ms, outcome.ms_min, outcome.ms_q1, outcome.ms_q3) == (2.5, 1.0, 1.75, 3.25)
    one = timed("ok", "", [3.0])
    assert (one.ms, one.ms_min, one.ms_q1, one.ms_q3, one.samples) == (3.0, 3.0, 3.0, 3.0, 1)
    settings = Settings(min_samples=7, max_samples=50, sample_ms=20)
    assert [settings.samples(ms, None) for ms in (0.01, 1.0, 50.0)] == [50, 20, 7]
    assert settings.samples(1.0, 0.9) == 3


def test_rows_are_stored_and_not_measured_again(tmp_path: Path, stub: Library) -> None:
    path = Path(stub.path)
    with Store(tmp_path / "b.sqlite") as store:
        rows, _ = measure(path, store, [F32, F16])
        assert len(rows) == 2 * 2 * 2
        assert not failures(rows)
        assert all(row.ms == 0.25 and row.max_error is not None for row in rows)
        assert store.rows([1]) == rows
        assert {row.published_uplift for row in rows} == {1.5, None}
        assert store.runs()[1].ceilings.keys() == {"bytes", "f16", "f32"}
        more, run = measure(path, store, [F32, F16, F16_POINTWISE])
        assert verdicts(more) == [("even", F16_POINTWISE, 1, "ok"), ("even", F16_POINTWISE, 2, "ok")]
        assert len(run.stored) == 8
        assert len(measure(path, store, [F32], again="all")[0]) == 4
        assert measure(path, store, [F32], again="failed")[0] == []


def test_few_samples_do_not_count_for_a_run_that_takes_more(tmp_path: Path, stub: Library) -> None:
    path = Path(stub.path)
    jobs = make_jobs(stub, [EVEN], names=[F32], split_ks=(1,))
    with Store(tmp_path / "b.sqlite") as store, open_pool(None, work_of(path), "host") as pool:
        for most, count in ((1, 1), (2, 1), (1, 0), (2, 0)):
            origin = origin_of(path, replace(QUICK, max_samples=most))
            assert len(list(BenchRun(pool, store, PATIENT).measure(jobs, origin))) == count


def test_the_limit_for_slow_instances_is_of_the_same_operation_and_function(tmp_path: Path) -> None:
    """A fast backward weight says nothing about backward data, nor a plain instance about one with a function."""
    with Store(tmp_path / "b.sqlite") as store:
        run = BenchRun(None, store, Limits(give_up=2))  # type: ignore[arg-type]
        run._note_best(row(1.0))
        asked = [
            run._request(Job("instance", XDL.name, "f16", PLANE, 1, **work), ())
            for work in ({}, {"operation": BWD_DATA}, {"function": "Scale"})
        ]
    assert [ask and ask.limit_ms for ask in asked] == [2.0, None, None]


def begin_echo() -> Callable[..., tuple[Any, bool]]:
    return lambda *request: (request, True)


def test_the_time_limit_of_a_request_does_not_count_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def wait_for(sources: list[Any], seconds: float) -> list[Any]:
        limits.append(seconds)
        return connection.wait(sources, HANG_GUARD)

    monkeypatch.setattr(child_process, "wait", wait_for)
    with ChildProcess(begin_echo) as child:
        assert [child.ask(HANG_GUARD, word) for word in "ab"] == [("a",), ("b",)]
    assert child.starts == 2 and limits == [child_process.START_SECONDS, HANG_GUARD] * 2


def test_ceilings_that_cannot_be_measured_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Measuring(Path("none.so"), "", QUICK, HANG_GUARD).open()
    asked: list[str] = []

    def tell(do: str, *given: object) -> object:
        asked.append(do)
        return ({"device": "d"}, ()) if do == "origin" else {"bytes": 1e9}

    monkeypatch.setattr(session, "_tell", tell)
    for _ in range(2):
        assert session(Ask(None, None, ("i8",))).ceilings == {"bytes": 1e9}
    session.close()
    assert asked == ["origin", "ceilings"]


@pytest.mark.compiles
@pytest.mark.quick
def test_a_crash_costs_one_row(tmp_path: Path, fatal: dict[str, Path]) -> None:
    with Store(tmp_path / "b.sqlite") as store:
        rows, run = measure(fatal["ABORT"], store, [F32, F16])
        assert verdicts(failures(rows)) == [("odd", F16, 1, "crashed"), ("odd", F16, 2, "crashed")]
        assert {row.message for row in failures(rows)} == {"killed by SIGABRT: memory access fault"}
        assert len(rows) == 8
        assert store.rows([1]) == rows
        assert run.left == []
        again, _ = measure(fatal["ABORT"], store, [F32, F16], again="failed")
        assert verdicts(again) == verdicts(failures(rows))


def wait_until(told: Path) -> Callable[[list[Any], float], list[Any]]:
    """A replacement of `multiprocessing.connection.wait`: time is over once a worker has reported that it hangs."""

    def wait_for(sources: list[Any], seconds: float) -> list[Any]:
        for _ in range(int(seconds / 0.05)):
            if sources[0].poll(0.05):
                return sources
            if told.exists():
                told.unlink()
                break
        return []

    return wait_for


@pytest.mark.compiles
@pytest.mark.quick
def test_a_hang_costs_one_row_and_its_time(
    tmp_path: Path, fatal: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CKGEN_TEST_HANGS", str(tmp_path / "hangs"))
    monkeypatch.setattr(child_process, "wait", wait_until(tmp_path / "hangs"))
    with Store(tmp_path / "b.sqlite") as store:
        rows, run = measure(fatal["HANG"], store, [F32, F16], Limits(job_seconds=HANG_GUARD, crashes=1))
    assert verdicts(failures(rows)) == [("odd", F16, 1, "timeout")]
    assert failures(rows)[0].message == "no answer within 1800 s"
    assert [(job.problem.name, job.name) for job in run.left] == [("odd", F16), ("even", F16), ("even", F16)]
    assert len(rows) == 5


@pytest.mark.parametrize(
    ("bug", "verdict", "words"),
    [
        ("ZERO_KERNEL", bench_job.WRONG, "is more than"),
        ("NULL_KERNEL", bench_job.WRONG, "never written"),
        ("RUN_FAILS", bench_job.FAILED, "barrier mismatch: wave 3"),
    ],
)
def test_a_wrong_instance_gets_no_time(tmp_path: Path, stub_folder: Path, bug: str, verdict: str, words: str) -> None:
    with Store(tmp_path / "b.sqlite") as store:
        rows, _ = measure(compile_stub(stub_folder, bug), store, [F32])
    assert {row.verdict for row in rows} == {verdict}
    assert all(words in row.message and row.ms is None and not row.timed for row in rows)


@pytest.mark.parametrize(("platform", "starts"), [("host", 1), ("nvidia", 3)])
def test_a_gpu_that_reported_an_error_gets_a_new_worker(stub_folder: Path, platform: str, starts: int) -> None:
    """An error stays with a process that uses a GPU, so the next job would fail too."""
    library = compile_stub(stub_folder, "RUN_FAILS", platform)
    job = make_jobs(Library(library), [EVEN], names=[F32], split_ks=(1,))[0]
    with ChildProcess(open_bench, library, QUICK) as worker:
        outcomes = [worker.ask(HANG_GUARD, "measure", job, None) for _ in range(3)]
    assert [outcome.verdict for outcome in outcomes] == [bench_job.FAILED] * 3
    assert worker.starts == starts


def test_a_worker_that_cannot_start_is_said_once(tmp_path: Path) -> None:
    with ChildProcess(open_bench, tmp_path / "absent.so", QUICK) as worker, pytest.raises(ChildGone) as raised:
        worker.ask(HANG_GUARD, "origin")
    assert raised.value.verdict == bench_job.CRASHED
    assert "ended with exit code 1" in raised.value.message and "absent.so" in raised.value.message


def test_the_origin_of_rows(tmp_path: Path, stub: Library) -> None:
    origin = origin_of(Path(stub.path))
    assert origin.library_digest == file_digest(Path(stub.path))
    assert origin.started.endswith("Z") and len(origin.started) == 20
    assert math.isfinite(len(find_commit()))
    assert "GCC" in find_compiler(Path(stub.path)) or "clang" in find_compiler(Path(stub.path))
    notes = tmp_path / "CMakeFiles" / "3.30"
    notes.mkdir(parents=True)
    for language, name, version in (("CUDA", "NVIDIA", "13.0.88"), ("CXX", "GNU", "12.2.0")):
        text = f'set(CMAKE_{language}_COMPILER_ID "{name}")\nset(CMAKE_{language}_COMPILER_VERSION "{version}")\n'
        (notes / f"CMake{language}Compiler.cmake").write_text(text)
    assert find_compiler(tmp_path / "lib.so") == "NVIDIA 13.0.88, GNU 12.2.0"
    assert spec_digest(None, ("b", "a")) == spec_digest(None, ("a", "b")) != spec_digest(None, ("a",))


def arguments(library: Path, folder: Path, *more: str) -> list[str]:
    (folder / "mine.yaml").write_text(FILE)
    words = ["bench", "--library", str(library), "--problems", str(folder / "mine.yaml")]
    words += ["--job-seconds", str(HANG_GUARD), "--samples", "1", "2"]
    return [*words, "--store", str(folder / "b.sqlite"), *more]


def test_the_command_measures_then_finds_all_stored(
    tmp_path: Path, stub: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments(Path(stub.path), tmp_path, "dtype=f16", "--split-k", "1,2", "--platform", "host")
    assert main(words) == 0
    first = capsys.readouterr()
    assert "odd    backward weight, f16" in first.out
    assert "8 rows measured, 0 were already in" in first.err
    assert main([*words, "--json"]) == 0
    second = capsys.readouterr()
    assert "0 rows measured, 8 were already in" in second.err
    assert [row["verdict"] for row in json.loads(second.out)] == ["ok"] * 8
    assert main([*words, "--batch", "4"]) == 0
    assert "8 rows measured" in capsys.readouterr().err


def test_the_command_measures_the_chosen_problems(
    tmp_path: Path, stub: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments(Path(stub.path), tmp_path, "dtype=f16", "--split-k", "1", "--platform", "host", "--json")
    assert main([*words, "--only", "name=ev*", "--only", "class=few_channels"]) == 0
    assert {row["problem_name"] for row in json.loads(capsys.readouterr().out)} == {"even"}
    assert main([*words, "--sample", "1", "3"]) == 0
    assert len({row["problem_name"] for row in json.loads(capsys.readouterr().out)}) == 1
    assert main([*words, "--only", "part=held_out"]) == 2
    assert "no problem has part=held_out" in capsys.readouterr().err


@pytest.mark.compiles
@pytest.mark.quick
def test_the_command_fails_when_an_instance_does(
    tmp_path: Path, fatal: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(fatal["ABORT"], tmp_path, "dtype=f16", "--split-k", "1")) == 1
    said = capsys.readouterr().err
    assert f"crashed: {F16} on odd split_k 1: killed by SIGABRT: memory access fault" in said


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--platform", "amd"), "is for platform host, not amd"),
        (("--split-k", "1,x"), "'x' is not a valid integer"),
        (("--split-k", "0"), "at least 1"),
        (("dtype=f61",), "no instance has dtype=f61"),
        (("ndim=3",), "none of 1 instances takes any of 2 problems"),
    ],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path, stub: Library, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], words: str
) -> None:
    assert main(arguments(Path(stub.path), tmp_path, *more)) == 2
    assert words in capsys.readouterr().err


def test_a_damaged_store_is_one_error_before_anything_is_measured(
    tmp_path: Path, stub: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments(Path(stub.path), tmp_path, "dtype=f32", "--split-k", "1")
    assert main(words) == 0
    store = Path(words[words.index("--store") + 1])
    database = sqlite3.connect(store)
    database.execute("UPDATE rows SET ms = 'fast'")
    database.commit()
    database.close()
    capsys.readouterr()
    assert main(words) == 2
    assert f"error[results]: {store}: line 1 of table `rows`: ms is not a number" in capsys.readouterr().err


def test_a_store_that_another_bench_writes_to_is_left_alone(
    tmp_path: Path, stub: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments(Path(stub.path), tmp_path, "dtype=f32", "--split-k", "1")
    with claimed(Path(words[words.index("--store") + 1])):
        assert main(words) == 2
    assert f"process {os.getpid()} is measuring into" in capsys.readouterr().err
    assert main(words) == 0


@pytest.mark.parametrize("look", [1, 2])
def test_a_lock_that_its_holder_removes_meanwhile_is_made_again(
    look: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock file disappears before the first or the second check of its name."""
    lock, looks, stat = tmp_path / ".b.sqlite.lock", [0], os.stat

    def late(path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        if path == lock:
            looks[0] += 1
            if looks[0] == look:
                lock.unlink()
        return stat(path, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", late)
        with claimed(tmp_path / "b.sqlite"):
            assert os.listdir(tmp_path) == [lock.name]
    assert looks[0] >= 1 and not lock.exists()


def test_bench_and_report_need_neither_pydantic_nor_rich(tmp_path: Path, stub: Library) -> None:
    """A GPU machine has click, jinja2, PyYAML, numpy and perhaps PyTorch."""
    blocked = "import sys; sys.modules['pydantic'] = sys.modules['rich'] = sys.modules['torch'] = None\n"
    start = blocked + "from ckgen.cli import main; sys.exit(main(sys.argv[1:]))"
    words = arguments(Path(stub.path), tmp_path, "dtype=f32", "--split-k", "1")
    for command in (words, ["report", "--store", words[-6], "--out", str(tmp_path / "r.html")]):
        store = command.index("--store") + 1
        command[store] = str(tmp_path / "b.sqlite")
        done = subprocess.run([sys.executable, "-c", start, *command], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_real_host_library_is_measured(tmp_path: Path, host_library: Library) -> None:
    tiny = NamedProblem("tiny", make_problem(batch=2, k=8, c=8, filter=(1, 1), input=(4, 4)))
    names = [
        i.name for i in host_library.instances if i.ndim == 2 and i.dtype == "f16" and i.generic and not i.a_k_major
    ][:1]
    jobs = make_jobs(host_library, [tiny], names=names, split_ks=(-1, 2))
    path = Path(host_library.path)
    with Store(tmp_path / "b.sqlite") as store, open_pool(None, work_of(path), "host") as pool:
        rows = list(BenchRun(pool, store, PATIENT).measure(jobs, origin_of(path)))
    assert len(rows) == len(jobs) > 0
    assert not failures(rows), rows
    assert all(row.ms and row.ms > 0 for row in rows)

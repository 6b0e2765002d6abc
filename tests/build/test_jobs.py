"""Test forecasts and shards of a build: the shards divide the compiler runs, and forecasts hold for other instances."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import compile_cost
from ckgen.build.compile_cost import OTHER, TABLE, UNIT, forecast, kind_of, read_table
from ckgen.build.jobs import CompileJob, peak_mebibytes, read_jobs, wall_seconds
from ckgen.cli import main
from ckgen.errors import CkgenError
from ckgen.library.library import Library
from tests.support.host_library import ROOT

PLATFORMS = ("host", "amd", "nvidia")
# Limits of the errors in docs/cluster.md for units that the fit has not seen: the median and the 90th percentile.
STATED = {"host": (0.14, 0.30), "amd": (0.17, 0.31), "nvidia": (0.14, 0.23)}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """The measured compiler runs."""
    return compile_cost.load_rows()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_table_is_the_fit_of_the_measured_runs(platform: str, rows: list[dict[str, Any]]) -> None:
    own = [row for row in rows if row["platform"] == platform]
    table = compile_cost.fit(own, platform)
    assert read_table()[platform].keys() == table.keys()
    for kind, cost in read_table()[platform].items():
        assert cost.host_seconds == pytest.approx(table[kind].host_seconds, abs=2e-3)
        assert cost.target_seconds == pytest.approx(table[kind].target_seconds, abs=2e-3)
        assert cost.mebibytes == table[kind].mebibytes


@pytest.mark.parametrize("platform", PLATFORMS)
def test_forecasts_hold_for_instances_that_the_fit_has_not_seen(platform: str, rows: list[dict[str, Any]]) -> None:
    own = [row for row in rows if row["platform"] == platform]
    seen, held = (
        {source for row in own if row["sample"] == sample for source in row["sources"] if _is_instance(source)}
        for sample in ("fit", "held")
    )
    assert len(held) >= 40 and not seen & held
    found = compile_cost.errors(own, read_table()[platform])
    median, p90 = STATED[platform]
    assert found["median"] <= median and found["p90"] <= p90 and abs(found["total"]) <= 0.2
    assert found["memory_least"] >= 0.6 and found["memory_most"] <= 1.4


def test_every_family_of_the_tree_has_a_forecast() -> None:
    sources = [record["source"].removeprefix("src/") for record in _manifest(ROOT / "generated")]
    kinds = {kind_of(source) for source in sources}
    assert len(kinds) >= 4 and kinds <= read_table()["host"].keys() & read_table()["nvidia"].keys()


def test_a_forecast_adds_parts_and_takes_the_largest_memory() -> None:
    table = read_table()["amd"]
    xdl = "grouped_conv_bwd_weight/xdl/a.cpp"
    one, two = forecast(table, [xdl], 1), forecast(table, [xdl, xdl], 2)
    kind, unit = table[kind_of(xdl)], table[UNIT]
    assert math.isclose(one.seconds, unit.host_seconds + unit.target_seconds + kind.host_seconds + kind.target_seconds)
    assert one.seconds < forecast(table, [xdl], 2).seconds < two.seconds and one.mebibytes == two.mebibytes
    assert forecast(table, ["plan/absent.cpp"], 0).mebibytes == table[OTHER].mebibytes
    assert TABLE.is_file()


def test_wall_time_and_memory_of_some_cores() -> None:
    jobs = [
        CompileJob(f"{n}.o", (f"{n}.cpp",), 1, seconds, 100.0 * n) for n, seconds in enumerate((4.0, 3.0, 3.0, 2.0))
    ]
    assert [wall_seconds(jobs, cores) for cores in (1, 2, 9)] == [12.0, 6.0, 4.0]
    assert [peak_mebibytes(jobs, cores) for cores in (1, 2, 9)] == [300.0, 500.0, 600.0]


def test_a_folder_that_is_not_configured_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(CkgenError, match="the build is not configured"):
        read_jobs(tmp_path, tmp_path, "host")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A generated tree of five instances, in a folder of its own, which is the current one."""
    folder = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        spec = ROOT / "instances.yaml"
        words = ["generate", "--spec", str(spec), "--set", "quick", "ndim=1", "--out", "tree"]
        assert main(words) == 0
        yield folder


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("count", [1, 3, 7])
def test_shards_divide_the_sources(small: Path, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--out", "tree", "--plan", "--json", "--shards", str(count)]) == 0
    jobs = json.loads(capsys.readouterr().out)
    lists = [
        Path(f"build/tree/host/shards/{number}-of-{count}.txt").read_text().split() for number in range(1, count + 1)
    ]
    every = [source for job in jobs for source in job["sources"]]
    assert Counter(source for own in lists for source in own) == Counter(every)
    assert max(Counter(every).values()) == 1
    on_disk = {path.relative_to("tree/src").as_posix() for path in Path("tree/src").rglob("*.cpp")}
    assert set(every) == on_disk and len(on_disk) > 40  # the host compiles every source
    cost = {source: job["seconds"] / len(job["sources"]) for job in jobs for source in job["sources"]}
    totals = [sum(cost[source] for source in own) for own in lists]
    longest = max(job["seconds"] for job in jobs)
    assert max(totals) <= sum(totals) / count + longest + 1e-6
    assert count > 3 or max(totals) <= 1.1 * sum(totals) / count  # what docs/cluster.md states


@pytest.mark.compiles
@pytest.mark.quick
def test_a_launcher_is_for_every_language_and_forgotten_without_the_option(
    small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "mycache"
    program.write_text('#!/bin/sh\nexec "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    cache = Path("build/tree/host/CMakeCache.txt")
    assert main(["build", "--out", "tree", "--plan", "--launcher", "mycache"]) == 0
    for language in ("CXX", "CUDA"):
        assert f"CMAKE_{language}_COMPILER_LAUNCHER:UNINITIALIZED=mycache\n" in _untyped(cache)
    assert "mycache" in _ninja_files()
    assert main(["build", "--out", "tree", "--plan"]) == 0
    assert "mycache" not in cache.read_text() + _ninja_files()


def _ninja_files() -> str:
    """All that Ninja reads: CMake 3 writes a launcher into the rules, CMake 4.4 into the build statements."""
    return "".join(path.read_text() for path in sorted(Path("build/tree/host").rglob("*.ninja")))


def _untyped(cache: Path) -> str:
    """CMake's cache with the type of every variable replaced."""
    return re.sub(r":[A-Z]+=", ":UNINITIALIZED=", cache.read_text())


@pytest.mark.compiles
@pytest.mark.sweep
def test_shards_and_a_cluster_build_what_one_build_does(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The objects of all shards are those of the plan, so that the build after them only links."""
    assert main(["build", "--out", "tree", "--plan", "--json"]) == 0
    outputs = {job["output"] for job in json.loads(capsys.readouterr().out)}
    folder = Path("build/tree/host")
    made: list[str] = []
    for number in (1, 2):
        assert main(["build", "--out", "tree", "--shard", f"{number}/2"]) == 0
        made += capsys.readouterr().out.split()
        assert all(Path(path).is_file() for path in made)
    assert Counter(made) == Counter(str(folder / output) for output in outputs)
    assert not (folder / "libckgen_conv.so").exists()
    before = {path: Path(path).stat().st_mtime_ns for path in made}
    assert main(["build", "--out", "tree"]) == 0
    assert Path(capsys.readouterr().out.strip()).is_file()
    assert {path: Path(path).stat().st_mtime_ns for path in made} == before

    Path("build").rename("build-alone")
    assert main(["build", "--out", "tree", "--cluster", "2"]) == 0
    library = Library(Path(capsys.readouterr().out.strip()))
    assert sorted(library.names) == sorted(record["name"] for record in _manifest(Path("tree")))
    built = {path: Path(path).stat().st_mtime_ns for path in made}
    assert main(["build", "--out", "tree", "--cluster", "2"]) == 0  # resumes: everything is there
    assert {path: Path(path).stat().st_mtime_ns for path in made} == built


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--shards", "2"), "--shards is for --plan"),
        (("--shard", "0/2"), "'0/2' is not I/N"),
        (("--shard", "3/2"), "'3/2' is not I/N"),
        (("--plan", "--cluster", "2"), "--cluster is for compiling everything"),
        (("--json",), "--json is for --plan"),
        (("--launcher", "no-such-program"), "no-such-program is not on PATH"),
    ],
)
def test_wrong_combinations_are_one_error(
    small: Path, more: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", "--out", "tree", *more]) == 2
    assert words in capsys.readouterr().err


def _manifest(tree: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((tree / "manifest.json").read_text())["instances"]
    return found


def _is_instance(source: str) -> bool:
    return source.startswith("grouped_conv") and "/factory/" not in source

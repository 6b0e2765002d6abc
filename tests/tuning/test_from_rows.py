"""Rows -> table: only correct rows, the best of each kind; drift is found."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.bench.job import WRONG
from ckgen.bench.store import Origin, ResultRow, Store
from ckgen.cli import main
from ckgen.errors import CkgenError
from ckgen.instance.instance import parse
from ckgen.operations.operation import OPERATIONS
from ckgen.report.export import to_csv
from ckgen.report.imports import parse_csv, read_results
from ckgen.report.summary import load_summary
from ckgen.selection.measured import TABLES, load_tables, load_texts, parse_table, table_text
from ckgen.tuning.from_rows import Measured, find_drift, make_table, read_measured
from tests.support.bench_rows import ORIGIN, PLANE, POINT, row, rows
from tests.support.trees import GENERIC, TMA, WAVELET, XDL

ROOT = Path(__file__).resolve().parents[2]
OPERATION = "grouped_conv_bwd_weight"
NARROW = replace(XDL, a_vector=2)


def table(*found: ResultRow):  # type: ignore[no-untyped-def]
    return make_table(Measured(found, {("rows.csv", 1): ORIGIN}, {"rows.csv": "0" * 64}), OPERATION, "sm_90a")


def store_and_csv(folder: Path, found: list[ResultRow]) -> Path:
    with Store(folder / "b.sqlite") as store:
        store.begin(ORIGIN)
        for item in found:
            store.append(item)

        summary = load_summary(store)
        (folder / "rows.csv").write_text(to_csv(summary, store.runs()))
    return folder / "rows.csv"


def test_exported_rows_come_back(tmp_path: Path) -> None:
    path = store_and_csv(tmp_path, rows())
    assert parse_csv(path.read_text()) == (rows(), {1: ORIGIN})
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_results(path) == read_results(packed) == read_results(tmp_path / "b.sqlite")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("rows.txt", "", "is not a file of results"),
        ("rows.csv", "a,b\n1,2\n", "holds no rows of `ckgen report`"),
        ("none.csv", None, "cannot read"),
        ("none.sqlite", None, "there are no results"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(CkgenError, match=words):
        read_results(tmp_path / name)


def test_the_fastest_right_factor_of_an_instance_is_kept() -> None:
    made = table(row(0.4), row(0.2, split_k=4), row(0.1, split_k=8, verdict=WRONG), row(0.3, split_k=2))
    (problem,) = made.rows
    assert (problem.problem, problem.dtype, problem.layout) == (str(PLANE.problem), "f16", XDL.layout)
    assert [(c.name, c.split_k, c.microseconds) for c in problem.candidates] == [(XDL.name, 4, 200.0)]


def test_wrong_results_and_references_are_never_picked() -> None:
    made = table(row(0.1, "cudnn"), row(0.1, TMA.name, verdict=WRONG), row(0.5), row(0.01, verdict="inexact"))
    assert [c.name for c in made.rows[0].candidates] == [XDL.name]
    with pytest.raises(CkgenError, match="no correct result of grouped_conv_bwd_weight in rows.csv"):
        table(row(0.1, "cudnn"), row(0.1, verdict=WRONG))


def test_an_instance_is_kept_when_it_is_fast_or_asks_for_less() -> None:
    tiles = [replace(XDL, m_per_block=tile).name for tile in (32, 64, 256)]
    generic = replace(GENERIC, layout=XDL.layout, dtype="f16").name
    others = (*tiles, XDL.name, NARROW.name, WAVELET.name, generic)
    made = table(*(row(0.1 * (place + 1), name) for place, name in enumerate(others)))
    kept = [c.name for c in made.rows[0].candidates]
    assert kept == [*tiles, NARROW.name, WAVELET.name, generic], "the fourth tile asks for what the first three do"


def test_a_table_comes_back_from_its_text() -> None:
    made = table(row(0.4), row(0.2, TMA.name, POINT, split_k=4))
    assert parse_table(table_text(made)) == made
    assert made.origin.device == ORIGIN.device and made.origin.commit == ORIGIN.commit_id
    for text in ("{}", "[]", "no", table_text(made).replace('"schema_version": 4', '"schema_version": 7')):
        with pytest.raises(CkgenError):
            parse_table(text)


def test_later_files_count(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    store_and_csv(tmp_path / "old", [row(0.1), row(0.3, TMA.name)])
    store_and_csv(tmp_path / "new", [row(0.5)])
    files = ["old/rows.csv", "new/rows.csv"]
    made = make_table(read_measured(files, tmp_path), OPERATION, "sm_90a")
    assert [(c.name, c.microseconds) for c in made.rows[0].candidates] == [(TMA.name, 300.0), (XDL.name, 500.0)]
    assert list(made.origin.results) == files


def test_the_origin_lists_the_runs_of_all_files(tmp_path: Path) -> None:
    for file in ("ab", "cd"):
        with Store(tmp_path / f"{file}.sqlite") as store:
            for name in file:
                run = store.begin(replace(ORIGIN, device=name, commit_id=name, started=name))
                store.append(row(0.1, run_id=run))
    made = make_table(read_measured(["ab.sqlite", "cd.sqlite"], tmp_path), OPERATION, "sm_90a")
    assert {made.origin.device, made.origin.commit, made.origin.measured} == {"a, b, c, d"}


def test_instances_with_a_function_leave_the_plain_ones_in_the_table() -> None:
    fused = [replace(XDL, function="Scale", m_per_block=tile) for tile in (32, 64, 256)]
    made = table(*(row(0.1, one.name, function="Scale") for one in fused), row(0.5), row(0.6, NARROW.name))
    assert [c.name for c in made.rows[0].candidates] == [XDL.name, NARROW.name]


@pytest.mark.parametrize(
    ("arch", "origin", "words"),
    [
        ("sm_90a", replace(ORIGIN, platform="host"), "run 1: results of platform host, but sm_90a is of"),
        ("gfx942", ORIGIN, "run 1: results of platform nvidia, but gfx942 is of platform amd"),
        ("sm_90a", replace(ORIGIN, settings={"cache": "warm"}), "cache mode warm, those before are of flush"),
    ],
)
def test_results_of_other_machines_or_cache_modes_are_refused(arch: str, origin: Origin, words: str) -> None:
    runs = {("a.csv", 1): ORIGIN, ("b.csv", 1): origin}
    with pytest.raises(CkgenError, match=words) as refused:
        make_table(Measured([row(0.1)], runs, {"a.csv": "", "b.csv": ""}), OPERATION, arch)
    assert len(refused.value.diagnostics) == 1


@pytest.mark.sweep  # as `make check`
def test_the_committed_tables_are_what_their_results_say() -> None:
    assert load_tables(), "there is a table"
    assert find_drift(TABLES, ROOT) == []


def test_the_committed_table_is_small_and_says_where_it_comes_from() -> None:
    for file, text in load_texts().items():
        assert len(text) < 200_000
        origin = parse_table(text, file).origin
        assert all((origin.device, origin.compiler, origin.results))
        measured = (origin.driver, origin.commit, origin.spec_digest, origin.measured)
        assert parse_table(text, file).predicted == (not any(measured)) and any(measured) == all(measured)
        assert "wrong" not in text and all(map(parse, json.loads(text)["instances"]))


def test_drift_is_found_and_tune_repairs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = store_and_csv(tmp_path, rows())
    tune = ["tune", "--results", "rows.csv", "--arch", "sm_90a", "--tables", "tables"]
    check = ["tune", "--check", "--tables", "tables"]
    assert main(tune) == 0 and main(check) == 0
    file = tmp_path / "tables" / f"{OPERATION}.sm_90a.json"
    good = file.read_text()
    capsys.readouterr()
    file.write_text(good.replace("320.0", "3.2"))
    assert main(check) == 1
    assert "differs from its results" in capsys.readouterr().out
    file.write_text(good)
    assert main(check) == 0
    path.write_text(path.read_text() + "\n")
    assert main(check) == 1
    assert "rows.csv changed since" in capsys.readouterr().out
    assert main(tune) == 0 and main(check) == 0
    path.unlink()
    assert main(check) == 1
    assert "rows.csv, which is not there" in capsys.readouterr().out


def test_tune_asks_for_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune"]) == 2
    assert main(["tune", "--results", "/rows.csv", "--arch", "sm_90a"]) == 2
    assert "relative to the current folder" in capsys.readouterr().err


@pytest.mark.parametrize("operation", OPERATIONS)
def test_select_command(capsys: pytest.CaptureFixture[str], operation: str) -> None:
    (table,) = (table for table in load_tables() if not table.predicted and table.operation == operation)
    problem = table.rows[0]
    words = ["select", *problem.problem.split(), "--dtype", problem.dtype, "--layout", problem.layout]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert problem.candidates[0].name in out and "  measured  " in out
    assert main([*words, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["name"] == problem.candidates[0].name and found["split_k"] == problem.candidates[0].split_k
    assert main(["select", "--problems", "retinanet", "--dtype", "bf16"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 38
    assert main(["select"]) == 2
    assert main(["select", "K8"]) == 2
    assert "is not the text of a problem" in capsys.readouterr().err


@pytest.mark.parametrize("operation", OPERATIONS)
def test_select_takes_an_operation_instead_of_a_layout(capsys: pytest.CaptureFixture[str], operation: str) -> None:
    words = ["select", "K64", "C64", "3x3", "on", "14x14", "p1", "--operation", operation, "--json"]
    assert main(words) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert parse(answer["name"]).operation == operation
    assert main([*words[:-2], operation[:-1]]) == 2
    assert f"there is no operation `{operation[:-1]}`" in capsys.readouterr().err


def test_select_fails_once_if_the_operation_is_unclear(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = replace(OPERATIONS["grouped_conv_bwd_weight"], name="grouped_conv_fwd", short="fwd")
    monkeypatch.setitem(OPERATIONS, twin.name, twin)
    monkeypatch.setattr("ckgen.selection.measured.load_tables", tuple)
    monkeypatch.setattr("ckgen.cli.select._instances", lambda spec: ())
    words = ["--problems", "retinanet", "--layout", "NHWGC/GKYXC/NHWGK", "--arch", "sm_90a"]
    assert main(["select", *words]) == 2
    said = capsys.readouterr()
    assert said.err.count("grouped_conv_bwd_weight and grouped_conv_fwd have the layout NHWGC/GKYXC/NHWGK") == 1
    assert said.out == "" and "say which operation" in said.err


def test_select_predicts_for_the_problem_that_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """A problem in no table gets the time of the model."""
    words = ["select", "K512", "C512", "N32", "3x3", "on", "14x14", "p1", "--arch", "gfx90a"]
    assert main([*words, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert not found["name"].endswith("_generic") and found["microseconds"] > 0
    assert (found["answer"], found["source"], found["basis"]) == ("predicted", "predicted", "cost model")
    assert main(words) == 0
    cells = capsys.readouterr().out.splitlines()[1].split("  ")
    assert [cell.strip() for cell in cells if cell.strip()][3] == "predicted"


def test_select_answers_every_row_of_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without a spec, a problem that no instance of the tables takes gets a row that says so, and exit code 1."""
    problems = tmp_path / "problems.yaml"
    line = "{name: x, out_channels: 64, in_channels: 64, filter: [3], input: [14], pad: 1}"
    deep = line.replace("[3]", "[3, 3]").replace("[14]", "[14, 14]")
    problems.write_text(f"channels: total\nproblems:\n  - {line}\n  - {deep.replace('x,', 'z,')}\n")
    words = ["select", "--problems", str(problems), "--spec", str(ROOT / "instances.yaml")]
    assert main(words) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    words[-1] = str(tmp_path / "small.yaml")
    (tmp_path / "small.yaml").write_text((ROOT / "ckgen/cli/starters/bwd_weight/instances.yaml").read_text())
    assert main(words) == 1
    head, first, second = capsys.readouterr().out.splitlines()
    assert "no known instance for NWGC/GKXC/NWGK f16 on sm_90a takes G1 N1 K64 C64 3 on 14" in first
    assert "  predicted  " in second
    assert main([*words, "--json"]) == 1
    failed, found = json.loads(capsys.readouterr().out)
    assert "takes G1 N1" in failed["error"] and found["answer"] == "predicted"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--dtype", "fp16"), "there is no dtype `fp16`\n = help: did you mean `f16`?"),
        (("--dtype", "bfloat16"), "did you mean `bf16`?"),
        (("--layout", "NHWGC/GKYXC/NHWG"), "did you mean `NHWGC/GKYXC/NHWGK`"),
        (("--arch", "gfx94"), "there is no architecture `gfx94`\n = help: did you mean `gfx942`"),
    ],
)
def test_select_refuses_words_that_there_are_not(
    capsys: pytest.CaptureFixture[str], words: tuple[str, str], message: str
) -> None:
    assert main(["select", "K64", "C64", "3x3", "on", "14x14", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_what_nothing_was_measured_on_has_a_predicted_table(arch: str, operation: str) -> None:
    (found,) = (table for table in load_tables() if (table.arch, table.operation) == (arch, operation))
    assert found.predicted and f"docs/isa/{arch}.csv" in found.origin.results and not found.origin.measured
    assert {line.dtype for line in found.rows} == set(OPERATIONS[operation].dtypes)
    assert {line.layout for line in found.rows} == set(OPERATIONS[operation].layouts[:3])
    for line in found.rows:
        times = [candidate.microseconds for candidate in line.candidates]
        assert times == sorted(times) and times[0] > 0
        kinds = {parse(candidate.name).family for candidate in line.candidates}
        generic = [parse(candidate.name).generic for candidate in line.candidates]
        assert "xdl" in kinds or kinds <= {"depthwise", "two_stage"}
        assert generic == [True] or not any(generic), "the generic one only where it is alone"


def test_a_predicted_table_drifts_with_the_code_and_the_spec(tmp_path: Path) -> None:
    for path in ("docs/isa/gfx942.csv", "docs/isa/cycles/gfx942.csv", "instances.yaml"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((ROOT / path).read_bytes())
    tables = tmp_path / "tables"
    tables.mkdir()
    name = "grouped_conv_bwd_weight.gfx942.json"
    (tables / name).write_bytes((TABLES / name).read_bytes())
    assert find_drift(tables, tmp_path) == []
    text = (tables / name).read_text()
    (tables / name).write_text(text.replace('"MI300X"', '"MI300A"'))
    assert "differs from its results" in find_drift(tables, tmp_path)[0]
    (tables / name).write_text(text)
    (tmp_path / "instances.yaml").write_text((ROOT / "instances.yaml").read_text() + "# more\n")
    cycles = tmp_path / "docs/isa/cycles/gfx942.csv"
    cycles.write_text(cycles.read_text().replace(",3,", ",4,", 1))
    changed = "instances.yaml, docs/isa/cycles/gfx942.csv"
    assert find_drift(tables, tmp_path) == [f"{name}: {changed} changed since; run ckgen tune"]

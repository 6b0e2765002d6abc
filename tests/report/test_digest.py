"""Test README's table and plot of a run."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET

import pytest

from ckgen.bench.store import ResultRow
from ckgen.conv.problem import make_problem
from ckgen.operations.operation import BWD_DATA
from ckgen.problems.sets import NamedProblem
from ckgen.report.digest import CLASSES, digest_headers, digest_rows, shape_class, summary_of
from ckgen.report.page import floor_plot
from tests.support.bench_rows import ORIGIN, row, rows

SVG = "{http://www.w3.org/2000/svg}"


def named(name: str, **sizes: object) -> NamedProblem:
    usual = {"batch": 32, "k": 256, "c": 256, "filter": (3, 3), "input": (100, 100), "pad": 1}
    return NamedProblem(name, make_problem(**{**usual, **sizes}))  # type: ignore[arg-type]


SHAPES = [
    (named("grouped", groups=32, k=8, c=8), "grouped 3x3"),
    (named("point", filter=(1, 1), pad=0), "1x1"),
    (named("plane"), "3x3"),
    (named("small", input=(7, 7)), "3x3, roofline below 20 us"),
    (named("narrow", k=36), "3x3, fewer than 64 outputs"),
    (named("wide", filter=(7, 7), pad=3), "other"),
    (named("grouped point", groups=32, k=8, c=8, filter=(1, 1), pad=0), "other"),
]


def test_shapes_have_classes() -> None:
    found = summary_of([row(0.1, problem=problem) for problem, _ in SHAPES], [ORIGIN])
    assert [shape_class(shape) for shape in found.shapes] == [name for _, name in SHAPES]
    assert [cells[0] for cells in digest_rows(found)] == [*CLASSES, "all"]
    assert [cells[1] for cells in digest_rows(found)] == ["1", "1", "1", "1", "1", "2", "7"]


def test_numbers_are_geometric_means_of_a_class() -> None:
    planes = [named("a"), named("b", k=512)]
    measured: list[ResultRow] = []
    for problem, own, cudnn in zip(planes, (1.0, 1.0), (4.0, 1.0), strict=True):
        measured += [
            row(cudnn, "cudnn", problem),
            row(own, problem=problem),
            row(0.1, problem=problem, verdict="wrong"),
        ]
    found = summary_of(measured, [ORIGIN])
    assert digest_headers(found) == ("shapes", "n", "f16: over cudnn", "f16: min", "f16: x roofline")
    floors = [shape.floor_ms for shape in found.shapes]
    over = (1 / (floors[0] * floors[1])) ** 0.5  # type: ignore[operator]
    assert digest_rows(found)[0] == ("3x3", "2", "2.00x", "1.00x", f"{over:.2f}x")


def test_operations_of_one_type_have_columns_of_their_own() -> None:
    problem, data = named("a"), {"operation": BWD_DATA}
    measured = [row(4.0, "cudnn", problem), row(1.0, problem=problem)]
    measured += [row(1.0, "cudnn", problem, **data), row(2.0, problem=problem, **data)]
    found = summary_of([*measured, row(1.0, problem=problem, dtype="bf16")], [ORIGIN])
    heads = ("backward weight, f16", "backward data, f16", "bf16")
    assert digest_headers(found)[2::3] == tuple(f"{name}: over cudnn" for name in heads)
    assert digest_rows(found)[0][2::3] == ("4.00x", "0.50x", "–")


def test_the_newest_run_names_the_machine() -> None:
    newer = dataclasses.replace(ORIGIN, started="2027-01-01T00:00:00Z", device="newer")
    assert summary_of(rows(), [newer, ORIGIN]).origin.device == "newer"


def test_what_was_not_measured_is_a_dash() -> None:
    found = summary_of([row(0.1)], [ORIGIN])
    assert digest_rows(found)[0][2:4] == ("–", "–")


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_the_plot_is_a_file_of_its_own(dtype: str) -> None:
    text = floor_plot(summary_of(rows(), [ORIGIN]), dtype)
    if dtype == "bf16":
        assert text == "", "nothing was measured"
        return
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    (inner,) = root.findall(f"{SVG}svg/{SVG}svg")
    assert [node.text for node in inner.findall(f"{SVG}text[@class='name']")] == ["plane", "point"]
    assert int(root.attrib["viewBox"].split()[3]) == int(inner.attrib["viewBox"].split()[3]) + 72
    assert "Test GPU &lt;1&gt;" in text and "url(" not in text and "<script" not in text
    assert len(root.findall(f"{SVG}g/{SVG}text")) == 3

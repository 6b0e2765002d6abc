"""Test ckgen.report.page and ckgen.report.summary: correct numbers on a page that needs no other file."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ckgen.bench.store import ResultRow, Store
from ckgen.cli import main
from ckgen.errors import CkgenError
from ckgen.machine_code.table import make_table, table_text
from ckgen.operations.operation import BWD_DATA
from ckgen.report.chart import make_chart
from ckgen.report.compare import compare
from ckgen.report.page import render_report
from ckgen.report.plots import Mark, PlotRow, make_axis, plot
from ckgen.report.summary import Summary, load_summary, summarise
from tests.machine_code.test_table import report
from tests.support.bench_rows import ORIGIN, PLANE, POINT, row, rows
from tests.support.trees import WAVELET, XDL

VOID = {"meta", "br", "link", "input"}


@pytest.fixture
def summary() -> Summary:
    return summarise(ORIGIN, [ORIGIN.ceilings], rows())


class Page(HTMLParser):
    """Parser that checks that tags close in order and collects everything that a browser would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.counts: dict[str, int] = {}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_best_of_each_kind_and_their_ratios(summary: Summary) -> None:
    plane, point = summary.shapes
    assert plane.best is not None and plane.best.name == WAVELET.name
    assert plane.speed_up == pytest.approx(0.5 / 0.32)
    assert plane.uplift == pytest.approx(0.4 / 0.32)
    assert plane.published_uplift == 1.24
    assert plane.floor_ms == pytest.approx(1e3 * row(1).flops / 8e14)
    assert [item.ms for item in plane.top] == [0.32, 0.4, 0.6]
    assert point.speed_up == pytest.approx(0.5)
    assert point.uplift is None
    assert [item.verdict for item in summary.failures] == ["crashed"]


def test_totals_are_geometric_means(summary: Summary) -> None:
    (total,) = summary.totals
    assert (total.dtype, total.shapes, total.compared, total.not_slower) == ("f16", 2, 2, 1)
    assert total.mean_speed_up == pytest.approx((0.5 / 0.32 * 0.5) ** 0.5)
    assert (total.least_speed_up, total.least_shape) == (pytest.approx(0.5), "point")


def test_a_problem_with_two_names_is_one_shape() -> None:
    again = replace(PLANE, name="again", published_uplift=None)
    found = [row(0.5, problem=again), row(0.4), row(0.8, "cudnn")]
    summary = summarise(ORIGIN, [ORIGIN.ceilings], found)
    (shape,) = summary.shapes
    assert (shape.problem_name, shape.published_uplift, shape.speed_up) == ("again", 1.24, pytest.approx(2.0))
    later = summarise(ORIGIN, [], [row(0.2), row(0.8, WAVELET.name, again)])
    (pair,) = compare(summary, later).pairs
    assert pair.speed == pytest.approx(2.0)


def test_a_wrong_result_is_never_the_best() -> None:
    (shape,) = summarise(ORIGIN, [], [row(0.4), row(0.1, WAVELET.name, verdict="wrong")]).shapes
    assert shape.best is not None and shape.best.ms == 0.4
    assert (shape.wavelet, shape.floor_ms, shape.over_floor) == (None, None, None)


def test_an_inexact_reference_still_is_the_reference() -> None:
    (shape,) = summarise(ORIGIN, [], [row(0.4), row(0.6, "cudnn", verdict="inexact")]).shapes
    assert shape.speed_up == pytest.approx(1.5)


def test_the_floor_does_not_count_input_that_is_not_read() -> None:
    problem = POINT.problem
    unread = problem.bytes("f16") - problem.compulsory_bytes("f16")
    assert unread == problem.elements("in") * 3 // 4 * 2


def fused_rows() -> list[ResultRow]:
    """Two shapes with a residual, the first also measured without one, and an f32 shape on the same problem."""
    residual = {"operation": BWD_DATA, "function": "AddResidual", "d_bytes": PLANE.problem.elements("in") * 2}
    plain = {"operation": BWD_DATA}
    return [
        row(0.9, **residual),
        row(0.7, WAVELET.name, **residual),
        row(0.8, "cudnn", **residual),
        row(0.5, **plain),
        row(0.6, WAVELET.name, **plain),
        row(0.1, dtype="f32", **plain),
        row(0.2, problem=POINT, **residual),
    ]


def test_a_fused_shape_stands_beside_its_plain_one_and_the_bytes_of_d() -> None:
    found = summarise(ORIGIN, [ORIGIN.ceilings], fused_rows())
    fused, plain, single, alone = found.shapes
    d_ms = 1e3 * PLANE.problem.elements("in") * 2 / 4e12
    assert fused.plain == plain.best and fused.d_ms == pytest.approx(d_ms)
    assert fused.over_plain == pytest.approx(0.7 / (0.5 + d_ms))
    assert [shape.over_plain for shape in (plain, single, alone)] == [None] * 3
    assert {total.subject: total.mean_over_plain for total in found.totals} == {
        "backward data with AddResidual, f16": fused.over_plain,
        "backward data, f16": None,
        "backward data, f32": None,
    }
    (bare, *_) = summarise(ORIGIN, [], fused_rows()).shapes
    assert bare.plain is not None and bare.over_plain is None, "without a measured bandwidth"


def test_the_floor_of_a_fused_shape_has_its_d_tensors_in_it() -> None:
    slow = {**ORIGIN.ceilings, "bytes": 4e9}
    fused, plain, *_ = summarise(ORIGIN, [slow], fused_rows()).shapes
    assert fused.floor_ms is not None and plain.floor_ms is not None and fused.d_ms is not None
    assert fused.floor_ms - plain.floor_ms == pytest.approx(fused.d_ms)


def test_the_page_explains_what_a_fused_shape_is_compared_with(summary: Summary) -> None:
    text = render_report(summarise(ORIGIN, [ORIGIN.ceilings], fused_rows()))
    Page(text)
    over = "1.29x"
    assert f"<b>{over}</b><span>of PassThrough" in text
    assert "Over plain and D: the time over" in text and ">over plain and D</button>" in text
    plain = re.sub(r"\|+", "|", re.sub(r"<[^>]+>|\s+", "|", text))
    assert f"|1.14x|{over}|0.7|0.9|" in plain, "beside the speed-up"
    assert "over plain" not in render_report(summary).lower()


def test_a_table_of_machine_code_adds_its_columns(summary: Summary) -> None:
    table = make_table("gfx942", "clang 19.1.7", [report(WAVELET.name)])
    text = render_report(summary, table)
    plain = re.sub(r"<[^>]+>|\s+", "|", text)
    plain = re.sub(r"\|+", "|", plain)
    assert "|chosen|registers|spills|LDS|waves|VALU/matrix|bound|instance|" in plain
    assert f"|88|3|32768|4|0.19|83%|vector|{WAVELET.name}|" in plain
    assert f"|–|–|–|–|–|–|{XDL.name}|" in plain, "an instance that the table does not hold"
    assert "VALU/matrix" not in render_report(summary)


def test_the_page_is_whole_and_loads_nothing(summary: Summary) -> None:
    text = render_report(summary)
    page = Page(text)
    assert page.loads == []
    assert page.counts["section"] == 3 and "svg" not in page.counts
    assert page.counts["table"] == 3
    assert "http" not in text and "@import" not in text and "url(" not in text
    assert "prefers-color-scheme: dark" in text
    assert "Test GPU &lt;1&gt;" in text
    for said in ("1.56x", "1.25x", "1.24x", "0.50x", "copy 4.00 TB/s", "f16 800.0 TFLOP/s", "NVIDIA 13.0.88"):
        assert said in text, said
    assert re.search(r'<td class="bad">crashed</td><td class="">why</td>', text)


def test_every_mark_is_inside_its_plot_on_both_axes(summary: Summary) -> None:
    text = render_report(summary)
    places = [float(number) for number in re.findall(r"--(?:a|b|wa|wb):([-\d.]+)", text)]
    assert len(places) > 30 and all(0 <= place <= 100 for place in places)
    for left, bottom, wide, long in re.findall(r"--a:([\d.]+);--b:([\d.]+);--wa:([\d.]+);--wb:([\d.]+)", text):
        assert float(left) + float(wide) <= 100.01 and float(bottom) + float(long) <= 100.01
    hints = re.findall(r'data-hint="([^"]*)"></b>', text)
    assert f"{WAVELET.name}, split_k 1: 0.32 ms" in hints
    assert "published: 1.24x" in hints
    assert f"{WAVELET.name}, split_k 1: 1.56x (0.32 ms, cudnn 0.5 ms)" in hints


def test_a_faster_mark_is_farther_left_and_linear_places_are_proportional() -> None:
    marks = tuple(Mark("dot", "own", value, str(value)) for value in (1.0, 2.0, 4.0))
    chart = make_chart([PlotRow("a", marks)], make_axis([1.0, 2.0, 4.0]), ["other"])
    one, two, four = chart.rows[0].marks
    assert two.log - one.log == pytest.approx(four.log - two.log)
    assert four.linear == pytest.approx(2 * two.linear) == pytest.approx(4 * one.linear)
    numbers = {tick.text: tick for tick in chart.ticks if tick.style == "linear"}
    assert numbers["2"].linear == pytest.approx(two.linear)
    (bar,) = (
        make_chart([PlotRow("b", (Mark("bar", "slow", 0.5, ""),))], make_axis([0.5], base=1.0), ["x"]).rows[0].marks
    )
    assert bar.log < bar.log + bar.log_width <= 100 and bar.linear_width > 0


def said_first(text: str) -> list[str]:
    block = text.split('<ul class="conclusion">')[1].split("</ul>")[0]
    return [re.sub(r"<[^>]+>", "", line).strip() for line in block.splitlines() if line.strip()]


def test_the_page_begins_with_its_conclusion(summary: Summary) -> None:
    floor = f"{summary.totals[0].mean_over_floor:.2f} times the roofline&#39;s time"
    assert said_first(render_report(summary)) == [
        "1 of 7 results do not count (crashed): on plane.",
        f"Backward weight, f16: 0.88 times as fast as cudnn over 2 problems; {floor}; slower on 1, the worst is point"
        " at 0.50x.",
    ]


def test_without_a_reference_nothing_is_said_about_one() -> None:
    text = render_report(summarise(ORIGIN, [ORIGIN.ceilings], [row(0.4), row(0.2, WAVELET.name)]))
    none, total = said_first(text)
    assert none == "None of 2 measured results is wrong." and "1 problems, no reference was measured" in total
    assert "0 of 0" not in text and "<b>–</b>" not in text


def test_two_runs_are_compared_on_the_page(tmp_path: Path, summary: Summary) -> None:
    slower = summarise(ORIGIN, [ORIGIN.ceilings], [row(0.4), row(0.64, WAVELET.name), row(0.5, "cudnn")])
    text = render_report(slower, None, compare(summary, slower))
    Page(text)
    said = said_first(text)[-1]
    assert said.startswith("0.800 times as fast as the other run over 1 problems; 1 slower than 0.97x: plane (")
    assert "Speed against the other run, backward weight, f16" in text and "Both runs" in text
    lost = summarise(ORIGIN, [], [*slower.rows, row(0.1, problem=POINT, verdict="wrong")])
    text = said_first(render_report(lost, None, compare(summary, lost)))[-1]
    assert text.startswith("0.800 times as fast as the other run over 1 problems; 2 slower than 0.97x: point (")
    other = summarise(replace(ORIGIN, device="Another"), [], slower.rows)
    assert "not comparable: the machine was Test GPU" in render_report(other, None, compare(summary, other))
    store = stored(tmp_path / "b.sqlite")
    page = tmp_path / "p.html"
    assert main(["report", "--store", store, "--run", "2", "--against", "1", "--out", str(page)]) == 0
    assert "1.000 times as fast as the other run over 2 problems; none slower." in page.read_text()


def test_axes_hold_odd_ranges() -> None:
    for values in ([1.0], [0.99, 1.01], [1e-4, 3e2], [2.0, 2.0]):
        axis = make_axis(values, base=1.0)
        assert axis.low < min(values) and max(values) < axis.high
        assert axis.ticks
    drawing = plot("<&>", [PlotRow("a<b", (Mark("bar", "own", 2.0, 'x"y'),))], make_axis([2.0], base=1.0))
    assert ElementTree.fromstring(drawing).get("aria-label") == "<&>"


def test_a_page_without_rows_of_some_kind() -> None:
    page = Page(render_report(summarise(ORIGIN, [], [row(None, verdict="failed")])))
    assert "section" not in page.counts


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="90"><text x="8" y="18">µ</text></svg>'


def stored(path: Path) -> str:
    with Store(path) as store:
        for _ in range(2):
            number = store.begin(ORIGIN)
            for item in rows(number):
                store.append(item)
    return str(path)


def test_the_command_writes_each_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = stored(tmp_path / "b.sqlite")
    outs = [tmp_path / "new" / name for name in ("r.html", "r.csv")]
    assert main(["report", "--store", store, *(word for out in outs for word in ("--out", str(out)))]) == 0
    assert outs[0].read_text().startswith("<!doctype html>")
    assert len(outs[1].read_text().splitlines()) == 1 + len(rows())
    said = capsys.readouterr()
    assert re.search(r"plane +backward weight, f16 +\S+wavelet\S+ +1 +0\.3200 +\S+ +0\.5000 +1\.56x", said.out)
    assert "wrote" in said.err
    code = tmp_path / "gfx942.csv"
    code.write_text(table_text(make_table("gfx942", "clang 19.1.7", [report(WAVELET.name)])))
    page = tmp_path / "code.html"
    assert main(["report", "--store", store, "--out", str(page), "--code", str(code)]) == 0
    assert "VALU/matrix" in page.read_text() and "Simulated timelines" not in page.read_text()
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "one_gfx942_l2.svg").write_text(SVG)
    assert main(["report", "--store", store, "--out", str(page), "--timelines", str(pictures)]) == 0
    (encoded,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)" alt="one_gfx942_l2">', page.read_text())
    assert b64decode(encoded).decode() == SVG
    capsys.readouterr()
    assert main(["report", "--store", store, "--list"]) == 0
    assert re.search(r"2 +2026-01-02T03:04:05Z +Test GPU <1> +nvidia +c{12} +6{12} +7", capsys.readouterr().out)


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = stored(tmp_path / "b.sqlite")
    assert main(["report", "--store", store, "--out", "r.json"]) == 2
    assert main(["report", "--store", store, "--run", "9", "--out", str(tmp_path / "r.csv")]) == 2
    assert main(["report", "--store", str(tmp_path / "no"), "--out", str(tmp_path / "r.csv")]) == 2
    assert main(["report", "--store", store, "--timelines", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "does not end in .html, .csv" in said
    assert f"there is no .svg in {tmp_path}" in said
    assert "has no run 9" in said and "runs: 1, 2" in said
    assert "`ckgen bench` writes them" in said
    with Store(tmp_path / "empty.sqlite") as empty, pytest.raises(CkgenError, match="holds no run"):
        load_summary(empty)

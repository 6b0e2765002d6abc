"""The report in Chromium: narrow and wide, light and dark, nothing scrolls sideways, nothing is cut off, no error."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckgen.report.compare import compare, load_run
from ckgen.report.page import Picture, render_report

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None, reason="needs playwright and Chromium"
)
# Elements whose text is wider or higher than the box that hides the rest of it, or that leave the page.
CUT = """() => [...document.querySelectorAll("body *")].filter(item => {
    const style = getComputedStyle(item), box = item.getBoundingClientRect();
    if (!box.width || style.display === "none" || item.closest(".scroll")) return false;
    const hides = style.overflowX !== "visible" && item.tagName !== "SELECT";
    const leaves = box.right > innerWidth + 1 || box.left < -1;
    return leaves || (hides && (item.scrollWidth > item.clientWidth + 1 || item.scrollHeight > item.clientHeight + 1));
}).map(item => item.outerHTML.slice(0, 120))"""
# Labels that lie on a neighbour's: their boxes overlap.
OVERLAP = """selector => { const boxes = [...document.querySelectorAll(selector)].map(i => i.getBoundingClientRect())
    .filter(b => b.width); return boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right - 1 &&
    b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length; }"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of real rows, compared with themselves."""
    summary = load_run(str(ROOT / "bench/results/2026-11-21-h200/rows_bwd_data.csv.gz"), Path("none"))
    path = tmp_path_factory.mktemp("page") / "report.html"
    drawn = b'<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="90"><rect width="1200" height="90"/></svg>'
    page = render_report(summary, None, compare(summary, summary), [Picture("wide", drawn)])
    path.write_text(page.replace("<details>", "<details open>"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Seen:
    """A page in a window of one width, and what went wrong and which addresses it loaded."""

    def __init__(self, browser: Any, file: Path, width: int, scheme: str = "light") -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def rows(self) -> int:
        return int(self.page.evaluate("document.querySelectorAll('.row:not([hidden])').length"))

    def shown(self, selector: str) -> int:
        script = "s => [...document.querySelectorAll(s)].filter(i => i.getBoundingClientRect().height).length"
        return int(self.page.evaluate(script, selector))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_scrolls_sideways_or_is_cut_off(browser: Any, page_file: Path, width: int, scheme: str) -> None:
    seen = Seen(browser, page_file, width, scheme)
    page = seen.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT) == []
    assert page.evaluate(OVERLAP, ".figure:first-of-type .label") == 0
    assert page.evaluate(OVERLAP, ".figure:last-of-type .lines span") == 0, "labels of the axis"
    assert seen.errors == [] and seen.requests == [page_file.as_uri()], "works offline"
    light, dark = page.evaluate("['--page', '--ink'].map(n => getComputedStyle(document.body).getPropertyValue(n))")
    assert (light > dark) == (scheme == "light")
    box = page.locator(".conclusion").bounding_box()
    assert box["y"] + box["height"] < 900, "the conclusion is on the first screen"
    chart = page.locator(".figure .track").first.bounding_box()
    assert chart["width"] > 0.72 * width, "plots use the width"


def test_choices_hide_rows_and_move_marks(browser: Any, page_file: Path) -> None:
    seen = Seen(browser, page_file, 1280)
    page, every = seen.page, seen.rows()
    assert every > 100
    page.select_option("#class", "grouped 3x3")
    grouped = seen.rows()
    kinds = page.evaluate(
        "[...new Set([...document.querySelectorAll('.row:not([hidden])')].map(r => r.dataset.class))]"
    )
    assert 0 < grouped < every and kinds == ["grouped 3x3"]
    page.select_option("#class", "")
    figures = seen.shown("section.figure")
    page.select_option("#subject", index=1)
    assert 0 < seen.shown("section.figure") < figures
    page.select_option("#subject", "")
    assert seen.rows() == every
    dot = page.locator(".track .dot").first
    before = dot.bounding_box()["x"]
    page.select_option("#scale", "linear")
    assert dot.bounding_box()["x"] != before and page.evaluate(CUT) == []
    assert seen.errors == []


def test_a_mark_tells_its_instance(browser: Any, page_file: Path) -> None:
    seen = Seen(browser, page_file, 1280)
    page = seen.page
    assert not page.locator("#tip").is_visible()
    page.locator(".track .dot").first.hover()
    text = page.locator("#tip").inner_text()
    assert "grouped_conv" in text and " ms" in text
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()
    page.locator(".row").first.focus()
    assert page.locator("#tip").is_visible(), "also without a pointer"


def test_a_heading_sorts_its_table(browser: Any, page_file: Path) -> None:
    page = Seen(browser, page_file, 1280).page
    column = page.locator("table.sortable").last
    column.locator("xpath=ancestor::details").evaluate("item => item.open = true")
    heading = column.locator("th button", has_text="ms").first
    heading.click()
    values = [float(text) for text in column.locator("tbody tr td:nth-child(4)").all_inner_texts() if text != "–"]
    assert values == sorted(values) and len(values) > 10

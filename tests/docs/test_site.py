"""Every snippet of the hand-written pages works: files are written, commands and programs run in a folder per page."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from ckgen.cli import cli
from ckgen.spec.expand import expand_document
from ckgen.text import source
from tests.docs.snippets import Snippet, snippets
from tests.support.sweep.sampled import chosen

ROOT = Path(__file__).resolve().parents[2]
# Pages of this site; test_pages.py has the snippets of older ones.
LIGHT = ("install", "ci", "hardware", "report", "releases", "spec", "wavelet", "api_cpp")
BUILDING = ("first_library", "cmake", "pytorch")
MARKS = {"file", "gpu", "parsed", "compiled", "wheel", "needs", ""}
WORKFLOWS = ("jobs", "repos", "ckgen")  # keys of YAML that is not a spec


def of(page: str) -> list[Snippet]:
    return snippets((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `ckgen` and `python` are this checkout's, and the cache is the test's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, words in (("ckgen", "-m ckgen"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def parse_commands(code: str) -> int:
    """Parse each `ckgen` command of a shell block, and return their number."""
    count = 0
    for line in code.splitlines():
        for command in re.split(r" && |; ", line.split(" #")[0]):
            if not command.startswith("ckgen ") or command.split()[1:] == ["--version"]:
                continue
            words = shlex.split(re.split(r" [|>] ?", command)[0])
            root = click.Context(cli)
            name, found, rest = cli.resolve_command(root, words[1:])
            assert name is not None and found is not None
            if "--help" not in rest:
                found.make_context(name, rest, parent=root)
            count += 1
    return count


def run_shell(code: str, folder: Path, environment: dict[str, str]) -> Path:
    """Run a shell block as one session, and return the folder that it ends in."""
    script = f"set -euo pipefail\n{code}\npwd > {shlex.quote(environment['XDG_CACHE_HOME'])}.pwd"
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return Path(Path(environment["XDG_CACHE_HOME"] + ".pwd").read_text().strip())


def check_data(snippet: Snippet) -> None:
    """YAML of a workflow is YAML; any other is a spec. C compiles as it stands."""
    if snippet.language == "yaml":
        loaded = yaml.safe_load(snippet.code)
        if not any(key in loaded for key in WORKFLOWS):
            assert expand_document(source.loads(snippet.code)).instances


def compile_c(snippet: Snippet) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None
    words = [compiler, "-x", "c", "-std=c99", "-Wall", "-Werror", "-fsyntax-only", f"-I{ROOT}/generated/include", "-"]
    done = subprocess.run(words, input=snippet.code, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run_page(page: str, top: Path, environment: dict[str, str]) -> None:
    """Do what a reader of a page does, from its first snippet to its last."""
    here = top
    for snippet in of(page):
        if snippet.mark == "needs" and importlib.util.find_spec(snippet.value) is None:
            continue
        if snippet.mark == "file":
            check_data(snippet)
            (top / snippet.value).parent.mkdir(parents=True, exist_ok=True)
            (top / snippet.value).write_text(snippet.code)
        elif snippet.mark == "compiled":
            compile_c(snippet)
        elif snippet.mark in ("gpu", "parsed", "wheel"):
            parse_commands(snippet.code)
        elif snippet.language == "sh":
            here = run_shell(snippet.code, here, environment)
        elif snippet.language == "python":
            done = subprocess.run(
                [sys.executable, "-c", snippet.code], cwd=here, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{page}.md:{snippet.line}: {done.stderr}"
        else:
            check_data(snippet)


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("page", LIGHT)
def test_a_page_does_what_it_says(page: str, tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "page").mkdir()
    run_page(page, tmp_path / "page", environment)


@pytest.mark.compiles
@pytest.mark.parametrize("page", chosen(BUILDING, ("pytorch",)))
def test_a_page_that_builds_does_what_it_says(page: str, tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "page").mkdir()
    run_page(page, tmp_path / "page", environment)


def test_no_page_of_the_site_is_forgotten() -> None:
    """Every page with snippets is run by this file or by another test; marks are known ones."""
    elsewhere = {"nvidia", "porting", "selector", "isa", "backward_data", "cli", "rules", "zoo", "ck_programs"}
    elsewhere |= {"amd_classes", "amd_domains"}  # predicted with `ckgen tune --check` of `make check`
    elsewhere |= {"ck_rows", "depthwise", "api_c", "support", "instances", "cost_model_h200", "emulator", "cluster"}
    elsewhere |= {"simulator"}  # tests/cli/test_isa_simulate.py
    elsewhere |= {"ck_beside"}  # needs a checkout of CK; its parts: tests/machine_code/programs
    pages = {path.stem for path in (ROOT / "docs").glob("*.md") if "\n```" in path.read_text(encoding="utf-8")}
    assert pages - elsewhere <= {*LIGHT, *BUILDING}
    for page in (*LIGHT, *BUILDING):
        assert all(snippet.mark in MARKS for snippet in of(page)), page
        assert of(page), page


@pytest.mark.parametrize("page", sorted(path.stem for path in (ROOT / "docs").glob("*.md")))
def test_commands_and_names_of_every_page_exist(page: str) -> None:
    """Also of pages whose snippets need a GPU or minutes: commands and options are known, imports have their names."""
    for snippet in of(page):
        if snippet.language == "sh":
            parse_commands(snippet.code.replace("\\\n", " "))
        elif snippet.language == "python":
            imports = [node for node in ast.walk(ast.parse(snippet.code)) if isinstance(node, ast.ImportFrom)]
            for node in imports:
                if node.module and node.module.startswith("ckgen") and not node.module.startswith("ckgen.torch"):
                    module = importlib.import_module(node.module)
                    assert [one.name for one in node.names if not hasattr(module, one.name)] == [], snippet.line


def test_commands_that_are_only_parsed_are_parsed() -> None:
    assert parse_commands("ckgen build --platform amd   # x\necho y && ckgen bench compare a b") == 2
    with pytest.raises(click.UsageError):
        parse_commands("ckgen build --platfrom amd")


def test_every_key_of_the_spec_has_an_example_that_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from spec_page import EXAMPLES  # type: ignore[import-not-found]

    from ckgen.spec.models import Group, Spec

    assert {*Spec.model_fields, *Group.model_fields} <= set(EXAMPLES)
    base = {"name": "x", "family": "xdl", "layout": "NHWGC/GKYXC/NHWGK", "dtype": "f16", "block_size": 256}
    base |= {"tile": "128x128", "conv_spec": "Default", "invalid": "skip"}
    data = {**base, "operation": "grouped_conv_bwd_data", "layout": "NHWGK/GKYXC/NHWGC"}
    wavelet = {**{key: value for key, value in base.items() if key != "block_size"}, "family": "wavelet"}
    both = {**base, "tile": ["128x128", "64x128"], "dtype": ["f16", "bf16"]}
    merged = {**base, "family": "two_stage", "block_size": 64, "tile": "32x64"}
    bases = {
        "exclude": both,
        "groups_to_merge": merged,
        "exchange": {**base, "vector": {"c": 1}},
        "cluster": {**wavelet, "family": "wavelet_tma"},
        "transpose": {**merged, "layout": "NGCHW/GKYXC/NGKHW"},
        "function": data,
        "operation": data,
        "wave_ratio": wavelet,
        "family": {**wavelet, "wave_ratio": "4x4"},
    }
    top = {"version", "defaults", "groups", "functions", "sets"}
    for key, text in EXAMPLES.items():
        if key in top and key not in ("defaults", "functions"):
            continue
        given = yaml.safe_load(text)
        spec = {"version": 1, "groups": [bases.get(key, base)], "sets": {"ci": ["*"], "small": ["*"]}}
        if key in top:
            spec |= given
        else:
            spec["groups"] = [{**bases.get(key, base), **given}]
        assert expand_document(source.loads(yaml.safe_dump(spec))).instances, key


def test_the_site_has_every_page() -> None:
    class Loader(yaml.SafeLoader):
        pass

    described = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)

    def leaves(item: object) -> list[str]:
        if isinstance(item, str):
            return [item]
        parts = item.values() if isinstance(item, dict) else item
        return [leaf for part in parts for leaf in leaves(part)]  # type: ignore[attr-defined]

    listed = {*leaves(described["nav"]), *described["not_in_nav"].split()}
    assert listed == {path.name for path in (ROOT / "docs").glob("*.md")}


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DOCS = pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="the extra `docs` is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@DOCS
def test_the_site_builds_without_a_warning_and_loads_nothing(site: Path) -> None:
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]*)"|<link[^>]* href="([^"]*)"', text)
        assert [url for pair in loaded for url in pair if url.startswith(("http", "//"))] == [], page.name
    assert "wave_ratio" in (site / "search/search_index.js").read_text(encoding="utf-8"), "search works offline"
    commands = (site / "commands.html").read_text(encoding="utf-8")
    assert "fail-below" in commands and "ckgen bench" in commands
    assert "split_k" in (site / "api_python.html").read_text(encoding="utf-8")


@DOCS
@pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None, reason="needs playwright and Chromium"
)
def test_the_search_works_in_files_without_a_server(site: Path) -> None:
    from playwright.sync_api import sync_playwright

    from tests.support.patience import HANG_GUARD

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.locator("input.md-search__input").click()
        page.locator("input.md-search__input").type("wave_ratio")
        page.wait_for_selector(".md-search-result__item a", timeout=1000 * HANG_GUARD)
        found = page.locator(".md-search-result__item a").first.get_attribute("href")
        assert found is not None and "spec.html" in found
        assert errors == [] and all(url.startswith(("file:", "data:", "blob:")) for url in requests)
        browser.close()

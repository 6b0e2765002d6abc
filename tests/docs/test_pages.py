"""The documentation matches the code, and the README's examples work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from ckgen.cli import COMMANDS, cli, main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
STARTS_A_BUILD = ("build", "smoke", "doctor")  # or a compiler


def blocks(language: str) -> list[str]:
    """The code blocks of README.md in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def commands() -> list[list[str]]:
    """Every `ckgen ...` line of README's shell blocks, as words after `ckgen`."""
    lines = (line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines())
    return [shlex.split(line)[1:] for line in lines if line.startswith("ckgen ")]


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    words: Sequence[str] = (sys.executable, script, *arguments)
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True)


def test_generated_pages_and_schema_are_up_to_date() -> None:
    done = run("scripts/docs.py", "--check")
    assert done.returncode == 0, done.stdout


def test_a_changed_page_is_found() -> None:
    """Runs in a new process: click caches parts of a command's help in this one."""
    name = "docs/rules.md"
    program = f"""import sys; sys.path.insert(0, "scripts"); import docs
pages = docs.pages()
print(docs.drift({{**pages, {name!r}: pages[{name!r}].replace("xdl", "XDL", 1)}}))"""
    found = run("-c", program)
    assert found.stdout.startswith(f"--- {name} (on disk)\n+++ {name} (from the code)\n"), found.stdout + found.stderr


@pytest.mark.parametrize("name", ["measured", "measured-data"])
def test_the_speed_page_and_the_page_it_links_give_the_same_numbers(name: str) -> None:
    """Both are written from the same rows; this compares the written pages."""
    block = re.compile(rf"<!-- begin:{name} -->\n(.*?)<!-- end:{name} -->", re.DOTALL)
    (here,) = block.findall((ROOT / "docs/speed.md").read_text(encoding="utf-8"))
    (link,) = re.findall(r"\]\(\.\./(bench/results/[^)]*)\)", here)
    (there,) = block.findall((ROOT / link / "README.md").read_text(encoding="utf-8"))
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in here.splitlines() if line[:1] == "|"]
    means = {
        head.removesuffix(": over cudnn"): value.strip().removesuffix("x")
        for head, value in zip(table[0], table[-1], strict=True)
        if head.endswith(": over cudnn")
    }
    head, _, row, *_ = ([cell.strip() for cell in line.split("|")[2:-1]] for line in there.splitlines())
    assert len(means) == 2 and dict(zip(head, row, strict=True)) == means


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Folders to which paths in pages are relative: the checkout and the include folders.
SHELVES = (
    "",
    "templates/include",
    "templates/include/ckgen",
    "generated/include",
    "generated",
    "tests/data/bad_specs/*",
)
MADE = ("build/", ".venv/", "ck/", "...")  # made by a build, or part of Composable Kernel
SUFFIXES = "py|hpp|h|cpp|in|j2|md|yaml|json|csv|gz|svg|sh|txt|cmake|toml|html"


def named_files(text: str, folders: Sequence[str]) -> list[str]:
    """The paths that a page names in backticks, which may be globs, outside of its blocks of code."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    words = re.findall(r"`([\w.*/-]+)`", prose)
    starts = tuple(f"{folder}/" for folder in folders)
    found = [word for word in words if re.search(rf"\w\.({SUFFIXES})$", word) or word.startswith(starts)]
    return [word for word in found if not word.startswith(MADE)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    folders = [path.name for path in ROOT.iterdir() if path.is_dir()]
    folders += [path.name for path in (ROOT / "templates/include/ckgen").iterdir() if path.is_dir()]
    names = named_files(text, folders)
    missing = [name for name in names if not any(any(ROOT.glob(f"{shelf}/{name}".strip("/"))) for shelf in SHELVES)]
    assert missing == []
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_a_file_that_is_not_there_is_seen() -> None:
    text = (
        "`block/gone.hpp` `ckgen/gone.py` `NHWGC/GKYXC/NHWGK` `build/x.so`\n```sh\ncat `docs/gone.md`\n```\n`docs/*.md`"
    )
    assert named_files(text, ["ckgen", "docs", "build", "block"]) == ["block/gone.hpp", "ckgen/gone.py", "docs/*.md"]


def test_the_contract_of_platforms_is_a_table() -> None:
    """Names are in the first column, their descriptions in the second; a formatter once refilled these lines."""
    header = (ROOT / "templates/include/ckgen/platform/platform.hpp").read_text(encoding="utf-8")
    table = header.split("// clang-format off\n")[1].split("// clang-format on\n")[0].splitlines()
    rows = [line for line in table if not line.startswith("// and to host code")]
    name, blank = r"(?:k?[A-Z]\w*|[\w<>]+\(\))", " {19}"
    wrong = [row for row in rows if not re.match(rf"//   (?:{blank}\S|{name}$|(?={name} .*$).{{18}} \S)", row)]
    assert len(rows) > 15 and wrong == []


def test_readme_begins_with_the_two_commands() -> None:
    first = blocks("sh")[0].splitlines()
    assert [line.split("#")[0].strip() for line in first] == ["make demo", "make test"]


def test_readme_fits_a_screen_and_a_half() -> None:
    assert len(README.splitlines()) <= 60


def test_the_page_of_commands_names_every_command() -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert all(f"## ckgen {name}\n" in page for name in COMMANDS)


@pytest.mark.parametrize("words", [w for w in commands() if w[0] not in STARTS_A_BUILD], ids=" ".join)
def test_readme_command_works(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert main(words) == 0


@pytest.mark.parametrize("words", [w for w in commands() if w[0] in STARTS_A_BUILD], ids=" ".join)
def test_readme_build_command_is_accepted(words: list[str]) -> None:
    command = cli.get_command(click.Context(cli), words[0])
    assert command is not None
    command.make_context(words[0], words[1:])

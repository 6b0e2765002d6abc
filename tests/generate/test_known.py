"""Tests of the cache of rendered trees: it saves the rendering and never hides a difference, whatever changed, and no
state of its file is an error.

Commands run in new processes; those after an edit of ckgen itself use a copy of it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ckgen.generate import known
from ckgen.generate.command import GenerateCommand
from ckgen.generate.known import MAX_TREES, ROOM, SWITCH, KnownTree, KnownTrees, key_of
from ckgen.paths import PACKAGE, templates_dir
from tests.support.patience import HANG_GUARD
from tests.support.sweep.sampled import chosen
from tests.support.trees import contents, stamps

SPEC = """version: 1
groups:
  - {name: a, family: xdl, layout: NHWGC/GKYXC/NHWGK, dtype: [f16, bf16], block_size: 256, tile: [128x128, 64x64]}
sets: {default: [dtype=f16], both: ["*"]}
"""
# The command, and whether it rendered: the module that renders is loaded on first use.
PROGRAM = """
import sys
from ckgen.cli import main
code = main(sys.argv[1:])
print("rendered" if "ckgen.generate.render" in sys.modules else "known")
sys.exit(code)
"""
HIT, RENDERED = "known", "rendered"


class Project:
    """A folder with a spec, and a cache of its own. `tool` is the folder of ckgen, `code` that of byte code."""

    def __init__(self, folder: Path, code: Path) -> None:
        self.home, self.cache, self.tool, self.code = folder / "project", folder / "cache", PACKAGE.parent, code
        self.home.mkdir(exist_ok=True)
        self.spec = self.home / "instances.yaml"
        self.spec.write_text(SPEC, encoding="utf-8")
        self.out = self.home / "generated"

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """Start a command in a new process."""
        own = {name: value for name, value in os.environ.items() if name != SWITCH}
        own |= {"XDG_CACHE_HOME": str(self.cache), "PYTHONPATH": str(self.tool)}
        own |= {"PYTHONPYCACHEPREFIX": str(self.code), "PYTHONDONTWRITEBYTECODE": ""}
        program = [sys.executable, "-c", PROGRAM, *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(program, cwd=self.home, env=own | variables, stdout=pipe, stderr=pipe, text=True)

    def run(self, *words: str, **variables: str) -> tuple[int, str, str]:
        """Run a command. Return its exit code, what it printed, and whether it rendered."""
        process = self.start(*words, **variables)
        said, errors = process.communicate(timeout=HANG_GUARD)
        *lines, how = said.splitlines()
        return process.returncode, "\n".join([*lines, errors]).strip(), how

    def copy_tool(self) -> None:
        """Use a copy of ckgen from now on, with a tree that is known to it."""
        self.tool = self.home.parent / "tool"
        ignored = shutil.ignore_patterns("__pycache__", "prebuilt")
        shutil.copytree(PACKAGE, self.tool / "ckgen", ignore=ignored)
        shutil.copytree(templates_dir(), self.tool / "templates")
        assert self.run("check")[::2] == (0, RENDERED)
        assert self.run("check")[::2] == (0, HIT)

    @property
    def file(self) -> Path:
        return self.cache / "ckgen" / ROOM / "known.json"

    def a_source(self) -> Path:
        return next(path for path in sorted(self.out.rglob("*.cpp")) if "xdl" in path.name)


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the byte code of all commands."""
    return tmp_path_factory.mktemp("code")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory, code: Path) -> Path:
    """The folder of a project whose tree is generated and known."""
    folder = tmp_path_factory.mktemp("generated")
    status, said, how = Project(folder, code).run("generate")
    assert (status, how) == (0, RENDERED) and "2 instances" in said
    return folder


@pytest.fixture
def project(tmp_path: Path, code: Path, generated: Path) -> Project:
    """A copy of that project, with its cache."""
    shutil.copytree(generated, tmp_path, dirs_exist_ok=True)
    return Project(tmp_path, code)


def test_a_second_run_renders_nothing_and_touches_nothing(project: Project) -> None:
    before = stamps(project.out)
    code, said, how = project.run("generate")
    assert (code, how) == (0, HIT)
    count = len(contents(project.out))
    assert said == f"generated: 2 instances, {count} files: written 0, unchanged {count}, removed 0"
    assert stamps(project.out) == before
    assert project.run("generate", "--dry-run") == (0, said.replace("written", "would be written"), HIT)
    assert project.run("check") == (0, f"generated: up to date, {count} files of set default", HIT)
    assert stamps(project.out) == before


def test_the_switch_turns_it_off(project: Project) -> None:
    shutil.rmtree(project.cache)
    code, said, how = project.run("generate", **{SWITCH: "1"})
    assert (code, how) == (0, RENDERED) and not project.cache.exists()
    assert project.run("generate") == (0, said, RENDERED) and project.file.is_file()
    assert project.run("generate") == (0, said, HIT)


def _edit(path: Path) -> None:
    stat = path.stat()
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])  # of the same length, and with the same time
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _link(path: Path) -> None:
    """A link to a file with the right bytes is not a generated file."""
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


DAMAGE: dict[str, Callable[[Project], object]] = {
    "edited source": lambda project: _edit(project.a_source()),
    "broken manifest": lambda project: _edit(project.out / "manifest.json"),
    "row of the manifest": lambda project: (project.out / "manifest.json").write_text(
        (project.out / "manifest.json").read_text().replace('"archs": ["gfx', '"archs": ["gfy', 1)
    ),
    "missing source": lambda project: project.a_source().unlink(),
    "missing manifest": lambda project: (project.out / "manifest.json").unlink(),
    "missing tree": lambda project: shutil.rmtree(project.out),
    "longer source": lambda project: project.a_source().write_text(project.a_source().read_text() + "\n"),
    "link": lambda project: _link(project.a_source()),
}


@pytest.mark.parametrize("name", chosen(DAMAGE, ("edited source", "missing manifest", "link")))
def test_a_difference_on_disk_is_found_as_without_the_cache(project: Project, name: str) -> None:
    DAMAGE[name](project)
    expected = project.run("check", **{SWITCH: "1"})
    assert expected[0] == (2 if name == "broken manifest" else 1) and expected[1]
    assert project.run("check") == expected
    assert project.run("check", "--format", "json")[:2] == project.run("check", "--format", "json", **{SWITCH: "1"})[:2]
    if name not in ("link", "broken manifest"):  # these are in the way: nothing is written
        assert project.run("generate")[0] == 0
        assert project.run("check")[0] == 0


def test_an_extra_file_is_told_as_without_the_cache(project: Project) -> None:
    extra = project.out / "src" / "extra.cpp"
    extra.write_text("int extra;\n")
    expected = project.run("check", **{SWITCH: "1"})
    assert "src/extra.cpp is not a generated file" in expected[1]
    assert project.run("check") == (*expected[:2], HIT)
    assert project.run("generate")[::2] == (0, HIT) and extra.is_file()


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


CHANGES: dict[str, Callable[[Project], object]] = {
    "template": lambda project: _replace(
        project.tool / "templates" / "include" / "ckgen" / "types.hpp", "#pragma once", "// new\n#pragma once"
    ),
    "new template": lambda project: (project.tool / "templates" / "include" / "new.hpp").write_text("#pragma once\n"),
    "source of ckgen": lambda project: _replace(
        project.tool / "ckgen" / "generate" / "render.py", "Copied by ckgen from", "Just copied by ckgen from"
    ),
    "spec": lambda project: _replace(project.spec, "64x64", "64x128"),
    "comment in the spec": lambda project: _replace(project.spec, "version: 1", "version: 1  # one"),
}


@pytest.mark.parametrize("name", chosen(CHANGES, ("template", "source of ckgen")))
def test_a_change_of_an_input_is_rendered(project: Project, name: str) -> None:
    project.copy_tool()
    CHANGES[name](project)
    code, said, how = project.run("check")
    assert (code, how) == (1, RENDERED) and "drifted" in said
    code, said, how = project.run("generate")
    assert (code, how) == (0, RENDERED) and "written 0" not in said
    assert project.run("check")[::2] == (0, HIT)


def test_other_options_are_other_trees(project: Project) -> None:
    for words in (("--set", "both"), ("tile=64x64",), ("--namespace", "mine"), ("--compat", "ck")):
        code, said, how = project.run("generate", *words)
        assert (code, how) == (0, RENDERED) and "written 0" not in said, words
        assert project.run("generate", *words)[::2] == (0, HIT), words
        assert project.run("check")[::2] == (0, HIT), "the command that the manifest records"
    assert len(json.loads(project.file.read_text())) == 5
    assert project.run("generate", "--out", "other")[::2] == (0, RENDERED)


def test_a_spec_with_errors_is_never_known(project: Project) -> None:
    text = project.spec.read_text()
    project.spec.write_text(text.replace("xdl", "xdk"))
    for command in ("generate", "check"):
        code, said, how = project.run(command)
        assert (code, how) == (2, RENDERED) and "xdk" in said
    project.spec.unlink()
    assert "cannot read instances.yaml" in project.run("generate")[1]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 100_000, '{"a": 1}', '{"KEY": ["x"]}', '{"KEY": [1, "x"]}', '{"KEY": null}', "\xff"]
)
def test_a_broken_file_has_no_entries_and_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "known.json").write_text(text.replace("KEY", "key"), encoding="latin-1")
    trees, tree = KnownTrees(tmp_path), KnownTree("0" * 64, 1)
    assert trees.find("key") is None
    trees.keep("key", tree)
    assert trees.find("key") == tree


def test_a_broken_file_only_costs_the_rendering(project: Project) -> None:
    project.file.write_text("{")
    assert project.run("check")[::2] == (0, RENDERED)
    assert project.run("check")[::2] == (0, HIT)


def test_a_wrong_digest_only_costs_the_rendering(project: Project) -> None:
    key = next(iter(json.loads(project.file.read_text())))
    project.file.write_text(json.dumps({key: ["0" * 64, 2]}))
    assert project.run("check")[::2] == (0, RENDERED)
    assert project.run("check")[::2] == (0, HIT)


@pytest.mark.parametrize("kind", ["file for the folder", "folder for the file", "no home"])
def test_a_cache_that_cannot_be_written_is_no_error(project: Project, kind: str) -> None:
    expected = project.run("check")[:2]
    shutil.rmtree(project.cache)
    if kind == "file for the folder":
        project.cache.write_text("")
    elif kind == "folder for the file":
        project.file.mkdir(parents=True)
    variables = {"XDG_CACHE_HOME": "/proc/none"} if kind == "no home" else {}
    for _ in range(2):
        assert project.run("check", **variables) == (*expected, RENDERED)
        assert project.run("generate", **variables)[::2] == (0, RENDERED)
    if kind == "folder for the file":
        assert list(project.file.parent.iterdir()) == [project.file], "no temporary file is left"


def test_two_processes_at_once(project: Project) -> None:
    shutil.rmtree(project.cache)
    project.a_source().unlink()
    running = [project.start(command) for command in ("generate", "check") * 3]
    ended = [(process.communicate(timeout=HANG_GUARD), process.returncode) for process in running]
    assert all(code == 0 for _, code in ended[::2]), ended
    assert all("Traceback" not in errors for (_, errors), _ in ended)
    assert [path.name for path in project.file.parent.iterdir()] == [project.file.name]
    assert project.run("check")[::2] == (0, HIT)


def test_the_current_folder_is_refused_although_its_tree_is_known(project: Project) -> None:
    words = ("generate", "--spec", str(project.spec), "--out", str(project.out))
    project.home = project.home.parent
    assert project.run(*words, "--out", "project/generated")[0] == 0
    elsewhere = project.home / "elsewhere"
    elsewhere.mkdir()
    project.home = elsewhere  # both paths are outside this folder: the manifest has their names
    assert project.run(*words)[0] == 0 and project.run(*words)[2] == HIT
    project.home = project.out
    code, said, _ = project.run(*words)
    assert code == 2 and "is or holds the current directory" in said


def test_watching_renders(tmp_path: Path) -> None:
    """A process that lives long has the code of its start, not that of the files whose digests are the key."""
    from ckgen.cli.common.known_trees import memory_of
    from ckgen.cli.common.selection import Selection

    selection = Selection(tmp_path / "instances.yaml", "default", (), tmp_path / "generated")
    assert memory_of(selection, off=True).key is None


def test_the_command_shows_and_clears_it(project: Project) -> None:
    assert "trees: 1 files" in project.run("cache", "list")[1]
    assert project.run("cache", "clear", "trees")[0] == 0
    assert not project.file.exists()
    assert project.run("check")[::2] == (0, RENDERED)


def test_the_oldest_entries_are_dropped(tmp_path: Path) -> None:
    trees = KnownTrees(tmp_path)
    trees.keep("first", KnownTree("0" * 64, 1))
    for number in range(MAX_TREES):
        trees.keep(f"key {number}", KnownTree("1" * 64, number))
        if number == 7:
            trees.keep("first", KnownTree("0" * 64, 2))  # again: now it is newer
    assert trees.find("key 0") is None
    assert trees.find("first") == KnownTree("0" * 64, 2)
    assert trees.find(f"key {MAX_TREES - 1}") == KnownTree("1" * 64, MAX_TREES - 1)
    assert len(json.loads((tmp_path / "known.json").read_text())) == MAX_TREES


def test_the_key_has_the_versions_of_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tmp_path / "instances.yaml"
    spec.write_text(SPEC)
    keys = {key_of(spec, GenerateCommand())}
    for name in known.LIBRARIES:
        with monkeypatch.context() as patch:
            patch.setattr(known.metadata, "version", lambda asked, name=name: "1" if asked == name else "0")
            keys.add(key_of(spec, GenerateCommand()))
    assert len(keys) == 1 + len(known.LIBRARIES) and None not in keys


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert key_of(tmp_path / "pipe", GenerateCommand()) is None
    assert key_of(tmp_path / "absent.yaml", GenerateCommand()) is None

"""Tests of the writer: complete files, only changed ones, never a foreign one; `check` reports each drift and its
cause.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.errors import CkgenError
from ckgen.generate import writer as outputs
from ckgen.generate.command import GenerateCommand
from ckgen.generate.inputs import Templates
from ckgen.generate.manifest import MANIFEST_NAME, load_manifest
from ckgen.generate.render import render_tree
from ckgen.selection.measured import Candidate, MeasuredProblem, Table, TableOrigin, table_text
from tests.support.trees import HEADER, SMALL_TEMPLATES, WAVELET, XDL, contents, context, small_tree, stamps

ROOT = Path(__file__).resolve().parents[2]


def write(out: Path, version: str = "one", count: int = 6) -> dict[str, str]:
    tree = small_tree(count, version)
    outputs.apply(tree, out)
    return tree


def leftovers(out: Path) -> list[str]:
    return [path.name for path in out.parent.iterdir() if path.name.startswith(".")]


def test_first_run_writes_the_tree_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "generated"
    tree = small_tree()
    plan = outputs.apply(tree, out)
    assert contents(out) == tree
    assert plan.write == tuple(sorted(tree)) and not plan.keep and not plan.prune
    assert leftovers(out) == []


def test_second_run_touches_no_file_and_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    tree = write(out)
    before = stamps(tmp_path)
    plan = outputs.apply(tree, out)
    assert stamps(tmp_path) == before
    assert not plan.changes and set(plan.keep) == set(tree)


def test_unchanged_files_keep_inode_and_mtime_when_others_change(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    write(out)
    header = "include/ckgen/types.hpp"
    before = stamps(out)
    plan = outputs.apply(small_tree(version="two"), out)
    after = stamps(out)
    assert header in plan.keep and before[header] == after[header]
    assert "include/version.h" in plan.write and before["include/version.h"] != after["include/version.h"]


def test_orphans_are_pruned_with_their_folders(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    outputs.apply(render_tree([XDL, WAVELET], context(SMALL_TEMPLATES)), out)
    tree = render_tree([XDL], context(SMALL_TEMPLATES))
    plan = outputs.apply(tree, out)
    assert contents(out) == tree
    assert any(WAVELET.name in path for path in plan.prune)
    assert not (out / "src/grouped_conv_bwd_weight/wavelet").exists()


def test_foreign_files_are_carried_untouched(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    write(out)
    (out / "src/notes.txt").write_text("mine")
    (out / "build/empty").mkdir(parents=True)
    (out / "build/run.sh").write_text("#!/bin/sh\n")
    (out / "build/run.sh").chmod(0o750)
    (out / "link").symlink_to("nowhere")
    (out / "build").chmod(0o755)
    before = stamps(out)
    outputs.apply(small_tree(2, "two"), out)
    after = stamps(out)
    for path in ("build/run.sh", "build/empty", "link", "src/notes.txt"):
        assert after[path] == before[path], path
    assert (out / "build/empty").is_dir() and os.readlink(out / "link") == "nowhere"
    assert (out / "build/run.sh").stat().st_mode & 0o777 == 0o750
    assert outputs.check(small_tree(2, "two"), out) == ()


def test_a_foreign_file_in_the_way_is_refused_unless_identical(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    tree = small_tree()
    (out / "include/ckgen").mkdir(parents=True)
    (out / "include/ckgen/types.hpp").write_text("my own header")
    before = stamps(tmp_path)
    with pytest.raises(CkgenError, match="did not write where it has to write: include/ckgen/types.hpp"):
        outputs.apply(tree, out)
    assert stamps(tmp_path) == before
    (out / "include/ckgen/types.hpp").write_text(tree["include/ckgen/types.hpp"])
    plan = outputs.apply(tree, out)
    assert "include/ckgen/types.hpp" in plan.keep
    assert contents(out) == tree


@pytest.mark.parametrize("kind", ["folder", "file above", "link", "link above"])
def test_another_kind_of_thing_in_the_way_is_refused(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "generated"
    (out / "include").mkdir(parents=True)
    if kind == "folder":
        (out / "include/version.h").mkdir()
    elif kind == "file above":
        (out / "src").write_text("")
    elif kind == "link":
        (out / "include/version.h").symlink_to(tmp_path / "elsewhere")
    else:
        (out / "src").symlink_to(tmp_path)
    with pytest.raises(CkgenError, match="did not write where it has to write: (src|include/version.h)"):
        outputs.apply(small_tree(), out)
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_of_ours_may_become_a_folder_and_back(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    as_file = Templates({**SMALL_TEMPLATES.texts, "include/a.h": "// file\n"})
    as_folder = Templates({**SMALL_TEMPLATES.texts, "include/a.h/b.h": "// folder\n"})
    for templates in (as_file, as_folder, as_file):
        tree = render_tree([XDL], context(templates))
        outputs.apply(tree, out)
        assert contents(out) == tree


def test_a_foreign_manifest_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    out.mkdir()
    (out / MANIFEST_NAME).write_text('{"name": "my web app"}')
    with pytest.raises(CkgenError, match="is not a manifest that ckgen wrote"):
        outputs.apply(small_tree(), out)
    (out / MANIFEST_NAME).write_text("<<<<<<< HEAD\n")
    with pytest.raises(CkgenError, match="is not a manifest that ckgen wrote"):
        outputs.apply(small_tree(), out)


def test_an_edited_manifest_cannot_make_ckgen_delete_foreign_files(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    tree = write(out)
    (out / "mine.txt").write_text("mine")
    listed = '"files": {\n"mine.txt": {"sha256": "0", "template": "t"},'
    (out / MANIFEST_NAME).write_text(tree[MANIFEST_NAME].replace('"files": {', listed))
    assert [drift.summary for drift in outputs.check(tree, out)] == ["manifest.json: changed (hand edit)"]
    outputs.apply(tree, out)
    assert contents(out) == {**tree, "mine.txt": "mine"}


def test_the_current_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    for out in (Path(), Path(".."), Path("/")):
        with pytest.raises(CkgenError, match="is or holds the current directory"):
            outputs.apply(small_tree(), out)


def test_a_linked_folder_is_written_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    tree = write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and contents(tmp_path / "real") == tree


def test_a_file_as_output_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "generated").write_text("")
    with pytest.raises(CkgenError, match="is not a folder"):
        write(tmp_path / "generated")


@pytest.mark.parametrize("folder", ["generated", "generated/src/grouped_conv_bwd_weight/xdl"])
def test_read_only_output_is_one_clear_error(tmp_path: Path, folder: str) -> None:
    """Root may write anywhere, and these tests run in containers as root, so the mode of the folder counts."""
    out = tmp_path / "place" / "generated"
    tree = write(out)
    (out.parent / folder).chmod(0o555)
    before = stamps(tmp_path)
    assert not outputs.apply(tree, out).changes
    with pytest.raises(CkgenError, match="read-only") as caught:
        write(out, "two")
    assert len(caught.value.diagnostics) == 1 and caught.value.exit_code == 2
    (out.parent / folder).chmod(0o755)
    assert contents(out) == tree and stamps(tmp_path) == before and leftovers(out) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EDQUOT])
def test_a_failed_write_leaves_whole_files_that_the_next_run_makes_one_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    out = tmp_path / "generated"
    old, new = write(out), small_tree(6, "two")
    (out / "mine.txt").write_text("mine")
    left = [4]

    def full(descriptor: int, data: bytes) -> None:
        left[0] -= 1
        if not left[0]:
            raise OSError(code, os.strerror(code))
        os.write(descriptor, data)

    with monkeypatch.context() as patched, pytest.raises(CkgenError, match=os.strerror(code)) as caught:
        patched.setattr(outputs, "_write_all", full)
        outputs.apply(new, out)
    assert len(caught.value.diagnostics) == 1 and caught.value.exit_code == 2
    assert states(out, old, new) == Counter(old=5, new=2, same=2, unfinished=1, foreign=1)
    outputs.apply(new, out)
    assert contents(out) == {**new, "mine.txt": "mine"}


def states(out: Path, old: dict[str, str], new: dict[str, str]) -> Counter[str]:
    """Count the files of a folder that have the text of one tree or of both; any other text is an error."""
    found: Counter[str] = Counter()
    for path, text in contents(out).items():
        if path not in {**old, **new}:
            found["foreign"] += 1
        elif path == MANIFEST_NAME and '\n"unfinished": true,\n' in text:
            found["unfinished"] += 1
        else:
            assert text in (old.get(path), new.get(path)), path
            found["same" if old.get(path) == new.get(path) else "old" if text == old.get(path) else "new"] += 1
    return found


def test_an_unfinished_tree_is_noticed_and_any_next_run_finishes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run may make another tree: ckgen owns the files of the old, the interrupted and the new tree."""
    out = tmp_path / "generated"
    trees = [render_tree([one], context(SMALL_TEMPLATES)) for one in (XDL, WAVELET, replace(XDL, k_per_block=64))]
    outputs.apply(trees[0], out)
    replaced = os.replace

    def stop_before_the_last(source: str, target: str) -> None:
        if target.endswith(MANIFEST_NAME) and '"unfinished"' not in Path(source).read_text():
            raise KeyboardInterrupt
        replaced(source, target)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "replace", stop_before_the_last)
        outputs.apply(trees[1], out)
    assert leftovers(out) == []
    manifest = load_manifest(out)
    assert manifest is not None and manifest.intact and manifest.unfinished
    assert drift_of(out, trees[1]) == {MANIFEST_NAME: "changed: unfinished"}
    assert set(drift_of(out, trees[2]).values()) == {f"{kind}: unfinished" for kind in ("changed", "missing", "orphan")}
    outputs.apply(trees[2], out)
    assert contents(out) == trees[2]


KILLED = """
import os, signal, sys
from pathlib import Path
from ckgen.generate import writer as outputs
from tests.support.trees import small_tree
out, last = Path(sys.argv[1]), int(sys.argv[2])
tree, lines = small_tree(30, sys.argv[3]), 0

def count(frame, event, argument):
    global lines
    if frame.f_code.co_filename != outputs.__file__:
        return None
    if event == "line":
        lines += 1
        if lines == last:
            os.kill(os.getpid(), signal.SIGKILL)
    return count

sys.settrace(count)
outputs.apply(tree, out)
sys.settrace(None)
print(lines)
"""


def killed(out: Path, last: int, name: str) -> subprocess.CompletedProcess[str]:
    """Write tree ``name`` in a process that dies before the ``last`` line of the writer that it executes."""
    words = [sys.executable, "-c", KILLED, str(out), str(last), name]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True)


def test_killed_at_any_line_leaves_whole_files_and_the_next_run_finishes(tmp_path: Path) -> None:
    """Moments are counted in executed lines of the writer, not in time, so every machine tests the same ones."""
    out = tmp_path / "generated"
    old, new = small_tree(30, "one"), small_tree(30, "two")
    outputs.apply(old, out)
    (out / "mine.txt").write_text("mine")
    lines = int(killed(out, 0, "two").stdout)
    assert contents(out) == {**new, "mine.txt": "mine"}
    seen: Counter[str] = Counter()
    for last in sorted({*range(1, lines, lines // 20), *range(lines - 15, lines + 1)}):
        outputs.apply(old, out)
        done = killed(out, last, "two")
        assert done.returncode == -signal.SIGKILL, done.stderr
        (out / ".ckgen-new").unlink(missing_ok=True)
        found = states(out, old, new)
        assert found.pop("foreign") == 1 and found.total() == len(new)
        manifest = load_manifest(out)
        assert manifest is not None
        if not manifest.unfinished:
            assert not (found["old"] and found["new"]), "a mixed tree looks finished"
        seen["unfinished" if manifest.unfinished else "new" if found["new"] else "old"] += 1
        outputs.apply(new, out)
        assert contents(out) == {**new, "mine.txt": "mine"} and leftovers(out) == []
    assert seen["old"] > 2 and seen["new"] > 1 and seen["unfinished"] > 5, seen


def test_half_a_file_of_a_killed_run_is_replaced_by_the_next(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    write(out)
    (out / ".ckgen-new").write_text("// half a fi")
    tree = write(out, "two")
    assert contents(out) == tree


TWO_AT_ONCE = """
import sys
from dataclasses import replace
from pathlib import Path
from ckgen.generate import writer as outputs
from tests.support.trees import small_tree
tree = small_tree(300, sys.argv[2])
for _ in range(5):
    outputs.apply(tree, Path(sys.argv[1]))
"""


def test_two_generators_at_once_take_turns(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    children = [
        subprocess.Popen([sys.executable, "-c", TWO_AT_ONCE, str(out), name], cwd=ROOT) for name in ("one", "two")
    ]
    assert [child.wait() for child in children] == [0, 0]
    assert contents(out) in (small_tree(300, "one"), small_tree(300, "two"))
    assert leftovers(out) == []


def test_check_names_files_causes_and_differences(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    tree = write(out)
    assert outputs.check(tree, out) == ()
    (out / "include/version.h").write_text(tree["include/version.h"] + "int x;\n")
    (out / "include/ckgen/types.hpp").unlink()
    edited, deleted = sorted(outputs.check(tree, out), key=lambda drift: drift.kind)
    assert edited.summary == "include/version.h: changed (hand edit)"
    assert "\n-int x;\n" in edited.diff and "+++ include/version.h (as generated)" in edited.diff
    assert deleted.summary == "include/ckgen/types.hpp: missing" and deleted.causes == ()


TABLE_ORIGIN = TableOrigin({}, "", "", "", "", "", "", "", "")
MEASURED = MeasuredProblem("K8 C8 3x3 on 9x8 p1", "f16", XDL.layout, (Candidate(XDL.name, 4, 2.5),))


def drift_of(out: Path, tree: dict[str, str]) -> dict[str, str]:
    return {drift.path: f"{drift.kind}: {', '.join(drift.causes)}" for drift in outputs.check(tree, out)}


def test_check_tells_spec_template_tool_and_command_apart(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    base = render_tree([XDL, WAVELET], context(SMALL_TEMPLATES))
    outputs.apply(base, out)
    source = next(path for path in base if path.endswith(f"{XDL.name}.cpp"))
    gone = next(path for path in base if path.endswith(f"{WAVELET.name}.cpp"))
    other = {
        **SMALL_TEMPLATES.texts,
        "instance.cpp.j2": SMALL_TEMPLATES.texts["instance.cpp.j2"] + "// more\n",
    }

    spec = drift_of(out, render_tree([XDL], context(SMALL_TEMPLATES, spec_text="other")))
    assert spec[gone] == "orphan: spec" and spec[MANIFEST_NAME] == "changed: spec" and source not in spec
    template = drift_of(out, render_tree([XDL, WAVELET], context(Templates(other))))
    assert template[source] == "changed: template" and MANIFEST_NAME in template
    command = drift_of(
        out, render_tree([XDL], context(SMALL_TEMPLATES, command=GenerateCommand(filters=("family=xdl",))))
    )
    assert command[gone] == "orphan: command" and command[MANIFEST_NAME] == "changed: command"
    assert source not in command, "another selection leaves the files of both as they are"
    measured = {"src/library/measured.cpp.j2": HEADER + "{{ measured|length }}\n", **SMALL_TEMPLATES.texts}
    outputs.apply(render_tree([XDL, WAVELET], context(Templates(measured))), out)
    tables = {"t.json": table_text(Table("grouped_conv_bwd_weight", "sm_90a", TABLE_ORIGIN, (MEASURED,)))}
    table = drift_of(out, render_tree([XDL, WAVELET], replace(context(Templates(measured)), tables=tables)))
    assert table == {"src/library/measured.cpp": "changed: tool", MANIFEST_NAME: "changed: tool"}
    outputs.apply(base, out)
    both = render_tree([XDL, WAVELET], context(Templates(other), spec_text="other"))
    (out / source).write_text("by hand\n")
    assert drift_of(out, both)[source] == "changed: spec, template, hand edit"


def test_check_without_a_tree_or_manifest(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    tree = small_tree()
    assert set(drift_of(out, tree).values()) == {"missing: not generated"}
    write(out)
    (out / MANIFEST_NAME).unlink()
    assert drift_of(out, tree) == {MANIFEST_NAME: "missing: not generated"}


def test_check_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    write(out)
    before = stamps(tmp_path)
    outputs.check(small_tree(version="two"), out)
    assert outputs.plan(small_tree(version="two"), out).changes
    assert stamps(tmp_path) == before


def test_manifest_round_trip(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    tree = write(out)
    manifest = load_manifest(out)
    assert manifest is not None and manifest.intact
    assert set(manifest.files) == set(tree) - {MANIFEST_NAME}
    assert json.loads(tree[MANIFEST_NAME])["instances"][0]["name"] == manifest.instances[0].name
    assert load_manifest(tmp_path / "none") is None

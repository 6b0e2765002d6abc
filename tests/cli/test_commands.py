"""The ckgen command: its output, streams and exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ckgen.cli import CLOSED_PIPE, COMMANDS, INTERRUPTED, main
from tests.support.patience import HANG_GUARD

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
CKGEN = [sys.executable, "-m", "ckgen"]
BROKEN = """\
version: 1
groups:
  - name: bad
    family: xdl
    layout: NHWGC/GKYXC/NHWGK
    dtype: [f16, f61]
    conv_spec: Default
    block_size: 256
    tile: 128x128
"""


@dataclass(frozen=True)
class Result:
    """Exit code, standard output and standard error of one command."""

    code: int
    out: str
    err: str


Ckgen = Callable[..., Result]


@pytest.fixture
def ckgen(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ckgen:
    """Run ckgen in a new folder that `ckgen init` filled."""
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    capsys.readouterr()

    def run(*words: str) -> Result:
        code = main(words)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Result(code, said.out, said.err)

    return run


def start(*words: str, cwd: Path, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [*CKGEN, *words],
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_shows_an_example(command: str, ckgen: Ckgen) -> None:
    said = ckgen(*command.split(), "--help")
    assert said.code == 0
    assert re.search(rf"Examples?:\n +ckgen {command}\b", said.out), said.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_parses(command: str, ckgen: Ckgen) -> None:
    import importlib
    import shlex

    help_text = ckgen(*command.split(), "--help").out
    examples = re.findall(rf"^ +ckgen {command}\b(.*)$", help_text.split("Example")[1], re.MULTILINE)
    python_name = command.replace(" ", "_")
    module = importlib.import_module(f"ckgen.cli.{python_name}")
    for line in examples:
        words = shlex.split(line.split("&&")[0].split(">")[0])
        getattr(module, f"{python_name}_command").make_context(command, words, resilient_parsing=False)
    assert examples


def test_no_arguments_print_the_help_and_are_wrong_use(ckgen: Ckgen) -> None:
    said = ckgen()
    assert said.code == 2
    assert "First steps:" in said.err + said.out


def test_an_unknown_command_names_the_nearest(ckgen: Ckgen) -> None:
    said = ckgen("genrate")
    assert said.code == 2
    assert "Did you mean 'generate'?" in said.err


def test_an_unknown_option_is_wrong_use(ckgen: Ckgen) -> None:
    said = ckgen("generate", "--output", "x")
    assert said.code == 2
    assert "--out" in said.err


def test_init_does_not_replace_a_spec(ckgen: Ckgen, tmp_path: Path) -> None:
    (tmp_path / "instances.yaml").write_text("mine\n")
    said = ckgen("init")
    assert said.code == 2
    assert "--force" in said.err
    assert (tmp_path / "instances.yaml").read_text() == "mine\n"
    assert ckgen("init", "--force").code == 0
    assert ckgen("validate").code == 0
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_init_leaves_a_spec_that_its_schema_describes(ckgen: Ckgen, tmp_path: Path) -> None:
    first = (tmp_path / "instances.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=instances.schema.json"
    assert json.loads((tmp_path / "instances.schema.json").read_text()) == json.loads(ckgen("schema").out)


def test_validate_counts_instances_and_sets(ckgen: Ckgen) -> None:
    said = ckgen("validate")
    assert said.code == 0
    assert said.out.splitlines() == [
        "instances.yaml: 18 instances, no error",
        "  set ci: 4",
        "  set default: 18",
        "  set full: 18",
    ]
    assert json.loads(ckgen("validate", "--json").out)["sets"] == {"ci": 4, "default": 18, "full": 18}


def test_a_broken_spec_is_shown_with_its_line(ckgen: Ckgen, tmp_path: Path) -> None:
    (tmp_path / "instances.yaml").write_text(BROKEN)
    for command in ("validate", "list", "generate", "check", "build --set ci", "smoke --set ci"):
        said = ckgen(*command.split())
        assert (said.code, said.out) == (2, "")
        assert "instances.yaml:6:18: error[" in said.err
        assert "6 |     dtype: [f16, f61]" in said.err
        assert "^^^" in said.err


def test_a_missing_spec_leads_to_init(ckgen: Ckgen) -> None:
    said = ckgen("validate", "--spec", "nowhere.yaml")
    assert said.code == 2
    assert "nowhere.yaml" in said.err
    assert "ckgen init" in said.err


def test_list_prints_names_first_and_the_count_aside(ckgen: Ckgen) -> None:
    said = ckgen("list", "family=wavelet", "dtype=f16")
    lines = said.out.splitlines()
    assert lines[0].split()[0] == "name"
    assert len(lines) == 1 + 4
    assert all(line.startswith("grouped_conv2d_bwd_weight_wavelet") for line in lines[1:])
    assert said.err == "ckgen: 4 of 18 instances\n"
    assert ckgen("list", "family=wavelet", "dtype=f16", "--names").out.split() == [
        line.split()[0] for line in lines[1:]
    ]


def test_list_as_json_has_everything(ckgen: Ckgen) -> None:
    rows = json.loads(ckgen("list", "--set", "ci", "--json").out)
    assert len(rows) == 4
    assert {"name", "fields", "derived", "archs", "sets", "add_function"} <= rows[0].keys()


@pytest.mark.parametrize("command", ["list", "generate", "build", "smoke"])
def test_selecting_nothing_is_wrong_use(ckgen: Ckgen, command: str, tmp_path: Path) -> None:
    said = ckgen(command, "dtype=f32") if command != "smoke" else ckgen(command, "--set", "cl")
    assert said.code == 2
    assert "error[empty-selection]" in said.err
    assert "help:" in said.err
    assert not (tmp_path / "generated").exists()


def test_an_unknown_key_names_the_nearest(ckgen: Ckgen) -> None:
    said = ckgen("list", "dtyp=f16")
    assert said.code == 2
    assert "`dtype`" in said.err


def test_explain_shows_places(ckgen: Ckgen) -> None:
    name = ckgen("list", "family=wavelet", "--names").out.split()[0]
    said = ckgen("explain", name)
    assert said.code == 0
    assert said.out.startswith(name + "\n")
    assert re.search(r"m_per_block +128 +instances\.yaml:\d+:\d+: tile 128x128", said.out)


def test_explain_names_the_rule_that_keeps_a_combination_out(ckgen: Ckgen) -> None:
    said = ckgen("explain", "family=wavelet", "dtype=f32")
    assert said.code == 0
    assert "wavelet-dtype" in said.out


def test_generate_writes_once_and_check_agrees(ckgen: Ckgen, tmp_path: Path) -> None:
    first = ckgen("generate")
    assert re.fullmatch(r"generated: 18 instances, (\d+) files: written \1, unchanged 0, removed 0\n", first.out)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "generated").rglob("*")}
    second = ckgen("generate")
    assert re.search(r"written 0, unchanged \d+, removed 0", second.out)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "generated").rglob("*")}
    assert ckgen("check").code == 0


def test_the_manifest_says_how_to_make_the_tree_again(ckgen: Ckgen, tmp_path: Path) -> None:
    ckgen("generate", "--set", "ci", "dtype=f16", "--out", str(tmp_path / "some" / "where"))
    text = (tmp_path / "some" / "where" / "manifest.json").read_text()
    assert json.loads(text)["command"] == {"set": "ci", "filters": ["dtype=f16"], "out": "some/where"}
    assert str(tmp_path) not in text


def test_another_selection_leaves_the_files_of_both_as_they_are(ckgen: Ckgen) -> None:
    ckgen("generate")
    written, unchanged, _ = map(
        int, re.findall(r" (\d+)(?=,|\n)", ckgen("generate", "dtype=f16").out.split("files:")[1])
    )
    assert written < 12, "the manifest and what lists all instances"
    assert unchanged > 100


def test_dry_run_writes_nothing(ckgen: Ckgen, tmp_path: Path) -> None:
    said = ckgen("generate", "--dry-run")
    assert "write   manifest.json" in said.out
    assert not (tmp_path / "generated").exists()


def test_list_inputs_names_the_spec_and_the_templates(ckgen: Ckgen, tmp_path: Path) -> None:
    paths = ckgen("generate", "--list-inputs").out.splitlines()
    assert paths[0] == str(tmp_path / "instances.yaml")
    assert any(path.endswith("templates/instance.cpp.j2") for path in paths)
    assert all(Path(path).exists() for path in paths)
    assert not (tmp_path / "generated").exists()


def test_check_remembers_how_a_tree_was_generated(ckgen: Ckgen) -> None:
    ckgen("generate", "--set", "ci", "--out", "build/ci")
    assert ckgen("check", "--out", "build/ci").code == 0
    assert ckgen("check", "--out", "build/ci", "--set", "default").code == 1


def test_check_tells_a_hand_edit_from_a_changed_spec(ckgen: Ckgen, tmp_path: Path) -> None:
    ckgen("generate")
    header = tmp_path / "generated" / "include" / "ckgen" / "types.hpp"
    header.write_text(header.read_text() + "// mine\n")
    said = ckgen("check")
    assert said.code == 1
    assert "-// mine" in said.out
    assert "include/ckgen/types.hpp: changed (hand edit)" in said.out
    ckgen("generate")
    spec = tmp_path / "instances.yaml"
    spec.write_text(spec.read_text().replace("dtype: [f16, bf16]", "dtype: [f16]"))
    rows = json.loads(ckgen("check", "--json").out)["drift"]
    orphans = [row for row in rows if row["kind"] == "orphan" and "/factory/" not in row["path"]]
    assert len(orphans) == 9
    assert all(row["causes"] == ["spec"] for row in orphans)


def test_check_finds_the_spec_from_another_folder(
    ckgen: Ckgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spec of another project in the current folder is not used instead."""
    assert ckgen("generate").code == 0
    assert ckgen("generate", "--out", "deep/tree").code == 0
    other = tmp_path / "other"
    other.mkdir()
    (other / "instances.yaml").write_text("version: 1\ngroups: []\n")
    monkeypatch.chdir(other)
    for tree in ("../generated", str(tmp_path / "deep/tree")):
        said = ckgen("check", "--out", tree)
        assert said.code == 0 and "up to date" in said.out
    (tmp_path / "generated/src/library/registry.cpp").unlink()
    said = ckgen("check", "--out", "../generated")
    assert said.code == 1 and said.out == "src/library/registry.cpp: missing\n"
    assert f"run in {tmp_path}: ckgen generate" in said.err


def test_check_points_out_what_is_not_generated(ckgen: Ckgen, tmp_path: Path) -> None:
    """A source that no manifest names is not in the library. Build folders and hidden files cause no warning."""
    assert ckgen("generate").code == 0
    for path in ("src/stray.cpp", "build/CMakeCache.txt", ".gitattributes"):
        (tmp_path / "generated" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "generated" / path).write_text("")
    said = ckgen("check")
    assert said.code == 0 and "up to date" in said.out
    assert said.err == "ckgen: warning: src/stray.cpp is not a generated file and is not in the library\n"
    assert json.loads(ckgen("check", "--json").out)["strays"] == ["src/stray.cpp"]


def test_check_names_a_manifest_that_is_missing(ckgen: Ckgen, tmp_path: Path) -> None:
    assert ckgen("generate").code == 0
    (tmp_path / "generated/manifest.json").unlink()
    said = ckgen("check")
    assert said.code == 1 and said.out == "manifest.json: missing (not generated)\n"


def test_check_says_which_instances_a_tree_holds(ckgen: Ckgen) -> None:
    assert ckgen("generate", "dtype=f16", "ndim=2").code == 0
    said = ckgen("check")
    assert said.code == 0 and said.out.endswith(" files of set default, filter dtype=f16 ndim=2\n")
    assert ckgen("check", "--set", "default").code == 1
    assert ckgen("generate").code == 0
    said = ckgen("check", "--set", "default")
    assert said.code == 0 and said.out.endswith(" files of set default\n")


def test_line_ends_that_git_changed_are_named_and_mended(ckgen: Ckgen, tmp_path: Path) -> None:
    assert ckgen("generate").code == 0
    before = ckgen("check").out
    files = [tmp_path / "instances.yaml", *(path for path in (tmp_path / "generated").rglob("*") if path.is_file())]
    for file in files:
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    said = ckgen("check", "--brief")
    lines = said.out.splitlines()
    assert said.code == 1 and len(lines) == len(files) - 1
    assert all(line.endswith(": changed (line ends)") for line in lines)
    assert ".gitattributes prevents that" in said.err
    assert ckgen("check").out == said.out, "a diff of line ends shows nothing"
    assert ckgen("generate").code == 0
    said = ckgen("check")
    assert (said.code, said.out) == (0, before)


def test_check_of_no_tree_is_drift_in_one_line(ckgen: Ckgen) -> None:
    said = ckgen("check")
    assert said.code == 1
    assert "ckgen generate" in said.err
    assert said.out == ""


def test_diff_against_a_tree(ckgen: Ckgen, tmp_path: Path) -> None:
    ckgen("generate")
    spec = tmp_path / "instances.yaml"
    spec.write_text(spec.read_text().replace("tile: [128x128, 64x128]", "tile: [128x128]"))
    found = json.loads(ckgen("diff", "generated", "--json").out)
    assert (len(found["added"]), len(found["removed"]), len(found["changed"])) == (0, 4, 0)
    said = ckgen("diff", "generated")
    assert said.code == 0
    assert said.err == "ckgen: generated -> instances.yaml: 0 added, 4 removed, 0 changed\n"
    assert all(line.startswith("removed ") for line in said.out.splitlines()[1:])


def test_diff_against_a_revision(ckgen: Ckgen, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    assert json.loads(ckgen("diff", "HEAD", "--json").out) == {"added": [], "removed": [], "changed": []}
    spec = tmp_path / "instances.yaml"
    spec.write_text(spec.read_text().replace("dtype: [f16, bf16]", "dtype: [f16]"))
    assert len(json.loads(ckgen("diff", "HEAD", "--json").out)["removed"]) == 9


def test_diff_tells_a_function_that_changed(ckgen: Ckgen, tmp_path: Path) -> None:
    """A changed function is found against a tree, whose manifest records it, and against a revision."""
    spec = tmp_path / "instances.yaml"
    spec.write_text((ROOT / "tests/data/golden/backward_data/instances.yaml").read_text())
    ckgen("generate")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "instances.yaml"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    spec.write_text(spec.read_text().replace("tanh(e) if d > 0", "sigmoid(e) if d > 0"))
    for base in ("generated", "HEAD"):
        found = json.loads(ckgen("diff", base, "--json").out)
        assert not found["added"] and not found["removed"]
        assert {row["what"] for row in found["changed"]} == {
            "SoftClip tanh(e) if d > 0 else e -> sigmoid(e) if d > 0 else e"
        }
        assert len(found["changed"]) == 2 and all("_soft_clip_" in row["new"] for row in found["changed"])


@pytest.mark.parametrize("base", ["no-such-thing", "--help-me", "HEAD~999"])
def test_diff_against_nothing_is_wrong_use(ckgen: Ckgen, base: str) -> None:
    said = ckgen("diff", "--", base)
    assert said.code == 2
    assert "neither a generated tree nor a revision" in said.err


def test_build_without_a_tree_leads_to_generate(ckgen: Ckgen) -> None:
    said = ckgen("build")
    assert said.code == 2
    assert "ckgen generate" in said.err


def hopper_spec(*more: str) -> str:
    """A spec with one instance for sm_90a only, and other groups."""
    tma = "{name: h, family: wavelet_tma, layout: NHWGC/GKYXC/NHWGK, dtype: f16, tile: 128x256}"
    return "version: 1\ngroups:\n" + "".join(f"  - {group}\n" for group in (tma, *more))


def test_build_refuses_a_platform_that_can_run_nothing(ckgen: Ckgen) -> None:
    Path("h.yaml").write_text(hopper_spec())
    for words, where in ((("amd",), "amd"), (("nvidia", "--arch", "sm_80"), "nvidia for sm_80")):
        said = ckgen("build", "--spec", "h.yaml", "--platform", *words)
        assert said.code == 2
        message = f"error[empty-build]: platform {where} can run none of these instances: all 1 are for sm_90a alone"
        assert message in said.err
        assert "help: build them with --platform nvidia --arch sm_90a, or --platform host" in said.err


def test_build_counts_what_it_leaves_out(ckgen: Ckgen, monkeypatch: pytest.MonkeyPatch) -> None:
    from ckgen.build import cmake

    library = cmake.BuildResult(Path("libckgen_conv.so"), 1.0, "")
    monkeypatch.setattr(cmake, "build", lambda *_, **__: library)
    xdl = "{name: x, family: xdl, layout: NHWGC/GKYXC/NHWGK, dtype: f16, block_size: 256, tile: 128x128}"
    Path("h.yaml").write_text(hopper_spec(xdl))
    said = ckgen("build", "--spec", "h.yaml", "--platform", "amd")
    assert said.code == 0
    assert "left out: 1 of 2 instances are for sm_90a alone, not platform amd" in said.err
    for platform in ("nvidia", "host"):
        assert "left out" not in ckgen("build", "--spec", "h.yaml", "--platform", platform).err


def test_build_refuses_an_option_without_a_value(ckgen: Ckgen) -> None:
    ckgen("generate")
    said = ckgen("build", "--option", "CKGEN_SANITIZE")
    assert said.code == 2
    assert "NAME=VALUE" in said.err


def test_smoke_of_a_missing_library_is_wrong_use(ckgen: Ckgen) -> None:
    said = ckgen("smoke", "--library", "nowhere.so")
    assert said.code == 2
    assert "nowhere.so" in said.err


def test_an_unwritable_place_is_one_error_with_help(ckgen: Ckgen) -> None:
    said = ckgen("schema", "--out", "/proc/none/schema.json")
    assert said.code == 2
    error, help_text = said.err.splitlines()
    assert error.endswith("cannot write /proc/none/schema.json: No such file or directory")
    assert help_text.startswith(" = help: ")


def test_a_pipe_that_closes_early_is_quiet(tmp_path: Path) -> None:
    process = start("list", "--set", "full", "--spec", str(ROOT / "instances.yaml"), cwd=tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(HANG_GUARD) == CLOSED_PIPE
    assert process.stderr.read() == ""


def _heed_signals() -> None:
    """Reset what a child inherits: a background process of a shell ignores SIGINT, one of nohup ignores SIGHUP."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path)]) == 0
    (tmp_path / "late.yaml").unlink(missing_ok=True)
    os.mkfifo(tmp_path / "late.yaml")
    process = start("validate", "--spec", "late.yaml", cwd=tmp_path, preexec_fn=_heed_signals)
    with open(tmp_path / "late.yaml", "w"):  # the command is now waiting for the text
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HANG_GUARD)
    assert process.returncode == INTERRUPTED
    assert err.strip() == "ckgen: interrupted"


@pytest.mark.parametrize("number, said", [(signal.SIGTERM, "terminated"), (signal.SIGHUP, "hung up")])
def test_a_signal_is_one_line(number: signal.Signals, said: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "late.yaml")
    process = start("validate", "--spec", "late.yaml", cwd=tmp_path, preexec_fn=_heed_signals)
    with open(tmp_path / "late.yaml", "w"):  # the command is now waiting for the text
        process.send_signal(number)
        _, err = process.communicate(timeout=HANG_GUARD)
    assert process.returncode == 128 + number
    assert err.strip() == f"ckgen: {said}"


def test_a_signal_that_is_to_be_ignored_stays_ignored(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path)]) == 0
    code = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); from ckgen.cli import main\n"
        "from ckgen.cli.common import signals\n"
        "with signals.unwinding(): os.kill(os.getpid(), signal.SIGHUP)\n"
        "print(main(['validate', '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.stdout.endswith("\n0\n")


# Effects of a shell's `>&-`, `2>&-`, `>/dev/full` and `2>/dev/full`, and exit codes of a correct and a wrong call.
STREAMS = {
    "output closed": (">&-", 0, 2),
    "error closed": ("2>&-", 0, 2),
    "all closed": ("<&- >&- 2>&-", 0, 2),
    "output full": (">/dev/full", 2, 2),
    "error full": ("2>/dev/full", 0, 2),
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("command", ["--help", "--version", "list", "schema", "validate", "generate"])
def test_closed_and_full_streams_leave_no_traceback(kind: str, command: str, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path)]) == 0
    redirect, right, wrong = STREAMS[kind]
    for words, code in ((command, right), (f"{command} --nonsense", wrong)):
        line = f'"$0" -m ckgen {words} {redirect}'
        shell = ["bash", "-c", line, sys.executable]
        done = subprocess.run(shell, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
        assert done.returncode == code, (words, done.stderr)
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    "name", ["a\n#error INJECTED\n.yaml", "a\r.yaml", "a\\\n.yaml", "a\u2028b", "\udcff.yaml", "\x1b[2J"]
)
@pytest.mark.parametrize("option", ["--spec", "--out"])
def test_a_name_that_ends_a_line_or_is_no_text_is_refused(option: str, name: str, ckgen: Ckgen, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes((tmp_path / "instances.yaml").read_bytes())
    said = ckgen("generate", option, name)
    assert said.code == 2
    assert "a name may not hold control characters or bytes that are not UTF-8" in said.err
    assert not (tmp_path / "generated").exists()
    assert said.err.isascii() and "\x1b" not in said.err


def test_a_name_with_blanks_quotes_and_accents_is_a_name(ckgen: Ckgen, tmp_path: Path) -> None:
    name = "é '\"\\\u3000 $x.yaml"
    (tmp_path / "instances.yaml").rename(tmp_path / name)
    assert ckgen("generate", "--spec", name, "--out", "o \\").code == 0
    assert ckgen("check", "--out", "o \\").code == 0
    header = (tmp_path / "o \\" / "CMakeLists.txt").read_text().splitlines()[0]
    assert (
        header == f"# Generated by ckgen from {name} with templates/CMakeLists.txt.j2. Do not edit; run: ckgen generate"
    )


@pytest.mark.parametrize("word", ["m_per_block>=" + "9" * 5000, "m_per_block>=\n5", "dtype=f16\x00", "*\ud800"])
def test_a_filter_that_no_instance_can_have_is_one_error(word: str, ckgen: Ckgen) -> None:
    said = ckgen("list", word)
    assert said.code == 2
    assert said.err.startswith("error[bad-filter]: ") and len(said.err) < 3000


def test_a_pipe_gets_plain_text_and_a_terminal_gets_colour(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path)]) == 0
    plain = start("list", cwd=tmp_path).communicate(timeout=HANG_GUARD)[0]
    assert "\x1b[" not in plain
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "200"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen([*CKGEN, "list"], cwd=tmp_path, env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:
        pass  # the other end of the terminal is closed: Linux reports end of file this way
    assert process.wait(HANG_GUARD) == 0
    assert b"\x1b[" in shown
    os.close(ours)


def test_start_up_imports_nothing_heavy() -> None:
    code = "import sys, ckgen.cli; ckgen.cli.main(['--version']); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"numpy", "jinja2", "pydantic", "rich", "yaml"}


INTERRUPTED_IMPORT = """
import os, signal, sys
class Interrupt:
    def find_spec(name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process of a shell ignores it
from ckgen.__main__ import main
sys.exit(main())
"""


def test_an_interrupt_while_modules_are_imported_is_one_line() -> None:
    process = subprocess.run([sys.executable, "-c", INTERRUPTED_IMPORT], cwd=ROOT, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (130, "ckgen: interrupted\n")

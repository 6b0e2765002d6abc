"""Daily work: ids, tables that fit, quiet and verbose, problems as text, comparison, watching, the
survey of the machine, completion and the cache."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ckgen.bench.store import Store
from ckgen.build import cmake
from ckgen.build.survey import Finding, gfx_name, survey
from ckgen.build.toolchain import find_toolchain
from ckgen.cache.entries import BUILT, Cache, Key, rooms
from ckgen.cli import COMMANDS, main
from ckgen.cli.common.console import shortened
from ckgen.cli.common.inline import divided
from ckgen.cli.common.watching import watch
from ckgen.errors import CkgenError
from ckgen.instance.instance import short_id
from ckgen.library.library import Library
from tests.support.bench_rows import ORIGIN, PLANE, POINT, row
from tests.support.patience import HANG_GUARD
from tests.support.trees import WAVELET, XDL

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """A new folder that `ckgen init` filled, as the current one."""
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    capsys.readouterr()
    return tmp_path


def names(capsys: Capture, *words: str) -> list[str]:
    assert main(["list", "--names", *words]) == 0
    return capsys.readouterr().out.split()


def test_an_id_stands_for_an_instance(folder: Path, capsys: Capture) -> None:
    every = names(capsys)
    one, other = every[0], every[5]
    assert names(capsys, short_id(one)) == [one]
    assert names(capsys, short_id(one)[:6], short_id(other)) == [one, other], "ids are alternatives"
    assert names(capsys, short_id(one), "*generic") == [one, *(name for name in every if name.endswith("generic"))]
    assert names(capsys, f"id={short_id(other)}") == [other]
    assert main(["explain", short_id(one)]) == 0
    assert capsys.readouterr().out.startswith(one + "\n")
    assert main(["generate", short_id(one), "--dry-run"]) == 0
    assert " 1 instances," in capsys.readouterr().out


def test_an_id_that_no_instance_has(folder: Path, capsys: Capture) -> None:
    assert main(["list", "0000dead"]) == 2
    said = capsys.readouterr().err
    assert "no instance has the id `0000dead`" in said and "ckgen list" in said


def shown(columns: int, *words: str, cwd: Path) -> list[str]:
    """The lines that a command prints on a terminal of this width."""
    ours, theirs = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        [sys.executable, "-m", "ckgen", *words], cwd=cwd, env=environment, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:
        pass  # the other end of the terminal is closed: Linux reports end of file this way
    os.close(ours)
    assert process.wait(HANG_GUARD) == 0
    return re.sub(r"\x1b\[[0-9;]*m|\r", "", text.decode()).splitlines()


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_a_list_fits_the_terminal(columns: int, folder: Path, capsys: Capture) -> None:
    every = names(capsys)
    lines = shown(columns, "list", cwd=folder)
    table = [line for line in lines if not line.startswith("ckgen:")]
    assert len(table) == 1 + len(every), "one line per instance"
    assert max(map(len, table)) <= columns
    assert [line.split()[0] for line in table] == ["id", *map(short_id, every)]
    assert ("layout" in table[0].split()) == (columns > 100)


def test_a_name_that_is_cut_can_be_found_by_its_id() -> None:
    cut = shortened(XDL.name, 30)
    assert len(cut) == 30 and cut.split()[0] == XDL.short_id and XDL.name.endswith(cut.split("…")[1])
    assert shortened("short", 30) == "short"
    assert len(shortened("x" * 50, 30)) == 30


def test_waves_and_vectors_have_one_notation(folder: Path, capsys: Capture) -> None:
    spec = folder / "instances.yaml"
    text = spec.read_text()
    before = names(capsys)
    spec.write_text(text.replace("wave_ratio: [4, 4]", "wave_ratio: 4x4"))
    assert names(capsys) == before
    spec.write_text(text.replace("wave_ratio: [4, 4]", "wave_ratio: [4x4, 4x2]"))
    assert any("_w4x2_" in name for name in names(capsys)) and set(before) < set(names(capsys))
    spec.write_text(text.replace("wave_ratio: [4, 4]", "wave_ratio: 4x4\n    vector: 4x4x2"))
    assert main(["list", "family=wavelet", "wave_ratio=4x4", "vector=4x4x2"]) == 0
    header, first, *_ = capsys.readouterr().out.splitlines()
    values = dict(zip(header.split(), first.split(), strict=False))
    assert (values["waves"], values["vector"]) == ("4x4", "4x4x2")
    spec.write_text(text.replace("wave_ratio: [4, 4]", "wave_ratio: 99x4"))
    assert main(["validate"]) == 2
    assert "for example 4x2 or [4, 2]" in capsys.readouterr().err


def test_quiet_and_verbose_and_the_log(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object, on_line: object, **__: object) -> cmake.BuildResult:
        assert callable(on_line)
        on_line("[1/2] compiling")
        on_line("[2/2] linking")
        return cmake.BuildResult(Path("lib.so"), 1.0, "")

    monkeypatch.setattr(cmake, "build", build)
    assert main(["generate"]) == 0
    capsys.readouterr()
    log = folder / "build/generated/host/build.log"
    assert main(["build"]) == 0
    said = capsys.readouterr()
    assert said.out == "lib.so\n"
    assert "ckgen: building generated for host, log: build/generated/host/build.log" in said.err
    assert "linking" not in said.err
    assert log.read_text() == "[1/2] compiling\n[2/2] linking\n"
    assert main(["build", "--verbose"]) == 0
    assert "[1/2] compiling\n[2/2] linking\n" in capsys.readouterr().err
    assert main(["build", "-q"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("lib.so\n", "")
    (folder / "generated/src/stray.cpp").write_text("")
    assert main(["check", "-q"]) == 0
    assert "stray.cpp" in capsys.readouterr().err, "warnings remain"


def test_a_launcher_starts_every_compiler(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, str] = {}

    def build(*_: object, options: dict[str, str], **__: object) -> cmake.BuildResult:
        given.update(options)
        return cmake.BuildResult(Path("lib.so"), 1.0, "")

    monkeypatch.setattr(cmake, "build", build)
    assert main(["generate"]) == 0
    assert main(["build", "--launcher", "env", "--option", "CKGEN_BUILD_EXAMPLES=ON"]) == 0
    assert given["CMAKE_CXX_COMPILER_LAUNCHER"] == given["CMAKE_CUDA_COMPILER_LAUNCHER"] == "env"
    assert given["CKGEN_EXAMPLES_DIR"] == str(ROOT / "examples"), "a tree elsewhere has none beside it"
    assert main(["build", "--launcher", "no-such-program"]) == 2
    assert "no-such-program is not on PATH" in capsys.readouterr().err


def test_filters_and_problems_on_one_command_line() -> None:
    words = ("*wavelet*", "K64 C32 3x3 on 14x14 p1", "dtype=f16")
    assert divided(words) == (("*wavelet*", "dtype=f16"), ("K64 C32 3x3 on 14x14 p1",))


def test_smoke_and_bench_take_a_problem_as_text(stub: Library, tmp_path: Path, capsys: Capture) -> None:
    store = tmp_path / "b.sqlite"
    assert main(["smoke", "--library", stub.path, "K8 C8 1x1 on 5x4", "--split-k", "1"]) == 0
    said = capsys.readouterr().out
    assert "1 problems" in said and "  G1 N1 K8 C8 1x1 on 5x4 s1 p0  " in said
    words = ["bench", "--library", stub.path, "N2 K8 C8 1x1 on 5x4", "dtype=f16", "--samples", "1", "1"]
    assert main([*words, "--split-k", "1", "--no-reference", "--store", str(store)]) == 0
    assert "K8 C8 1x1 on 5x4" in capsys.readouterr().out
    with Store(store) as opened:
        assert {item.problem for item in opened.rows(list(opened.runs()))} == {"G1 N2 K8 C8 1x1 on 5x4 s1 p0"}
    assert main(["bench", "--library", stub.path, "K8 1x1 on 5x4", "--store", str(store)]) == 2
    assert "is not the text of a problem" in capsys.readouterr().err


def stored(path: Path, *times: dict[str, float | None]) -> str:
    """A store with one run per mapping from problem to the time of its instance."""
    known = {"plane": PLANE, "point": POINT}
    with Store(path) as store:
        for run in times:
            number = store.begin(ORIGIN)
            for name, ms in run.items():
                verdict = "ok" if ms is not None else "crashed"
                store.append(row(ms, XDL.name, problem=known[name], run_id=number, verdict=verdict))
    return str(path)


def test_two_runs_are_compared_and_a_slower_one_fails(tmp_path: Path, capsys: Capture) -> None:
    old = stored(tmp_path / "old.sqlite", {"plane": 0.4, "point": 0.2})
    new = stored(tmp_path / "new.sqlite", {"plane": 0.2, "point": 0.22})
    assert main(["bench", "compare", old, new]) == 0
    said = capsys.readouterr().out
    assert "2.000x" in said and "0.909x" in said and "geometric mean of 2: 1.348x" in said
    assert main(["bench", "compare", old, new, "--fail-below", "0.9"]) == 0
    assert main(["bench", "compare", old, f"{new}:1", "--fail-below", "0.97"]) == 1
    assert "below 0.97: point, backward weight, f16: 0.909x" in capsys.readouterr().err
    assert main(["bench", "compare", "1", new, "--store", old, "--fail-below", "0.97", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["failed"] == ["point"] and found["problems"][0]["speed"] == pytest.approx(2.0)


def test_a_problem_that_lost_its_result_fails_a_comparison(tmp_path: Path, capsys: Capture) -> None:
    old = stored(tmp_path / "old.sqlite", {"plane": 0.4, "point": 0.2})
    new = stored(tmp_path / "new.sqlite", {"plane": 0.4, "point": None})
    assert main(["bench", "compare", old, new, "--fail-below", "0.5"]) == 1
    said = capsys.readouterr()
    assert "point, backward weight, f16: no correct result" in said.err and "geometric mean of 1: 1.000x" in said.out
    fewer = stored(tmp_path / "fewer.sqlite", {"plane": 0.4})
    assert main(["bench", "compare", old, fewer, "--fail-below", "0.5"]) == 0
    assert "1 problems are only in" in capsys.readouterr().err
    for wrong in ("3", str(tmp_path / "no.csv"), str(tmp_path / "no.sqlite")):
        assert main(["bench", "compare", old, wrong, "--store", old]) == 2


def test_rows_of_a_file_are_a_run(tmp_path: Path, capsys: Capture) -> None:
    old = stored(tmp_path / "old.sqlite", {"plane": 0.4})
    assert main(["report", "--store", old, "--out", str(tmp_path / "old.csv")]) == 0
    capsys.readouterr()
    assert main(["bench", "compare", str(tmp_path / "old.csv"), old]) == 0
    assert "1.000x" in capsys.readouterr().out


def test_watching_writes_again_after_each_change(tmp_path: Path, capsys: Capture) -> None:
    spec, calls = tmp_path / "s.yaml", []
    spec.write_text("1")

    def edits() -> None:
        """Events between two looks: an edit, nothing, the file is gone, another edit, Ctrl-C."""
        step = len(steps)
        steps.append(step)
        if step == 0:
            spec.write_text("22")
        elif step == 2:
            spec.unlink()
        elif step == 3:
            spec.write_text("333")
        elif step == 4:
            raise KeyboardInterrupt

    def act() -> int:
        calls.append(spec.read_text() if spec.exists() else None)
        if calls[-1] == "22":
            raise CkgenError([])
        return 0

    steps: list[int] = []
    assert watch(spec, act, edits) == 0
    assert calls == ["1", "22", None, "333"]
    assert capsys.readouterr().err.count("waiting for changes") == 4


def test_generate_watch_follows_the_spec(folder: Path) -> None:
    command = [sys.executable, "-u", "-m", "ckgen", "generate", "--watch"]
    with subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert ": 18 instances," in process.stdout.readline()
        spec = folder / "instances.yaml"
        spec.write_text(spec.read_text().replace("dtype: [f16, bf16]", "dtype: [f16]"))
        assert ": 9 instances," in process.stdout.readline()
        process.send_signal(2)
        assert process.wait(HANG_GUARD) in (0, 130)


@pytest.mark.compiles
@pytest.mark.quick
def test_the_doctor_tries_what_can_be_built(capsys: Capture) -> None:
    code = main(["doctor", "--json"])
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    tools = find_toolchain()
    assert (found["hipcc"]["verdict"] == "ok") == (tools.hipcc is not None)
    assert code == (0 if found["library, host"]["verdict"] == "ok" else 1)
    if tools.clang is not None:
        assert "gfx942" in found["machine code, amd"]["found"]


@pytest.mark.compiles
@pytest.mark.quick
def test_the_doctor_names_what_mends(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = find_toolchain(str(tmp_path))
    monkeypatch.setattr("ckgen.build.toolchain._zig", lambda: None)
    bare = type(nothing)(*(None for _ in range(9)))
    found = {one.name: one for one in survey(bare)}
    assert found["hipcc"] == Finding("tool", "hipcc", "missing", "-", "Debian: apt-get install hipcc libamdhip64-dev")
    for name in ("library, host", "library, amd", "library, nvidia", "machine code, amd", "ckgen.torch.enable()"):
        assert found[name].verdict == "missing" and found[name].mend
    assert found["ckgen.torch.enable()"].found == "there is no C++ compiler here"
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\necho 'error: no _Float16' >&2\nexit 1\n")
    broken.chmod(0o755)
    fields = {name: getattr(bare, name) for name in bare.__slots__}
    old = type(bare)(**{**fields, "host_cxx": (str(broken),), "cmake": ("true",), "make": ("true",)})
    (host,) = (one for one in survey(old) if one.name == "library, host")
    assert (host.verdict, host.found) == ("failed", "error: no _Float16") and "g++ 12" in host.mend
    monkeypatch.setattr("ckgen.build.survey.find_toolchain", lambda: old)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "FAIL" in said and "to mend it:" in said


def test_the_kernels_number_of_an_architecture() -> None:
    assert [gfx_name(n) for n in (90010, 90402, 90500, 110001, 120001)] == [
        *("gfx90a", "gfx942", "gfx950", "gfx1101", "gfx1201")
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_has_the_name_of_the_program(shell: str, capsys: Capture) -> None:
    assert main(["completion", shell]) == 0
    assert f"_CKGEN_COMPLETE={shell}_complete" in capsys.readouterr().out


def completed(line: str) -> list[str]:
    environment = {**ENVIRONMENT, "_CKGEN_COMPLETE": "bash_complete", "COMP_WORDS": line}
    environment["COMP_CWORD"] = str(len(line.split(" ")) - 1)
    code = "import sys; from ckgen.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True)
    return [text.partition(",")[2] for text in done.stdout.splitlines()]


def test_a_shell_completes_commands_options_and_values() -> None:
    assert set(completed("ckgen ")) == {name for name in COMMANDS if " " not in name} | {"cache"}
    assert completed("ckgen val") == ["validate"]
    assert completed("ckgen bench --libr") == ["--library"]
    assert completed("ckgen build --platform ") == ["host", "amd", "nvidia"]
    assert completed("ckgen bench comp") == ["compare"]
    assert completed("ckgen cache c") == ["clear"]
    assert "retinanet" in completed("ckgen bench --problems r")
    assert completed("ckgen list --set qui") == ["quick"]


def test_an_entry_of_the_cache_is_filled_once(tmp_path: Path) -> None:
    cache, key = Cache(tmp_path / "cache"), Key("5" * 64, "g++ 12", "host")
    filled: list[Path] = []

    def fill(folder: Path) -> None:
        filled.append(folder)
        (folder / "library.so").write_text("x")

    assert cache.find(key) is None and cache.entries() == []
    path = cache.get(key, fill)
    assert path == cache.get(key, fill) == cache.find(key) and len(filled) == 1
    assert (path / "library.so").read_text() == "x" and filled[0] != path, "made under another name"
    others = [Key("6" * 64, "g++ 12", "host"), Key("5" * 64, "g++ 13", "host"), Key("5" * 64, "g++ 12", "gfx942")]
    others.append(Key("5" * 64, "g++ 12", "host", "0.0.1"))
    assert len({other.name for other in (key, *others)}) == 5
    assert all(cache.find(other) is None for other in others)
    with pytest.raises(ZeroDivisionError):
        cache.get(others[0], lambda folder: print((folder / "part").write_text("x") / 0))  # type: ignore[operator]
    assert cache.find(others[0]) is None and [entry.key for entry in cache.entries()] == [key]
    cache.get(others[0], fill)
    assert [entry.key for entry in cache.entries()] == [others[0], key], "the last used first"


def test_a_killed_run_leaves_no_entry(tmp_path: Path) -> None:
    cache, key = Cache(tmp_path), Key("5", "c", "host")
    part = tmp_path / f".part-{key.name}"
    part.mkdir()
    (part / "half").write_text("")
    (tmp_path / key.name).mkdir()
    path = cache.get(key, lambda folder: None)
    assert [child.name for child in path.iterdir()] == ["entry.json"]


def test_files_that_vanish_while_they_are_counted_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a build that another process runs."""
    key = Key("5", "c", "host")
    Cache(tmp_path / BUILT).get(key, lambda folder: print((folder / "kept").write_text("abc")))
    workshop = tmp_path / "workshop"
    (workshop / "deep").mkdir(parents=True)
    for folder in (workshop / "deep", tmp_path / BUILT / key.name):
        (folder / "gone").symlink_to("nowhere")  # listed, but not there
    monkeypatch.setattr(Path, "is_file", lambda path: True)  # as it was a moment ago
    (workshop / "deep" / "kept").write_text("ab")
    assert [(room.files, room.size) for room in rooms(tmp_path)] == [(1, 2)]
    (entry,) = Cache(tmp_path / BUILT).entries()
    assert entry.size == 3 + (entry.path / "entry.json").stat().st_size


def test_an_error_of_another_file_is_not_called_one_of_the_cache(tmp_path: Path) -> None:
    cache, key = Cache(tmp_path / "cache"), Key("5", "c", "host")
    absent = tmp_path / "absent.so"
    with pytest.raises(CkgenError) as refused:
        cache.get(key, lambda folder: print(absent.read_bytes()))
    (found,) = refused.value.diagnostics
    assert found.message == f"cannot make an entry of the cache: {absent}: No such file or directory" and found.help
    with pytest.raises(CkgenError, match=f"cannot write the cache {cache.folder}: No such file"):
        cache.get(key, lambda folder: print((folder / "none" / "part").write_text("")))
    assert cache.find(key) is None


def test_the_cache_is_listed_and_cleared(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["cache", "list"]) == 0
    assert "0 built entries" in capsys.readouterr().err
    cache, choices = Cache(tmp_path / "ckgen" / BUILT), tmp_path / "ckgen" / "choices"
    choices.mkdir(parents=True)
    (choices / "a.json").write_text("{}")
    keys = [Key("5" * 64, "g++ 12", "host"), Key("5" * 64, "hipcc 6", "gfx942"), Key("5", "c", "host", "0.0.1")]
    for key in keys:
        cache.get(key, lambda folder: None)
    assert main(["cache", "list"]) == 0
    said = capsys.readouterr()
    assert "gfx942" in said.out and "choices: 1 files" in said.out and "3 built entries" in said.err
    assert main(["cache", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["entries"]) == 3 and [room["files"] for room in found["folders"]] == [1]
    assert main(["cache", "clear", "--old"]) == 0
    assert {entry.key for entry in cache.entries()} == set(keys[:2]) and choices.exists()
    assert main(["cache", "clear", keys[1].name[:8]]) == 0
    assert [entry.key for entry in cache.entries()] == [keys[0]] and choices.exists()
    assert main(["cache", "clear", "nothing"]) == 2
    assert main(["cache", "clear", "choices"]) == 0
    assert [entry.key for entry in cache.entries()] == [keys[0]] and not choices.exists()
    assert main(["cache", "clear"]) == 0 and cache.entries() == []


def test_the_id_of_an_instance_never_changes() -> None:
    assert (XDL.short_id, WAVELET.short_id) == (short_id(XDL.name), short_id(WAVELET.name))
    assert short_id("grouped_conv2d") == "edd97d07"


def test_list_counts_by_keys(capsys: Capture) -> None:
    """Counts of combinations, as a table and as data; several values of a key are one combination."""
    chosen = ["list", "--spec", str(ROOT / "instances.yaml"), "family=wavelet"]
    assert main([*chosen, "--set", "full", "--count-by", "dtype,ndim", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0].keys() == {"dtype", "ndim", "instances"}
    assert main([*chosen, "--set", "full", "--names"]) == 0
    assert sum(row["instances"] for row in rows) == len(capsys.readouterr().out.split())
    assert len({(row["dtype"], row["ndim"]) for row in rows}) == len(rows) > 2
    assert main([*chosen, "--count-by", "set"]) == 0
    assert "default,ci" in capsys.readouterr().out
    assert main([*chosen, "--count-by", "famly"]) == 2
    assert "did you mean `family`" in capsys.readouterr().err

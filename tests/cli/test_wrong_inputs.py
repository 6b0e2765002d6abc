"""Wrong words and files: each ends with exit code 2 and a sentence that says what is wrong, and before a build."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckgen.cache.entries import BUILT, Cache, Key
from ckgen.cli import main
from ckgen.cli.common.files import write_new

Capture = pytest.CaptureFixture[str]
PROBLEM = "K64 C32 3x3 on 14x14 p1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """A new project, and files that are wrong each in its own way."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["init"]) == 0
    spec = Path("instances.yaml").read_text(encoding="utf-8")
    for name, text in {
        "twice.yaml": spec + "version: 1\n",
        "quoted.yaml": spec.replace("version: 1", 'version: "1"', 1),
        "large.yaml": spec.replace("block_size: 256", "block_size: 99999999999999999999"),
        "key.yaml": spec.replace("tile:", "tiel:"),
        "tabs.yaml": "version: 1\ngroups:\n\t- name: x\n",
        "loop.yaml": "a: &a [*a]\n",
        "deep.yaml": "a: " + "[" * 3000 + "]" * 3000 + "\n",
        "tag.yaml": "version: 1\ndefaults: !!python/object:os.system {}\n",
        "empty.yaml": "",
        "list.yaml": "[1, 2]\n",
        "no_problems.yaml": "channels: per_group\nproblems: []\n",
        "library.so": "not an object file, but long enough for its header to be read, which is 64 bytes\n",
        "results.sqlite": "not a database\n",
    }.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("bytes.yaml").write_bytes(b"version: \xff\xfe\n")
    capsys.readouterr()
    return tmp_path


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "a key twice": (("validate", "--spec", "twice.yaml"), "key `version` is given twice"),
    "a number in quotes": (("validate", "--spec", "quoted.yaml"), "`version` is the text '1', it must be 1"),
    "a huge number": (("validate", "--spec", "large.yaml"), "is too large a number"),
    "an unknown key": (("validate", "--spec", "key.yaml"), "did you mean `tile`?"),
    "tabs": (("validate", "--spec", "tabs.yaml"), "YAML does not allow tabs"),
    "a loop": (("validate", "--spec", "loop.yaml"), "*a contains itself"),
    "deep nesting": (("validate", "--spec", "deep.yaml"), "nested more than 32 deep"),
    "a Python object": (("validate", "--spec", "tag.yaml"), "has no meaning here"),
    "an empty spec": (("validate", "--spec", "empty.yaml"), "start with `version: 1` and `groups:`"),
    "a list": (("validate", "--spec", "list.yaml"), "the file is a list"),
    "not UTF-8": (("validate", "--spec", "bytes.yaml"), "is not UTF-8"),
    "a folder": (("validate", "--spec", "."), "it is a folder"),
    "no file": (("validate", "--spec", "gone.yaml"), "cannot read gone.yaml"),
    "a name too long": (("validate", "--spec", "a" * 5000), "a name of 5000 characters"),
    "another format": (("validate", "--format", "xml"), "'xml' is not one of"),
    "no such command": (("valdate",), "Did you mean 'validate'?"),
    "an unknown id": (("list", "ffff"), "no instance has the id `ffff`"),
    "too short an id": (("list", "1"), "of an id, write at least 4 digits"),
    "a short id to explain": (("explain", "b"), "of an id, write at least 4 digits"),
    "a part of a name": (("list", "wavelet"), "for a part of a name, write `*wavelet*`"),
    "a part of a name to explain": (("explain", "wavelet"), "for a part of a name, write `*wavelet*`"),
    "several instances": (("explain", "family=xdl"), "add tests until one is left, or give its id"),
    "an unknown value": (("list", "dtype=f17"), "did you mean `f16`?"),
    "no value": (("list", "tile="), "a value is missing"),
    "an unknown set": (("generate", "--set", "qick"), "no instance has set=qick"),
    "a tree that is a file": (("generate", "--out", "instances.yaml"), "is not a folder"),
    "a namespace": (("generate", "--namespace", "1x"), "cannot be the name of a namespace"),
    "an architecture": (("select", PROBLEM, "--arch", "gfx999"), "there is no architecture `gfx999`"),
    "a data type": (("select", PROBLEM, "--dtype", "fp16"), "did you mean `f16`?"),
    "half a problem": (("select", "K64 C32 on 14x14"), "is not the text of a problem"),
    "no channels": (("select", "K0 C32 3x3 on 14x14"), "the least possible value is 1"),
    "too many channels": (("select", "K99999999999 C32 3x3 on 14x14"), "more than a 32-bit integer holds"),
    "a filter larger than the image": (("select", "K64 C32 5x5 on 3x3"), "the dilated filter spans 5 positions"),
    "four dimensions": (("select", "K64 C32 3x3x3x3 on 9x9x9x9"), "1, 2 and 3 are possible"),
    "host with an architecture": (("build", "--arch", "gfx90a"), "leave --arch out"),
    "an architecture of another platform": (
        ("build", "--platform", "amd", "--arch", "sm_90a"),
        "sm_90a is not an architecture of platform amd",
    ),
    "half an option": (("build", "--option", "FOO"), "'FOO' is not NAME=VALUE"),
    "no such launcher": (("build", "--launcher", "gone"), "gone is not on PATH"),
    "a shard beyond the last": (("build", "--shard", "3/2"), "I from 1 to N"),
    "a cluster without a scheme": (("build", "--cluster", "127.0.0.1:1"), "as tcp://host:8786"),
    "no such problems": (("smoke", "--problems", "gone"), "neither a problem set nor a file"),
    "an empty file of problems": (("smoke", "--problems", "empty.yaml"), "start with `channels: per_group`"),
    "no problem in the file": (("smoke", "--problems", "no_problems.yaml"), "`problems` is empty"),
    "a factor of 0": (("smoke", "--split-k", "0"), "or at least 1"),
    "a factor of 0 to measure": (("bench", "--split-k", "0"), "or at least 1"),
    "a choice of no problems": (("bench", "--only", "x=y"), "chooses no problems"),
    "half a problem to measure": (("bench", "K64 C32 on 14x14"), "is not the text of a problem"),
    "a library that is none": (("smoke", "--library", "library.so"), "cannot load library.so"),
    "results that are none": (("bench", "compare", "results.sqlite", "results.sqlite"), "file is not a database"),
    "no results": (("report", "--store", "gone.sqlite"), "there are no results"),
    "a base that is none": (("diff", "gone"), "neither a generated tree nor a revision"),
    "no entry of the cache": (("cache", "clear", "abc"), "the cache has no entry 'abc'"),
    "an empty entry of the cache": (("cache", "clear", ""), "the cache has no entry ''"),
    "a folder to write a file to": (("schema", "--out", "."), "'.' is a directory"),
    "the root to write a file to": (("schema", "--out", "/"), "'/' is a directory"),
    "no name of a file": (("schema", "--out", ""), "the name is empty"),
    "a spec in no folder": (("schema", "--out", "gone/schema.json"), "cannot write gone/schema.json: No such file"),
    "a spec below a file": (("schema", "--out", "empty.yaml/a"), "cannot write empty.yaml/a: Not a directory"),
    "a folder as the spec to import": (("import", "ck", "a.conf", "--out", ".", "--force"), "'.' is a directory"),
    "a folder of results": (("bench", "--store", "."), "'.' is a directory"),
    "no name of results": (("bench", "--store", ""), "the name is empty"),
    **{
        f"{option} {number}": (("bench", option, number), sentence)
        for option in ("--job-seconds", "--sample-ms")
        for number, sentence in {
            "nan": "nan: write a number",
            "inf": "is not in the range 0<x<=",
            "1e300": "is not in the range 0<x<=",
            "0": "is not in the range 0<x<=",
            "-1": "is not in the range 0<x<=",
        }.items()
    },
    "a speed of NaN": (("bench", "compare", "1", "2", "--fail-below", "nan"), "nan: write a number"),
    "an endless speed": (("bench", "compare", "1", "2", "--fail-below", "inf"), "is not in the range 0<x<="),
    "no tables to check": (("tune", "--check", "--tables", "gone"), "there is no folder gone"),
    "no classes to check": (("tune", "--check", "--classes", "gone"), "there is no folder gone with files"),
    "no tables of code to check": (("isa", "--check", "--tables", "gone"), "there is no folder gone"),
    "tables to check and write": (("isa", "--check", "--write"), "give one of them"),
    "a command of two words": (("bench", "compar", "1", "2"), "Did you mean 'bench compare'?"),
    "no file of rows": (("import", "ck", "gone.conf"), "name a file of CK's rows"),
    "no name of a spec": (("list", "--spec", ""), "the name is empty"),
    "two tests in one word": (("list", "dtype=f16 family=xdl"), "write each test as its own word"),
    "no key to count by": (("list", "--count-by", ""), "no key ``"),
    "names as JSON": (("list", "--names", "--json"), "leave --json and --count-by out"),
    "two formats": (("validate", "--json", "--format", "text"), "leave --json or --format text out"),
    "a sample of nothing": (("report", "--sample", "3"), "--sample is for --predicted"),
    "the first of two sets of problems": (
        ("select", "--problems", "gone", "--problems", "tiny"),
        "neither a problem set nor a file",
    ),
    "no stride": (("select", "K64 C32 3x3 on 14x14 s0"), "strides is 0; the least possible value is 1"),
    "a huge seed": (("smoke", "--seed", "9" * 23), "is not in the range 0<=x<=18446744073709551615"),
    "a huge factor": (("smoke", "--split-k", "65537"), "is not in the range -1<=x<=65536"),
    "a huge factor to measure": (("bench", "--split-k", "1,65537"), "is not in the range -1<=x<=65536"),
    "a tree that is gone": (("bench", "--library", "library.so", "--tree", "gone"), "there is no folder gone"),
    "a tree without a library": (("bench", "--tree", "generated"), "name one, or leave --tree out"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_gets_a_sentence(name: str, folder: Path, capsys: Capture) -> None:
    words, sentence = WRONG[name]
    assert main(list(words)) == 2
    said = capsys.readouterr()
    assert sentence in " ".join(said.err.split()), said.err
    assert said.out == "" and "Traceback" not in said.err
    assert not Path("build").exists(), "nothing was built before"


@pytest.mark.parametrize("change", [lambda text: b"\xef\xbb\xbf" + text, lambda text: text.replace(b"\n", b"\r\n")])
def test_files_of_other_editors_are_read(change: object, folder: Path) -> None:
    """A byte order mark, and lines that end with CR LF."""
    assert callable(change)
    Path("other.yaml").write_bytes(change(Path("instances.yaml").read_bytes()))
    assert main(["validate", "--spec", "other.yaml"]) == 0


def test_broken_entries_of_the_cache(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are reported, never used, and removed; whole ones stay."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    built = tmp_path / "ckgen" / BUILT
    whole = Cache(built).get(Key("5" * 64, "g++ 12", "host"), lambda folder: None)
    for name, record in {"zhalf": "{", "zother": '{"a": 1}', "zlist": "[]"}.items():
        (built / name).mkdir()
        (built / name / "entry.json").write_text(record, encoding="utf-8")
    (built / "znone").mkdir()
    assert main(["cache", "list"]) == 0
    said = capsys.readouterr().err
    assert said.count("is broken") == 4 and "1 built entries" in said
    assert main(["cache", "clear", "z"]) == 0
    assert "removed 4 of 5" in capsys.readouterr().out
    assert {path.name for path in built.iterdir()} - {"locks"} == {whole.name}


def test_a_folder_that_nobody_may_write(folder: Path, capsys: Capture) -> None:
    assert main(["generate", "--out", "/proc/tree"]) == 2
    assert "cannot write /proc/tree" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["smoke", "bench"])
def test_a_wrong_filter_is_found_before_a_build(command: str, folder: Path, capsys: Capture) -> None:
    assert main(["generate"]) == 0
    for words in ((), ("--set", "ci")):
        assert main([command, "dtype=f17", *words]) == 2
        said = capsys.readouterr().err
        assert "did you mean `f16`?" in said and "building" not in said


def test_a_word_of_the_cache_that_removes_nothing(folder: Path, capsys: Capture) -> None:
    choices = folder / "cache" / "ckgen" / "choices"
    choices.mkdir(parents=True)
    assert main(["cache", "clear", "choi"]) == 2
    assert "did you mean `choices`?" in capsys.readouterr().err
    assert choices.is_dir() and main(["cache", "clear", "choices"]) == 0


def test_a_pipe_is_written_as_it_is(folder: Path) -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert write_new(Path("pipe"), "text", replace=True)
    assert os.read(reader, 9) == b"text" and Path("pipe").is_fifo()
    os.close(reader)


def test_links_and_modes_of_files_remain(folder: Path) -> None:
    Path("shared.json").write_text("", encoding="utf-8")
    Path("shared.json").chmod(0o640)
    Path("link.json").symlink_to("shared.json")
    assert main(["schema", "--out", "link.json"]) == 0
    assert Path("link.json").is_symlink()
    assert Path("shared.json").read_text(encoding="utf-8").startswith("{")
    assert Path("shared.json").stat().st_mode & 0o777 == 0o640

"""Build and run the backward-convolution programs of a checkout of Composable Kernel (CK) against a library of ckgen,
without a change to their sources or CMake files, and print what happened as a table.

CK_SRC=/path/to/composable_kernel python scripts/ck_programs.py [--amd gfx90a] [--write]

The programs are CK's clients, examples, GTests and profiler. Nothing is downloaded. The host platform executes kernels
much more slowly than a GPU, so clients and tests run as copies in which the constants of their problems are smaller;
tests run case by case, each up to --limit seconds. Results stay in rows.json in the folder --work, where the next run
finds them. GTest is taken from --gtest, a folder with include/ and lib/.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent))
from ck_small_copies import SMALL, SMALL_INPUT, SMALL_TEST, small_copy

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "ck_programs.md"
REVISION = "8e22e1ae31bbf7086f69d8724e027676791d351a"
CLIENTS = (
    "10_grouped_convnd_bwd_data",
    "11_grouped_conv_bwd_weight",
    "15_convnd_bwd_data",
    "24_grouped_conv_activation",
)
EXAMPLES = (
    *("17_convnd_bwd_data", "20_grouped_conv_bwd_weight", "38_grouped_conv_bwd_data_multiple_d"),
    "62_convnd_activ/binary",
)
TESTS = ("grouped_convnd_bwd_weight", "grouped_convnd_bwd_data", "convnd_bwd_data")
PROFILED = ("grouped_conv_bwd_weight", "grouped_conv_bwd_data", "conv_bwd_data")
RDNA = "gfx1100"  # programs for WMMA ask for such a device
PHONY = ("example_grouped_conv_bwd_data", "example_grouped_conv_bwd_weight")  # groups of examples
_PROFILER_ARGUMENTS = {
    "grouped_conv_bwd_weight": "1 2 1 1 0 0 2 2 2 16 16 3 3 6 6 1 1 1 1 1 1 1 1 2",
    "grouped_conv_bwd_data": "1 1 1 1 0 0 2 2 2 16 16 3 3 6 6 1 1 1 1 1 1 1 1",
    "conv_bwd_data": "1 1 1 1 0 0 2 1 2 16 16 3 3 6 6 1 1 1 1 1 1 1 1",
}
PROJECT = Path(__file__).with_suffix("")  # a folder with CMakeLists.txt


@dataclass
class Row:
    """One program: the words of its cells, empty where nothing was tried."""

    program: str
    host: str = ""
    run: str = ""
    amd: str = ""


@dataclass
class Work:
    """The folders and options of a run."""

    ck: Path
    folder: Path
    filters: tuple[str, ...]
    gtest: Path | None
    limit: int
    programs: tuple[str, ...] = ()
    rows: dict[str, Row] = field(default_factory=dict)

    def load(self) -> None:
        """Read the rows of an earlier run in this folder."""
        file = self.folder / "rows.json"
        if file.exists():
            self.rows = {row["program"]: Row(**row) for row in json.loads(file.read_text(encoding="utf-8"))}

    def save(self) -> None:
        text = json.dumps([asdict(row) for row in self.rows.values()], indent=1)
        (self.folder / "rows.json").write_text(text, encoding="utf-8")

    def wanted(self, program: str) -> bool:
        return not self.programs or any(fnmatch(program, pattern) for pattern in self.programs)

    def row(self, program: str) -> Row:
        return self.rows.setdefault(program, Row(program))


def command(*words: str | Path, amd: bool = False, limit: int | None = None, device: str = "") -> tuple[int, str]:
    """Exit code and output of a command; 124 if it ran past the limit. `device`: the architecture that a program on
    the host takes for its own, gfx90a if empty."""
    environment = os.environ | ({"HIP_PLATFORM": "amd"} if amd else {}) | {"PYTHONPATH": str(ROOT)}
    environment |= {"CKGEN_HOST_DEVICE_NAME": device} if device else {}
    try:
        done = subprocess.run(
            [*map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            errors="replace",
            text=True,
            env=environment,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, ""
    return done.returncode, done.stdout


def need(*words: str | Path, amd: bool = False) -> None:
    """Run a command that must succeed."""
    code, output = command(*words, amd=amd)
    if code:
        sys.exit(f"{' '.join(map(str, words))}\n{output}")


def library(work: Work, arch: str) -> Path:
    """Generate, build and install the library, for the host if `arch` is empty; return the prefix."""
    tree, name = work.folder / "tree", arch or "host"
    need(sys.executable, "-m", "ckgen", "generate", *work.filters, "--compat", "ck", "--out", tree)
    options = ["-DCMAKE_CXX_COMPILER=hipcc", f"-DGPU_TARGETS={arch}"] if arch else []
    prefix = work.folder / f"prefix-{name}"
    need("cmake", "-S", tree, "-B", work.folder / f"library-{name}", "-G", "Ninja", *options, amd=bool(arch))
    need("cmake", "--build", work.folder / f"library-{name}", amd=bool(arch))
    need("cmake", "--install", work.folder / f"library-{name}", "--prefix", prefix, amd=bool(arch))
    return prefix


def built(work: Work, prefix: Path, arch: str, source: Path, small: bool = False) -> dict[str, Path | None]:
    """Build every program for backward convolutions; the executables by name, None for one that did not build."""
    folder = work.folder / (f"programs-{arch or 'host'}" + ("-small" if small else ""))
    options = ["-DCMAKE_CXX_COMPILER=hipcc", f"-DCMAKE_CXX_FLAGS=--offload-arch={arch}"] if arch else []
    if work.gtest is not None:
        options.append(f"-DGTEST={work.gtest}")
    options += [f"-DCK_SRC={source}", f"-DCMAKE_PREFIX_PATH={prefix}", "-DGPU_TARGETS=gfx90a;gfx942"]
    lists = {"CLIENTS": CLIENTS, "EXAMPLES": EXAMPLES, "PROFILED": PROFILED, "TESTS": TESTS}
    options += [f"-D{name}={';'.join(folders)}" for name, folders in lists.items()]
    options += ["-DCMAKE_BUILD_TYPE=Release", f"-DSMALL={'ON' if small else 'OFF'}"]
    need("cmake", "-S", PROJECT, "-B", folder, "-G", "Ninja", *options, amd=bool(arch))
    known = command("ninja", "-C", folder, "-t", "targets", "all")[1]
    targets = sorted(set(re.findall(r"^((?:client|example|test)_\w*bwd_\w+|ckProfiler):", known, re.MULTILINE)))
    targets = [target for target in targets if target not in PHONY and work.wanted(target)]
    command("ninja", "-C", folder, "-k", "0", *targets, amd=bool(arch))
    found = {path.name: path for path in folder.rglob("*") if path.is_file() and os.access(path, os.X_OK)}
    return {target: found.get(target) for target in targets}


def run_example(work: Work, program: Path) -> str:
    """Run with verification and a small problem."""
    # The grouped ones read G from the place of the number of dimensions, and want one number more.
    sizes, timed = "2 2 16 16 3 3 6 6 1 1 1 1 1 1 1 1 0", 1
    if "weight_wmma" in program.name:  # 3D only
        sizes = "3 2 16 16 3 3 3 4 4 4 1 1 1 1 1 1 1 1 1 1 1 1 0"
    elif "residual" in program.name:  # 3D only; each launch adds to the result, so there is one
        sizes, timed = "3 2 2 16 16 3 3 3 5 5 5 2 2 2 1 1 1 1 1 1 1 1 1", 0
    elif "convnd" in program.name:
        sizes = "2 1 2 16 16 3 3 6 6 1 1 1 1 1 1 1 1"
    device = RDNA if "wmma" in program.name else ""
    code, output = command(program, *f"1 1 {timed} {sizes}".split(), limit=work.limit, device=device)
    refused = "wrong!" in output or "Not support" in output  # the exit code is 0 even so
    return f"exit {code}" + (", problem refused" if refused else "")


def run_client(work: Work, program: Path) -> str:
    code, output = command(program, limit=work.limit)
    found = re.search(r"found (\d+) instances", output)
    return f"exit {code}" + (", no instance" if found and found[1] == "0" else "")


def run_test(work: Work, program: Path) -> str:
    """Run a GTest case by case. A case without one timed kernel passes although nothing ran, so it counts apart. Such a
    case is tried once more as on RDNA, the only GPUs for which CK's tests have int8."""
    suites = re.split(r"\n(?=\S)", command(program, "--gtest_list_tests")[1])
    names = [suite.split()[0] + case.split()[0] for suite in suites for case in suite.splitlines()[1:]]
    counts: dict[str, int] = {}
    for name in names:
        for device in (RDNA,) if "wmma" in program.name else ("", RDNA):
            code, output = command(program, f"--gtest_filter={name}", limit=work.limit, device=device)
            ran = "Perf:" in output or "interface" in program.name
            if code or ran:
                break
        word = "failed" if code else "passed" if ran else "without an instance"
        word = f"longer than {work.limit} s" if code == 124 else word
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def run_profiler(work: Work, program: Path) -> str:
    words = []
    for name in PROFILED:
        code, output = command(program, name, *_PROFILER_ARGUMENTS[name].split(), limit=work.limit)
        good = code == 0 and "Perf:" in output and "Fail info" not in output
        words.append(f"{name} {'exit 0' if good else f'exit {code}, wrong or no result'}")
    return ", ".join(words)


RUNS = {"client": run_client, "test": run_test, "example": run_example, "ckProfiler": run_profiler}


def runs(work: Work, prefix: Path, programs: Mapping[str, Path | None]) -> Iterator[None]:
    """Run the programs on the host, one per step; clients and tests as copies with small problems."""
    folders = [f"client_example/{name}" for name in CLIENTS] + [f"test/{name}" for name in TESTS]
    small = small_copy(work.ck, work.folder / "small", (*folders, "profiler/include"))
    for name, path in {**programs, **built(work, prefix, "", small, small=True)}.items():
        if path and not work.row(name).run:
            work.row(name).run = RUNS[name.partition("_")[0]](work, path)
            yield


def page(work: Work, arch: str) -> str:
    """The Markdown page with the table."""
    chosen = f"`{' '.join(work.filters)}`" if work.filters else "set `default`"
    lines = [
        "<!-- Written by scripts/ck_programs.py. Do not edit. -->",
        "# CK's own programs on ckgen",
        "",
        "Programs for backward convolutions of [ROCm/composable_kernel]"
        f"(https://github.com/ROCm/composable_kernel/tree/{REVISION}), revision {REVISION[:9]} (October 2024),",
        "compiled without a change to their sources and CMake files against a library of `ckgen generate --compat ck`",
        f'({chosen}). "run" is on the host platform: a client as a copy with smaller constants '
        f"({', '.join(f'{name} {limit}' for name, limit in SMALL.items())} at most),",
        "a test as a copy with smaller problems"
        f" ({', '.join(f'{name} {limit}' for name, limit in SMALL_TEST.items())}, input {SMALL_INPUT} at most),",
        "everything else as it is. GTests run case by case; a case in which no kernel ran is counted apart. Programs",
        f"for WMMA, and cases of int8 that CK's tests have for RDNA alone, run as on a {RDNA}.",
        "`CK_SRC=... python scripts/ck_programs.py --write` writes this page.",
        "",
        f"| program | host: builds | host: run | {arch or 'AMD'}: compiles and links |",
        "| --- | --- | --- | --- |",
    ]
    rows = sorted(work.rows.values(), key=lambda row: row.program)
    lines += [f"| {row.program} | {row.host} | {row.run} | {row.amd} |" for row in rows]
    return "\n".join(lines) + "\n"


@click.command()
@click.argument("filters", nargs=-1)
@click.option("--work", "folder", type=click.Path(path_type=Path), default=ROOT / "build" / "ck_programs")
@click.option("--amd", "arch", default="", help="Also compile and link for an AMD architecture, as in gfx90a.")
@click.option("--gtest", type=click.Path(exists=True, path_type=Path), help="Folder with GTest's include/ and lib/.")
@click.option("--program", "programs", multiple=True, help="Only programs whose name matches, as in 'client_*'.")
@click.option("--limit", default=300, show_default=True, help="Seconds for one run.")
@click.option("--write", is_flag=True, help="Write docs/ck_programs.md.")
def main(
    filters: Sequence[str],
    folder: Path,
    arch: str,
    gtest: Path | None,
    programs: Sequence[str],
    limit: int,
    write: bool,
) -> None:
    """Build and run CK's programs from CK_SRC against the instances that FILTERS choose."""
    ck = os.environ.get("CK_SRC")
    if not ck or not (Path(ck) / "client_example").is_dir():
        raise click.UsageError("set CK_SRC to a checkout of composable_kernel")
    work = Work(Path(ck).resolve(), folder.resolve(), tuple(filters), gtest and gtest.resolve(), limit, tuple(programs))
    work.load()
    prefix = library(work, "")
    made = built(work, prefix, "", work.ck)
    for name, path in made.items():
        work.row(name).host = "yes" if path else "no"
    if arch:
        for name, path in built(work, library(work, arch), arch, work.ck).items():
            work.row(name).amd = "yes" if path else "no"
    for _ in runs(work, prefix, made):
        work.save()
    work.save()
    text = page(work, arch)
    click.echo(text)
    if write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

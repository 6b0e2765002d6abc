"""Measure compiler runs, fit the table of `ckgen build --plan` to them, and say how well it forecasts others.

    python bench/compile_cost.py measure --platform amd --arch gfx90a    # 5 to 15 minutes per platform; appends rows
    python bench/compile_cost.py fit [--check]                           # rows -> ckgen/build/compile_cost.csv, errors

Two disjoint random samples of set `full`, with an equal share of each operation, family and dimensionality, are
compiled one compiler at a time: one in units of 3 instances, for the fit, the other in units of 8, as a build has them,
for the comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ckgen.build.compile_cost import OTHER, TABLE, UNIT, KindCost, forecast, kind_of  # noqa: E402
from ckgen.build.jobs import read_jobs  # noqa: E402
from ckgen.instance.instance import parse  # noqa: E402

ROWS = ROOT / "bench" / "results" / "compile-cost" / "rows.jsonl"
SAMPLES = {"fit": (slice(0, 4), 3), "held": (slice(4, 7), 8)}  # of each group of instances; instances per unit
HOST_ONLY = "host-only"  # any instance, compiled without a target architecture
_SHORTEST = 0.3  # seconds; the noise of shorter runs would weigh too much
_SWEEPS = 5000

Row = dict[str, Any]


def measure(platform: str, arch: str, seed: int) -> list[Row]:
    """Compile both samples. Returns a row per compiler run: sample, platform, targets, sources, seconds and MiB."""
    words = [sys.executable, "-m", "ckgen", "list", "--set", "full", "--names"]
    names = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    groups: dict[tuple[object, ...], list[str]] = {}
    for name in names:
        instance = parse(name)
        groups.setdefault((instance.operation, instance.family, instance.ndim), []).append(name)
    generator = random.Random(seed)
    for own in groups.values():
        generator.shuffle(own)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="ckgen-cost-") as folder:
        for sample, (part, per_unit) in SAMPLES.items():
            chosen = [name for _, own in sorted(groups.items()) for name in own[part]]
            tree = Path(folder, sample)
            words = [sys.executable, "-m", "ckgen", "generate", "--set", "full", *chosen, "--out", str(tree)]
            subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            found = compile_tree(tree, Path(folder, f"{sample}-build"), platform, arch, per_unit)
            rows += [{"sample": sample, "platform": platform, **row} for row in found]
    return rows


def compile_tree(tree: Path, build: Path, platform: str, arch: str, per_unit: int) -> Iterable[Row]:
    """Build a tree with one compiler at a time and yield what launcher.py recorded."""
    log = build.with_suffix(".jsonl")
    launcher = ";".join([sys.executable, str(ROOT / "bench" / "launcher.py"), str(log)])
    words = ["cmake", "-S", str(tree), "-B", str(build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    words += [f"-DCKGEN_PLATFORM={platform}", f"-DCKGEN_INSTANCES_PER_FILE={per_unit}"]
    words += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    words += [f"-DCMAKE_{language}_COMPILER_LAUNCHER={launcher}" for language in ("CXX", "CUDA")]
    words += [f"-DGPU_TARGETS={arch}"] if platform != "host" else []
    words += ["-DCMAKE_CXX_COMPILER=hipcc"] if platform == "amd" else []
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(build), "--parallel", "1"], check=True, stdout=subprocess.DEVNULL)
    runs = {run["output"]: run for run in map(json.loads, log.read_text(encoding="utf-8").splitlines())}
    for job in read_jobs(tree, build, platform):
        run = runs[job.output]
        mebibytes = round(run["peak_kib"] / 1024)
        yield {"targets": job.targets, "sources": job.sources, "seconds": run["cpu_s"], "mebibytes": mebibytes}


def parts_of(row: Row) -> dict[str, float]:
    """The number of each kind in a compiler run; the kinds are the unknowns of the fit."""
    device = bool(row["targets"]) or row["platform"] == "host"
    found: dict[str, float] = {UNIT if device else f"{UNIT} {HOST_ONLY}": 1.0}
    for source in row["sources"]:
        kind = kind_of(source)
        kind = kind if device or "/" not in kind else HOST_ONLY
        found[kind] = found.get(kind, 0.0) + 1
    return found


def is_fixed(row: Row) -> bool:
    """True for a source of every library, which has its own row in the table."""
    return len(row["sources"]) == 1 and kind_of(row["sources"][0]) == row["sources"][0]


def least_squares(rows: Sequence[Row]) -> dict[str, float]:
    """Seconds per kind, none negative, with the least sum of squared relative errors."""
    kinds = sorted({kind for row in rows for kind in parts_of(row)})
    seconds = np.array([row["seconds"] for row in rows])
    weights = 1 / np.maximum(seconds, _SHORTEST)
    matrix = np.array([[parts_of(row).get(kind, 0.0) for kind in kinds] for row in rows]) * weights[:, None]
    normal, right, found = matrix.T @ matrix, matrix.T @ (seconds * weights), np.zeros(len(kinds))
    for _ in range(_SWEEPS):
        for at in range(len(kinds)):
            found[at] = max(0.0, found[at] + (right[at] - normal[at] @ found) / normal[at, at])
    return dict(zip(kinds, found.tolist(), strict=True))


def fit(rows: Sequence[Row], platform: str) -> dict[str, KindCost]:
    """The table of one platform."""
    units = [row for row in rows if not is_fixed(row) and row["sample"] == "fit"]
    found = least_squares(units)
    host_unit, host_source = found.pop(f"{UNIT} {HOST_ONLY}", 0.0), found.pop(HOST_ONLY, 0.0)
    table: dict[str, KindCost] = {}
    for kind, seconds in found.items():
        own = [row["mebibytes"] for row in units if kind in parts_of(row)]
        host = {UNIT: host_unit, "factory": seconds}.get(kind, host_source)
        host = seconds if platform == "host" else min(host, seconds)
        table[kind] = KindCost(host, seconds - host, 0 if kind == UNIT else max(own))
    for source in sorted({row["sources"][0] for row in rows if is_fixed(row)}):
        runs = [row for row in rows if row["sources"] == [source]]
        seconds = max(0.0, float(np.mean([run["seconds"] for run in runs])) - table[UNIT].host_seconds)
        device = any(run["targets"] for run in runs)
        seconds = max(0.0, seconds - table[UNIT].target_seconds) if device else seconds
        most = max(run["mebibytes"] for run in runs)
        table[source] = KindCost(0.0, seconds, most) if device else KindCost(seconds, 0.0, most)
    known = [cost for kind, cost in table.items() if kind != UNIT]
    host_mean, target_mean = (
        float(np.mean([getattr(c, n) for c in known])) for n in ("host_seconds", "target_seconds")
    )
    table[OTHER] = KindCost(host_mean, target_mean, max(cost.mebibytes for cost in known))
    return {
        kind: KindCost(round(c.host_seconds, 3), round(c.target_seconds, 3), c.mebibytes) for kind, c in table.items()
    }


def errors(rows: Sequence[Row], table: Mapping[str, KindCost]) -> dict[str, float]:
    """Relative errors of the forecasts of units of instances that the fit did not see, and of their memory."""
    held = [row for row in rows if row["sample"] == "held" and not is_fixed(row)]
    costs = [forecast(dict(table), row["sources"], row["targets"]) for row in held]
    seconds = np.array([row["seconds"] for row in held])
    relative = np.abs(np.array([cost.seconds for cost in costs]) / seconds - 1)
    memory = np.array([cost.mebibytes / row["mebibytes"] for cost, row in zip(costs, held, strict=True)])
    return {
        "units": len(held),
        "median": float(np.median(relative)),
        "p90": float(np.quantile(relative, 0.9)),
        "worst": float(relative.max()),
        "total": sum(cost.seconds for cost in costs) / float(seconds.sum()) - 1,
        "memory_least": float(memory.min()),
        "memory_most": float(memory.max()),
    }


def load_rows() -> list[Row]:
    """The committed rows."""
    return [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]


def table_text(tables: Mapping[str, Mapping[str, KindCost]]) -> str:
    """The CSV file."""
    lines = ["platform,kind,host_seconds,target_seconds,mebibytes"]
    for platform, table in tables.items():
        for kind, cost in sorted(table.items()):
            lines.append(f"{platform},{kind},{cost.host_seconds:g},{cost.target_seconds:g},{cost.mebibytes:g}")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["measure", "fit"])
    parser.add_argument("--platform", choices=["host", "amd", "nvidia"], default="host")
    parser.add_argument("--arch", default="gfx90a")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the table differs")
    options = parser.parse_args()
    if options.verb == "measure":
        kept = [row for row in load_rows() if row["platform"] != options.platform]
        rows = [*kept, *measure(options.platform, options.arch, options.seed)]
        ROWS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return 0
    every = load_rows()
    platforms = list(dict.fromkeys(row["platform"] for row in every))
    of = {platform: [row for row in every if row["platform"] == platform] for platform in platforms}
    tables = {platform: fit(rows, platform) for platform, rows in of.items()}
    for platform, rows in of.items():
        said = ", ".join(f"{name} {value:.2f}" for name, value in errors(rows, tables[platform]).items())
        print(f"{platform}: {said}")
    text = table_text(tables)
    if options.check:
        return int(TABLE.read_text(encoding="utf-8") != text)
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("HIP_PLATFORM", "amd")
    sys.exit(main())

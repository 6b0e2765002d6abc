"""Compare thousands of random kernels on the emulator with native code of the same source.

Usage: python scripts/emulator_trust.py [--kernels N] [--first SEED] [--arch GFX]... [--each N] [--write]

--write keeps the result in tests/data/emulator_trust.json, source by source, unless kernels differ. From it
scripts/emulator_table.py makes its page. A kernel that the emulator refuses to run is counted as refused.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ckgen.build.toolchain import find_toolchain  # noqa: E402
from ckgen.machine_code.emulator.decode import FAMILIES  # noqa: E402
from ckgen.machine_code.emulator.launch import Emulator  # noqa: E402
from tests.machine_code.emulator.compare import Result, compare  # noqa: E402

TABLE = ROOT / "tests" / "data" / "emulator_trust.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", type=int, default=3000)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--each", type=int, default=100, help="kernels per source")
    parser.add_argument("--arch", action="append", choices=tuple(FAMILIES))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    archs = tuple(options.arch or FAMILIES)
    emulator = Emulator(ROOT / "build" / "ci" / "emulated" / "handlers")
    results = {arch: Result() for arch in archs}
    last = options.first + options.kernels
    for first in range(options.first, last, options.each):
        with tempfile.TemporaryDirectory() as folder:
            seeds = range(first, min(last, first + options.each))
            for arch, result in compare(emulator, seeds, archs, Path(folder)):
                results[arch].add(result)
                for line in (*result.said, *result.refused):
                    print(line, flush=True)
        if options.write and not any(result.said for result in results.values()):
            _write(options.first, seeds[-1] + 1 - options.first, results)
    failed = sum(len(result.said) for result in results.values())
    refused = sum(len(result.refused) for result in results.values())
    print(f"{options.kernels} kernels on {len(archs)} architectures, {failed} different, {refused} refused")
    return 1 if failed else 0


def _write(first: int, kernels: int, results: dict[str, Result]) -> None:
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    record = {
        "date": today,
        "first_seed": first,
        "kernels": kernels,
        "refused": {arch: len(result.refused) for arch, result in results.items()},
        "compilers": {arch: _version(arch) for arch in results},
        "instructions": {
            arch: {name: [result.kernels[name], result.values[name]] for name in sorted(result.kernels)}
            for arch, result in results.items()
        },
    }
    TABLE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _version(arch: str) -> str:
    command = (*find_toolchain().device_compiler(arch), "--version")
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return next(line for line in said.splitlines() if "clang version" in line).partition("clang version ")[2].split()[0]


if __name__ == "__main__":
    sys.exit(main())

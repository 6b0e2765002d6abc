"""Run set `ci` as machine code: python -m tests.machine [--arch GFX]... [FILTER]...

Needs a checkout of tinygrad, in --tinygrad or TINYGRAD_SRC, and CC naming a clang for its compiled instructions.
Writes docs/machine_code_runs.csv when every architecture and instance ran. Exit 1 when a run is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from ckgen.errors import CkgenError
from ckgen.filters import filtered
from ckgen.isa_compile import identify
from ckgen.library import Library
from ckgen.toolchain import find_toolchain
from tests.host_library import FOLDER, ROOT, build_host_library
from tests.machine.campaign import Campaign, Result, in_table, table_text
from tests.specs import default_expansion

ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100")
TABLE = ROOT / "docs" / "machine_code_runs.csv"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.machine", description=__doc__.splitlines()[0])
    parser.add_argument("--arch", action="append", choices=ARCHS, help="default: all")
    parser.add_argument("--tinygrad", type=Path, default=os.environ.get("TINYGRAD_SRC"))
    parser.add_argument("filters", nargs="*", help="as `ckgen list` takes them")
    options = parser.parse_args()
    if options.tinygrad is None:
        parser.error("name a checkout of tinygrad with --tinygrad or TINYGRAD_SRC")
    library = Library(build_host_library())
    expansion = default_expansion()
    chosen = filtered(expansion.instances, ("set=ci", *options.filters), sets=expansion.sets)
    results: list[Result] = []
    for arch in options.arch or ARCHS:
        names = [instance.name for instance in chosen if arch in instance.archs and in_table(instance)]
        compiler = identify(find_toolchain().device_compiler(arch)).release
        campaign = Campaign(options.tinygrad, library, FOLDER / "tree", arch, compiler, FOLDER / "machine")
        begin = time.perf_counter()
        results += campaign.run(names, _tell)
        print(f"{arch}: {len(names)} instances, {time.perf_counter() - begin:.0f} s", flush=True)
    runs, wrong = sum(item.runs for item in results), sum(item.wrong for item in results)
    if not (options.arch or options.filters):
        TABLE.write_text(table_text(results), encoding="utf-8")
    print(f"{runs} runs, {wrong} wrong")
    return 1 if wrong or not results else 0


def _tell(item: Result) -> None:
    verdict = item.fault or (f"{item.wrong} WRONG" if item.wrong else "ok")
    print(
        f"{item.arch} {item.instance}: {item.runs} runs, {item.error:.3g} of {item.tolerance:.3g}, {verdict}",
        flush=True,
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CkgenError as error:
        sys.exit(str(error))

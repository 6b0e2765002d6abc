"""Run set `ci` as machine code: python -m tests.machine [--changed] [--arch GFX]... [FILTER]...

Needs a checkout of tinygrad, in --tinygrad or TINYGRAD_SRC, and CC naming a clang for its compiled instructions.
Writes docs/machine_code_runs.csv when every architecture and instance ran. Exit 1 when a run is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ckgen.build.toolchain import find_toolchain
from ckgen.errors import CkgenError
from ckgen.instance.filters import filtered
from ckgen.library.library import Library
from ckgen.machine_code.compile import identify
from tests.machine.campaign import Campaign, Result, in_table
from tests.machine.table import TABLE, code_digests, is_current, read_table, table_text
from tests.support.host_library import build_host_library, tree_of
from tests.support.specs import default_expansion

ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.machine", description=__doc__.splitlines()[0])
    parser.add_argument("--arch", action="append", choices=ARCHS, help="default: all")
    parser.add_argument("--tinygrad", type=Path, default=os.environ.get("TINYGRAD_SRC"))
    parser.add_argument("--changed", action="store_true", help="keep the table's rows of code that is as it was")
    parser.add_argument("filters", nargs="*", help="as `ckgen list` takes them")
    options = parser.parse_args()
    if options.tinygrad is None:
        parser.error("name a checkout of tinygrad with --tinygrad or TINYGRAD_SRC")
    archs = options.arch or ARCHS
    for arch in archs:
        find_toolchain().device_compiler(arch)  # report a missing tool before minutes of building
    results = [result for arch in archs for result in _results_on(arch, options)]
    runs, wrong = sum(item.runs for item in results), sum(item.wrong for item in results)
    if not (options.arch or options.filters):
        TABLE.write_text(table_text(results), encoding="utf-8")
    print(f"{runs} runs, {wrong} wrong")
    return 1 if wrong or not results else 0


def _results_on(arch: str, options: argparse.Namespace) -> Iterator[Result]:
    """The results of an architecture's instances; each is printed when it is known."""
    library = Library(build_host_library())
    expansion = default_expansion()
    chosen = filtered(expansion.instances, ("set=ci", *options.filters), sets=expansion.sets)
    names = [instance.name for instance in chosen if arch in instance.archs and in_table(instance)]
    compiler = identify(find_toolchain().device_compiler(arch)).release
    campaign = Campaign(options.tinygrad, library, tree_of(), arch, compiler, tree_of().parent / "machine")
    digests = code_digests(arch)
    kept = read_table(TABLE.read_text(encoding="utf-8")) if options.changed else {}
    begin = time.perf_counter()
    for name in names:
        row = kept.get((arch, name))
        if row is None or not is_current(row, digests):
            row = campaign.result_of(name, digests.get(name, ""))
            _tell(row)
        yield row
    print(f"{arch}: {len(names)} instances, {time.perf_counter() - begin:.0f} s", flush=True)


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

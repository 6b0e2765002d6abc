"""ckgen isa: registers, occupancy and loops of compiled instances, shown or checked against limits without a GPU."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.common.build_options import jobs_option
from ckgen.cli.common.options import PATH, filters_argument, json_option, set_option, spec_option

TABLES = Path("docs/isa")


@click.command("isa", short_help="Show or check registers, occupancy and loops of compiled code.")
@filters_argument
@spec_option
@set_option("default")
@click.option(
    "--arch",
    "archs",
    multiple=True,
    metavar="GFX|SM",
    help="An architecture; may be given several times. Default: gfx942; with --check or --write: those with tables.",
)
@jobs_option
@click.option("--compiler", metavar="PATH", help="A clang for AMD GPUs. Default: the first of clang, ziglang, hipcc.")
@click.option("--loops", is_flag=True, help="Print the instruction mix of each loop instead of one line per instance.")
@click.option("--check", is_flag=True, help="Exit 1 if a limit of the spec is exceeded or a committed table differs.")
@click.option("--write", is_flag=True, help="Write the tables.")
@click.option("--tables", type=PATH, default=TABLES, show_default=True, help="Folder of the committed tables.")
@json_option
def isa_command(
    filters: tuple[str, ...],
    spec: Path,
    set_name: str,
    archs: tuple[str, ...],
    jobs: int,
    compiler: str | None,
    loops: bool,
    check: bool,
    write: bool,
    tables: Path,
    as_json: bool,
) -> int:
    """Compile instances for AMD GPUs and analyse the machine code; no GPU is needed. For FILTER see `ckgen list
    --help`.

    Prints registers, spills, scratch, LDS, waves per SIMD and code size, and the instruction mix per iteration on the
    hot path of the main loop (for wavelet: of both the load loop and the math loop). docs/isa.md explains the columns.
    The assembly is kept below build/. --check compares a table only if it was written with the same compiler release;
    it always checks the limits.

    For NVIDIA architectures, prints what ptxas reports: registers, spills and shared memory, and how many blocks fit
    on a multiprocessor.

    \b
    Examples:
      ckgen isa '*wavelet*' dtype=f16 --arch gfx942
      ckgen isa tile=128x128 --arch gfx90a --arch gfx950 --loops
      ckgen isa --set ci --check
    """
    from ckgen.cli.isa_run import IsaOptions, isa

    return isa(IsaOptions(filters, spec, set_name, archs, jobs, compiler, loops, check, write, tables, as_json))

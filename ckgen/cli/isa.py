"""isa: what the compiler makes of instances for AMD GPUs, read and gated without one."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.common.build_options import jobs_option
from ckgen.cli.common.options import PATH, filters_argument, json_option, set_option, spec_option

TABLES = Path("docs/isa")


@click.command("isa", short_help="Registers, occupancy and loops of AMD code; gates them.")
@filters_argument
@spec_option
@set_option("default")
@click.option(
    "--arch",
    "archs",
    multiple=True,
    metavar="GFX|SM",
    help="An architecture; may be given several times. Default: gfx942; those of the tables for --check, --write.",
)
@jobs_option
@click.option("--compiler", metavar="PATH", help="A clang for AMD GPUs. Default: clang, ziglang or hipcc, as found.")
@click.option("--loops", is_flag=True, help="Show the mix of each loop instead of one line an instance.")
@click.option("--check", is_flag=True, help="Exit 1 where a limit of the spec is broken or a committed table differs.")
@click.option("--write", is_flag=True, help="Write the tables.")
@click.option("--tables", type=PATH, default=TABLES, show_default=True, help="The committed tables.")
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
    """Compile instances for AMD GPUs, without one, and read the machine code. FILTER is explained by `ckgen list
    --help`.

    Shown are registers, spills, scratch, LDS, waves a SIMD, bytes of code and, of the main loop (the wavelet's: of
    either role), the instructions of one iteration on the way that nearly all iterations take. docs/isa.md explains
    the columns. The assembly stays below build/. A table is only compared where its compiler's release is the one
    here; limits always hold.

    For NVIDIA architectures the answer is ptxas's own: registers, spills, shared memory and how many blocks fit.

    \b
    Examples:
      ckgen isa '*wavelet*' dtype=f16 --arch gfx942
      ckgen isa tile=128x128 --arch gfx90a --arch gfx950 --loops
      ckgen isa --set ci --check
    """
    from ckgen.cli.isa_run import IsaOptions, isa

    return isa(IsaOptions(filters, spec, set_name, archs, jobs, compiler, loops, check, write, tables, as_json))

"""ckgen isa: registers, occupancy and loops of compiled instances, shown or checked against limits without a GPU."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click

from ckgen.cli.common.build_options import jobs_option
from ckgen.cli.common.declared import declared_by
from ckgen.cli.common.options import PATH, filters_argument, json_option, set_option, spec_option

TABLES = Path("docs/isa")


@dataclass(frozen=True, slots=True)
class IsaOptions:
    """The command line of `ckgen isa`."""

    filters: Annotated[tuple[str, ...], filters_argument]
    spec: Annotated[Path, spec_option]
    set_name: Annotated[str, set_option("default")]
    archs: Annotated[
        tuple[str, ...],
        click.option(
            "--arch",
            "archs",
            multiple=True,
            metavar="GFX|SM",
            help="An architecture; may be given several times. "
            "Default: gfx942; with --check or --write: those with tables.",
        ),
    ]
    jobs: Annotated[int, jobs_option]
    compiler: Annotated[
        str | None,
        click.option(
            "--compiler",
            metavar="PATH",
            help="A clang for AMD GPUs. Default: the first of clang, ziglang, hipcc.",
        ),
    ]
    loops: Annotated[
        bool,
        click.option(
            "--loops", is_flag=True, help="Print the instruction mix of each loop instead of one line per instance."
        ),
    ]
    check: Annotated[
        bool,
        click.option(
            "--check", is_flag=True, help="Exit 1 if a limit of the spec is exceeded or a committed table differs."
        ),
    ]
    write: Annotated[bool, click.option("--write", is_flag=True, help="Write the tables.")]
    tables: Annotated[
        Path,
        click.option("--tables", type=PATH, default=TABLES, show_default=True, help="Folder of the committed tables."),
    ]
    as_json: Annotated[bool, json_option]


@click.command("isa", short_help="Show or check registers, occupancy and loops of compiled code.")
@declared_by(IsaOptions)
def isa_command(options: IsaOptions) -> int:
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
    from ckgen.cli.isa_run import isa

    return isa(options)

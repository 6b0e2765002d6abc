"""Parameters of `ckgen isa`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click

from ckgen.cli.common.build_options import jobs_option
from ckgen.cli.common.options import PATH, filters_argument, json_option, set_option, spec_option

TABLES = Path("docs/isa")


@dataclass(frozen=True, slots=True)
class IsaOptions:
    """Values of the command line; each field declares its parameter."""

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
    simulate: Annotated[
        bool,
        click.option(
            "--simulate",
            is_flag=True,
            help="Print simulated cycles per tile and where waves wait; with --write, bring docs/isa/cycles up to "
            "date. AMD only, see docs/simulator.md.",
        ),
    ]
    timeline: Annotated[
        Path | None,
        click.option("--timeline", type=PATH, help="With --simulate: write an SVG of each simulation to this folder."),
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

"""ckgen list: list instances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import filters_argument, json_option, set_option, spec_option

if TYPE_CHECKING:
    from ckgen.instance.instance import Instance
    from ckgen.spec.expand import Expansion


@click.command("list", short_help="List instances; --json for scripts.")
@filters_argument
@spec_option
@set_option("default")
@click.option("--names", is_flag=True, help="Print only names, one per line.")
@click.option("--count-by", metavar="KEY[,KEY]", help="Print how many instances have each combination of values.")
@json_option
def list_command(
    filters: tuple[str, ...], spec: Path, set_name: str, names: bool, count_by: str | None, as_json: bool
) -> int:
    """List the instances that `ckgen generate` would write with the same arguments.

    \b
    FILTER chooses instances:
      '*wavelet*'         a glob on the name; quote it, or the shell expands it
      dtype=f16,bf16      one of these values
      family!=xdl         any other value
      3f2a91c0            an id of the first column, or its first digits (four or more)
      'm_per_block>=128'  a comparison of numbers
    An instance is listed if it matches any of the globs and ids and passes all tests. Keys are the fields and derived
    values that `ckgen explain NAME` prints, and ndim, tile, vector, wave_ratio, arch and set.

    \b
    Examples:
      ckgen list
      ckgen list '*wavelet*' dtype=f16 tile=128x128
      ckgen list --set full ndim=3 --json
      ckgen list --set full --count-by family,dtype,layout
    """
    from ckgen.cli.common.counts import show_counts
    from ckgen.cli.common.selection import DEFAULT_OUT, Selection, load
    from ckgen.spec.catalog import list_records

    if names and (as_json or count_by is not None):
        raise click.UsageError("--names prints names only: leave --json and --count-by out")
    loaded = load(spec)
    instances = Selection(spec, set_name, filters, DEFAULT_OUT).choose(loaded)
    sets = loaded.expansion.sets
    if count_by is not None:
        show_counts(instances, sets, count_by.split(","), as_json)
    elif as_json:
        console.say_json(list_records(instances, sets))
    elif names:
        console.say("\n".join(instance.name for instance in instances))
    else:
        _show(instances, loaded.expansion)
    return 0


def _show(instances: Sequence[Instance], expansion: Expansion) -> None:
    from ckgen.spec.catalog import LIST_HEADERS, MOST_WANTED, SPLIT_HEADERS, list_rows, split_rows

    count = f"{len(instances)} of {len(expansion.instances)} instances"
    if console.is_terminal():
        console.show_fitting(SPLIT_HEADERS, split_rows(instances, expansion.sets), keep=MOST_WANTED, right=("lds",))
        console.note(f"{count}; --names prints the full names")
    else:
        console.show_table(LIST_HEADERS, list_rows(instances, expansion.sets), right=("lds",))
        console.note(count)

"""Numbers of instances by the values of keys."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.cli.common import console
from ckgen.instance.filters import counted
from ckgen.instance.instance import Instance
from ckgen.instance.keys import Sets


def show_counts(instances: Sequence[Instance], sets: Sets, keys: Sequence[str], as_json: bool) -> None:
    """Print a row per combination of values, and the sum. Raise CkgenError (exit 2) for an unknown key."""
    rows = counted(instances, sets, keys)
    if as_json:
        console.say_json([{**dict(zip(keys, values, strict=True)), "instances": n} for values, n in rows.items()])
        return
    console.show_table((*keys, "instances"), [(*values, str(n)) for values, n in rows.items()], right=("instances",))
    console.note(f"{len(instances)} instances, {len(rows)} combinations")

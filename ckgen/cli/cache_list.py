"""ckgen cache list: list what is in the user's cache."""

from __future__ import annotations

from datetime import datetime, timezone

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import json_option

HEADERS = ("entry", "device", "compiler", "spec", "ckgen", "MiB", "last used")


@click.command("cache list", short_help="List what is in the user's cache.")
@json_option
def cache_list_command(as_json: bool) -> int:
    """List the libraries that were built on first use and are kept for the next process.

    The cache is the folder ckgen below XDG_CACHE_HOME, else ~/.cache/ckgen. Its folder `choices` has what
    `ckgen.torch.enable` measured, `logs` the logs of failed builds, `workshop` the object files of builds, `trees` the
    digests of generated trees.

    \b
    Example:
      ckgen cache list
    """
    from ckgen.cache.entries import BUILT, Cache, rooms
    from ckgen.paths import cache_dir

    cache, others = Cache(cache_dir() / BUILT), rooms(cache_dir())
    entries, broken = cache.entries(), cache.broken()
    if as_json:
        rows = [
            {"entry": e.path.name, "device": e.key.device, "compiler": e.key.compiler, "spec": e.key.spec_digest}
            | {"tool_version": e.key.tool_version, "path": str(e.path), "bytes": e.size, "used": e.used}
            for e in entries
        ]
        folders = [{"path": str(room.path), "files": room.files, "bytes": room.size} for room in others]
        named = {"folder": str(cache_dir()), "entries": rows, "folders": folders, "broken": [str(p) for p in broken]}
        console.say_json(named)
        return 0
    if entries:
        table = [
            (e.path.name[:12], e.key.device, e.key.compiler, e.key.spec_digest[:12], e.key.tool_version)
            + (f"{e.size / 2**20:.1f}", f"{datetime.fromtimestamp(e.used, timezone.utc):%Y-%m-%d %H:%M}")
            for e in entries
        ]
        console.show_table(HEADERS, table, right=("MiB",))
    for room in others:
        console.say(f"{room.path.name}: {room.files} files, {room.size / 2**20:.1f} MiB")
    for path in broken:
        console.warn(f"{path} is broken: its record cannot be read; `ckgen cache clear` removes it")
    size = sum(entry.size for entry in entries) + sum(room.size for room in others)
    console.note(f"{cache_dir()}: {len(entries)} built entries, {size / 2**20:.1f} MiB in all")
    return 0

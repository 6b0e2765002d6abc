"""ckgen cache clear: empty the user's cache, or a part of it."""

from __future__ import annotations

import os

import click

from ckgen.cli.common import console
from ckgen.errors import CkgenError, Diagnostic


@click.command("cache clear", short_help="Empty the user's cache, or remove some entries.")
@click.argument("names", nargs=-1, metavar="[ENTRY]...")
@click.option("--old", is_flag=True, help="Only the entries of other versions of ckgen.")
def cache_clear_command(names: tuple[str, ...], old: bool) -> int:
    """Remove entries of the cache: those named (the first characters do), or all. They are built again when needed.

    \b
    Examples:
      ckgen cache clear
      ckgen cache clear --old
    """
    from ckgen import __version__
    from ckgen.cache.entries import Cache, default_folder

    cache = Cache(default_folder(os.environ))
    every = cache.entries()
    unknown = [name for name in names if not any(entry.path.name.startswith(name) for entry in every)]
    if unknown:
        raise CkgenError([Diagnostic(None, "cache", f"the cache has no entry {unknown[0]!r}", "see: ckgen cache list")])
    chosen = [entry for entry in every if not names or entry.path.name.startswith(names)]
    chosen = [entry for entry in chosen if not old or entry.key.tool_version != __version__]
    for entry in chosen:
        cache.remove(entry)
    console.say(f"{cache.folder}: removed {len(chosen)} of {len(every)} entries")
    return 0

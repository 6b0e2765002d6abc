"""ckgen cache clear: empty the user's cache, or a part of it."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ckgen.cli.common import console
from ckgen.errors import CkgenError, Diagnostic, did_you_mean


@click.command("cache clear", short_help="Empty the user's cache, or remove some entries.")
@click.argument("names", nargs=-1, metavar="[ENTRY]...")
@click.option("--old", is_flag=True, help="Only the entries of other versions of ckgen.")
def cache_clear_command(names: tuple[str, ...], old: bool) -> int:
    """Remove entries of the cache: those named (the first characters do), or all. They are made again when needed.

    ENTRY may also be another folder of the cache: `choices`, `logs`, `trees`, or `workshop`, where `ckgen.torch.enable`
    builds.
    Waits for builds that are on the way.

    \b
    Examples:
      ckgen cache clear
      ckgen cache clear choices
      ckgen cache clear --old
    """
    from ckgen import __version__
    from ckgen.cache.entries import BUILT, Cache, rooms
    from ckgen.paths import cache_dir

    cache, others = Cache(cache_dir() / BUILT), rooms(cache_dir())
    every, broken = cache.entries(), cache.broken()
    built = [path.name for path in (*(entry.path for entry in every), *broken)]
    _refuse_unknown(names, built, [room.path.name for room in others])
    chosen = [entry for entry in every if not names or entry.path.name.startswith(names)]
    chosen = [entry for entry in chosen if not old or entry.key.tool_version != __version__]
    folders = [room for room in others if not old and (not names or room.path.name in names)]
    for entry in chosen:
        cache.remove(entry)
    for room in folders:
        cache.remove_room(room)
    remains = [path for path in broken if not names or path.name.startswith(names)]  # with --old too: of no version
    for path in remains:
        cache.remove_broken(path)
    removed, all_of = len(chosen) + len(folders) + len(remains), len(every) + len(others) + len(broken)
    console.say(f"{cache_dir()}: removed {removed} of {all_of} entries and folders")
    return 0


def _refuse_unknown(names: Sequence[str], built: Sequence[str], folders: Sequence[str]) -> None:
    """Raise CkgenError for a word that is neither the beginning of an entry's name nor a folder's name."""
    for name in names:
        if name not in folders and not (name and any(other.startswith(name) for other in built)):
            there = did_you_mean(name, folders) or f"folders: {', '.join(folders) or 'none'}"
            help_text = f"{there}; `ckgen cache list` shows the {len(built)} entries"
            raise CkgenError([Diagnostic(None, "cache", f"the cache has no entry {name!r}", help_text)])

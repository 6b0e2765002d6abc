"""Checks across the keys of a spec: unique names, keys that the family has, no missing keys, known sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ckgen.errors import Diagnostic, Place, did_you_mean
from ckgen.families.family import Family
from ckgen.families.registry import FAMILIES
from ckgen.operations.operation import OPERATIONS
from ckgen.spec.limits_model import Limits
from ckgen.spec.models import AXES, Axes, Group, Spec
from ckgen.spec.operation_models import ForeignWords
from ckgen.spec.translate import Path

WAVE_KEYS = ("wave_ratio", "block_size")  # each family takes one of them for the waves of a workgroup
# Keys that not every family has, and the member of its record that says if it has them, or for which operations.
OPTIONAL_KEYS = {
    **dict.fromkeys(("lds_write", "copy_k1"), "lds_keys"),
    **dict.fromkeys(("pipeline_version", "scheduler"), "pipelines"),
    "transpose": "transposes",
    "groups_to_merge": "merges_groups",
    "exchange": "exchanges",
    "cluster": "clusters",
}
IMPLIED_SETS = ("default", "full")  # all instances, unless the spec defines them


def foreign_keys(family: Family, operation: str) -> Iterator[str]:
    """The optional keys that a family does not have for an operation."""
    for key, member in OPTIONAL_KEYS.items():
        has = getattr(family, member)
        if not (operation in has if isinstance(has, tuple) else has):
            yield key


def check_names(spec: Spec) -> list[Diagnostic]:
    """Problems of groups with equal names, and of keys and limits in the defaults that a family does not have."""
    found = list(_duplicate_names(spec))
    for where in (("defaults",), *(("defaults", operation) for operation in OPERATIONS)):
        defaults = spec.defaults if len(where) == 1 else getattr(spec.defaults, where[1])
        for name, family in FAMILIES.items() if defaults is not None else ():
            axes: Axes | None = getattr(defaults, name)
            if axes is not None:
                found += _foreign_keys_of(spec, axes, (*where, name), family, where[1:] or tuple(OPERATIONS))
                found += _foreign_limits(spec, name, getattr(axes, "limits", None), (*where, name))
    return found


def check_groups(spec: Spec) -> list[list[Diagnostic]]:
    """The problems between the fields of each group; each field by itself is valid."""
    words = ForeignWords(spec)
    return [_check_group(spec, index, words) for index in range(len(spec.groups))]


def _check_group(spec: Spec, index: int, words: ForeignWords) -> list[Diagnostic]:
    group, path = spec.groups[index], spec.group_path(index)
    return [
        *_repeated_values(spec, group, path),
        *words.of_group(index, layers(spec, index)),
        *_foreign_keys(spec, group, path),
        *_missing_keys(spec, index),
        *_part_waves(spec, index),
        *_unknown_sets(spec, group, path),
        *_archs_in_exclude(spec, group, path),
        *_foreign_limits(spec, group.family, group.limits, path),
    ]


def layers(spec: Spec, index: int) -> list[tuple[Axes, Path]]:
    """The sources of a group's values, the nearest first: the group, its operation's defaults for its family and for
    all families, its family's defaults, the general defaults."""
    group = spec.groups[index]
    found: list[tuple[Axes, Path]] = [(group, spec.group_path(index))]
    for path in (("defaults", group.operation), ("defaults",)):
        defaults = spec.defaults if len(path) == 1 else getattr(spec.defaults, group.operation)
        if defaults is None:
            continue
        own: Axes | None = getattr(defaults, group.family)
        if own is not None:
            found.append((own, (*path, group.family)))
        found.append((defaults, path))
    return found


def _duplicate_names(spec: Spec) -> Iterator[Diagnostic]:
    seen: dict[str, Place] = {}
    for index, group in enumerate(spec.groups):
        place = spec.document.place(*spec.group_path(index), "name")
        if group.name in seen:
            message = f"there are two groups called `{group.name}`"
            note = f"the first is at {seen[group.name]}"
            yield Diagnostic(place, "duplicate-group", message, "give each group its own name", notes=(note,))
        seen.setdefault(group.name, place)


def _repeated_values(spec: Spec, group: Group, path: Path) -> Iterator[Diagnostic]:
    for axes, where in [(group, path), *_parts(group, path)]:
        for axis in AXES:
            seen = set()
            for index, value in enumerate(getattr(axes, axis) or ()):
                if value not in seen:
                    seen.add(value)
                else:
                    place = spec.document.place(*where, axis, index)
                    message = f"{axis} {_text(value)} is listed twice"
                    yield Diagnostic(place, "duplicate-value", message, "keep one of them")


def _foreign_keys(spec: Spec, group: Group, path: Path) -> Iterator[Diagnostic]:
    for axes, where in [(group, path), *_parts(group, path)]:
        yield from _foreign_keys_of(spec, axes, where, FAMILIES[group.family], [group.operation])
        yield from _tile_conflicts(spec, axes, where)


def _foreign_keys_of(
    spec: Spec, axes: Axes, where: Path, family: Family, operations: Sequence[str]
) -> Iterator[Diagnostic]:
    """Problems of keys of ``axes`` that the family does not have for any of the operations."""
    own, message = family.wave_key, f"`{{}}` has no meaning for family {family.name}"
    for key in WAVE_KEYS:
        if key == own:
            continue
        if getattr(axes, key) is not None:
            place = spec.document.key_place(*where, key)
            yield Diagnostic(place, "foreign-key", message.format(key), f"use `{own}`")
        for index, tile in enumerate(axes.tile or ()):
            if key == "block_size" and tile.block_size is not None:
                place = spec.document.key_place(*where, "tile", index, key)
                yield Diagnostic(place, "foreign-key", message.format(key), f"use `{own}`")
    foreign = [set(foreign_keys(family, operation)) for operation in operations]
    for key in (key for key in OPTIONAL_KEYS if all(key in keys for keys in foreign)):
        if getattr(axes, key) is not None:
            place = spec.document.key_place(*where, key)
            yield Diagnostic(place, "foreign-key", message.format(key), "leave it out")


def _part_waves(spec: Spec, index: int) -> Iterator[Diagnostic]:
    """Block sizes that the group's own family cannot have, because its waves are wider than the smallest."""
    group, path = spec.groups[index], spec.group_path(index)
    wave = FAMILIES[group.family].wave_size
    for axes, where in [*layers(spec, index), *_parts(group, path)]:
        sizes = [(value, ("block_size", number)) for number, value in enumerate(axes.block_size or ())]
        sizes += [(tile.block_size or wave, ("tile", number)) for number, tile in enumerate(axes.tile or ())]
        for value, at in sizes:
            if value % wave:
                place = spec.document.place(*where, *at)
                message = f"{value} threads are not a whole number of waves of {wave}, which family {group.family} has"
                yield Diagnostic(place, "bad-block-size", message, f"use a multiple of {wave}")


def _archs_in_exclude(spec: Spec, group: Group, path: Path) -> Iterator[Diagnostic]:
    for index, axes in enumerate(group.exclude):
        if axes.archs is not None:
            place = spec.document.key_place(*path, "exclude", index, "archs")
            yield Diagnostic(place, "foreign-key", "`archs` is not an axis", "list the archs you want in `archs`")


def _foreign_limits(spec: Spec, family: str, limits: Limits | None, path: Path) -> Iterator[Diagnostic]:
    """Problems of limits for loops that a family does not have."""
    roles = FAMILIES[family].loops
    for role in ("main", "math", "load") if limits is not None else ():
        if role not in roles and getattr(limits, role) is not None:
            place = spec.document.key_place(*path, "limits", role)
            help_text = f"its loops: {', '.join(roles)}" if roles else "its code is not AMD's"
            yield Diagnostic(place, "foreign-key", f"family {family} has no {role} loop", help_text)


def _tile_conflicts(spec: Spec, axes: Axes, where: Path) -> Iterator[Diagnostic]:
    for key in ("k_per_block", "block_size"):
        for index, tile in enumerate(axes.tile or ()):
            if getattr(axes, key) is not None and getattr(tile, key) is not None:
                place = spec.document.place(*where, "tile", index)
                message = f"tile {tile} gives {key} and so does the key `{key}`"
                note = f"`{key}` is at {spec.document.key_place(*where, key)}"
                yield Diagnostic(place, "given-twice", message, f"keep one {key}", notes=(note,))


def _missing_keys(spec: Spec, index: int) -> Iterator[Diagnostic]:
    group = spec.groups[index]
    given = [axes for axes, _ in layers(spec, index)]
    place = spec.document.place(*spec.group_path(index), "name")
    for key in ("layout", "dtype", "tile"):
        if all(getattr(axes, key) is None for axes in given):
            message = f"group `{group.name}` has no `{key}`"
            yield Diagnostic(place, "missing-field", message, f"add `{key}:` to the group or to `defaults`")
    waves = FAMILIES[group.family].wave_key
    if not FAMILIES[group.family].needs_waves or any(getattr(axes, waves) is not None for axes in given):
        return
    tiles = next((axes.tile for axes in given if axes.tile is not None), ())
    if waves == "wave_ratio" or any(tile.block_size is None for tile in tiles):
        message = f"group `{group.name}` has no `{waves}`, which family {group.family} needs"
        yield Diagnostic(place, "missing-field", message, f"add `{waves}:` to the group or to `defaults`")


def _unknown_sets(spec: Spec, group: Group, path: Path) -> Iterator[Diagnostic]:
    for index, name in enumerate(group.sets):
        if name not in spec.sets and name not in IMPLIED_SETS:
            place = spec.document.place(*path, "sets", index)
            message, help_text = f"`{name}` is not a set of this spec", "declare it under `sets:`"
            yield Diagnostic(place, "unknown-set", message, help_text, find_help=partial(_nearest_set, spec, name))


def _nearest_set(spec: Spec, name: str) -> str:
    return did_you_mean(name, dict.fromkeys((*spec.sets, *IMPLIED_SETS)))


def _parts(group: Group, path: Path) -> Iterator[tuple[Axes, Path]]:
    for key in ("include", "exclude"):
        for index, axes in enumerate(getattr(group, key)):
            yield axes, (*path, key, index)


def _text(value: object) -> str:
    return "x".join(str(part) for part in value) if isinstance(value, tuple) else str(value)

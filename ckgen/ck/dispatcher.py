"""The JSON of CK's dispatcher as rows: one file has the instances of one operation, layout and data type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ckgen.ck.exporting import FIXED, OF_FAMILY, SPECIALIZATIONS, VARIANTS, dispatcher_record, warp_tile_k
from ckgen.ck.resolve import Refusal, Resolved, Row, family_of, resolve
from ckgen.ck.words import dtype_of, layout_of
from ckgen.errors import CkgenError, Diagnostic, Place
from ckgen.hardware.archs import WAVE_SIZE
from ckgen.instance.checker import Checker
from ckgen.instance.instance import Instance
from ckgen.text.source import Document

_NUMBERS = (
    *("tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "warp_tile_m", "warp_tile_n", "warp_tile_k"),
    *("vector_size_a", "vector_size_b", "vector_size_c"),
)
_ABSENT = {"double_smem_buffer": False, "specialization": "default", "warp_tile_k": None, "id": None}
# Keys of stream-K that switch it off with these values.
_OFF: dict[str, Any] = {
    "streamk_enabled": False,
    "streamk_reduction_strategy": None,
    "streamk_persistent": False,
}


def read_dispatcher(document: Document, checker: Checker) -> Iterator[tuple[Place, str, Resolved]]:
    """Place, number and result of each entry. Raises CkgenError (exit 2) for a file of another form."""
    data = document.root.plain()
    heads = ("variant", "layout", "datatype")
    wrong = [key for key in heads if not isinstance(data, dict) or not isinstance(data.get(key), str)]
    if wrong or not isinstance(data.get("instances"), list) or data["variant"] not in VARIANTS.values():
        message = "no file of the dispatcher: it has the variant of an operation, a layout, a datatype and instances"
        raise CkgenError([Diagnostic(document.place(), "ck-file", message)])
    operation = next(name for name, word in VARIANTS.items() if word == data["variant"])
    layout, dtype = layout_of(data["layout"], operation), dtype_of(data["datatype"])
    problems = []
    found = []
    for number, entry in enumerate(data["instances"]):
        place = document.place("instances", number)
        try:
            found.append((place, f"instances[{number}]", _resolve(entry, operation, layout, dtype, checker)))
        except ValueError as error:
            problems.append(Diagnostic(place, "ck-row", f"instances[{number}]: {error}"))
    if problems:
        raise CkgenError(problems)
    yield from found


def normalised(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry without its number and without keys that only switch something off."""
    defaults = {**FIXED, **OF_FAMILY, **_OFF}
    kept = {key: value for key, value in entry.items() if key != "id"}
    return {key: value for key, value in kept.items() if key not in defaults or value != defaults[key]}


def _resolve(entry: Any, operation: str, layout: str, dtype: str, checker: Checker) -> Resolved:
    if not isinstance(entry, dict):
        raise ValueError("an entry is a mapping")
    if entry.get("kind", "gemm") != "gemm":
        return Resolved({}, None, (Refusal("ck-class", f"no family has instances of kind {entry['kind']}"),))
    for key in (*_NUMBERS, *(key for key in ("num_groups_to_merge",) if key in entry)):
        if type(entry.get(key)) is not int or not 1 <= entry[key] <= 4096:
            raise ValueError(f"{key} is {entry.get(key)!r}, it must be a number from 1 to 4096")
    other = _other_features(entry)
    if other:
        return Resolved({}, None, other)
    flags = frozenset(key for key, absent in OF_FAMILY.items() if absent is False and entry.get(key) is True)
    family = family_of(operation, flags)
    if family is None:
        message = f"{', '.join(sorted(flags))} is True, no family of {operation} has it"
        return Resolved({}, None, (Refusal("ck-argument", message),))
    specs = {word: name for name, word in SPECIALIZATIONS.items()}
    spec = str(entry.get("specialization", "default"))
    version = re.fullmatch(r"compv(\d)", str(entry.get("pipeline", OF_FAMILY["pipeline"])), re.ASCII)
    row = Row(
        family=family,
        operation=operation,
        layout=layout,
        dtype=dtype,
        conv_spec=specs.get(spec, spec),
        block_size=WAVE_SIZE * entry["warp_m"] * entry["warp_n"],
        m=entry["tile_m"],
        n=entry["tile_n"],
        k=entry["tile_k"],
        a=entry["vector_size_a"],
        b=entry["vector_size_b"],
        c=entry["vector_size_c"],
        m_per_xdl=entry["warp_tile_m"],
        pipeline=int(version[1]) if version else None,
        groups_to_merge=entry.get("num_groups_to_merge", OF_FAMILY["num_groups_to_merge"]),
    )
    resolved = resolve(row, checker)
    different = _differences(entry, resolved.instance) if resolved.instance else ()
    return Resolved(resolved.keys, None, different) if different else resolved


def _other_features(entry: Mapping[str, Any]) -> tuple[Refusal, ...]:
    """Features of an entry that no family has."""
    known = {**FIXED, **_OFF, "double_smem_buffer": False}
    found = [
        Refusal("ck-argument", f"{key} is {entry[key]}, no family has it")
        for key, value in known.items()
        if entry.get(key, value) != value
    ]
    if entry["warp_tile_m"] != entry["warp_tile_n"]:
        found.append(Refusal("ck-argument", "warp_tile_m and warp_tile_n differ, atoms are square"))
    keys = {*_NUMBERS, *known, *OF_FAMILY, *_ABSENT, "kind"}
    found += [Refusal("ck-argument", f"{key} is unknown") for key in entry if key not in keys]
    return tuple(found)


def _differences(entry: Mapping[str, Any], instance: Instance) -> tuple[Refusal, ...]:
    ours = dispatcher_record(instance)
    if (entry["warp_m"], entry["warp_n"]) != (ours["warp_m"], ours["warp_n"]):
        text = f"{entry['warp_m']}x{entry['warp_n']} waves, by rule {ours['warp_m']}x{ours['warp_n']}"
        return (Refusal("ck-waves", text),)
    if entry["warp_tile_k"] != warp_tile_k(instance):
        return (Refusal("ck-argument", f"warp_tile_k is {entry['warp_tile_k']}, by rule {warp_tile_k(instance)}"),)
    return tuple(
        Refusal("ck-argument", f"{key} is {entry[key]}, no family has it")
        for key, absent in OF_FAMILY.items()
        if entry.get(key, absent) != ours[key]
    )

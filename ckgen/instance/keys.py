"""The keys of filters and the texts of their values: the fields of instances, their derived values, and some more.
`Columns` groups instances by these values."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TypeVar

from ckgen.families.registry import DERIVED_NAMES, FAMILIES
from ckgen.instance.instance import FIELD_NAMES, Instance

Sets = Mapping[str, Collection[str]]
COMPARE: dict[str, Callable[[int, int], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}
# Keys that are not fields of an instance, with functions that give the texts that a user may write as their value.
_SPELLED: dict[str, Callable[[Instance], tuple[str, ...]]] = {
    "tile": lambda i: (
        f"{i.m_per_block}x{i.n_per_block}",
        f"{i.m_per_block}x{i.n_per_block}x{i.k_per_block}",
    ),
    "wave_ratio": lambda i: (f"{i.load_waves}x{i.math_waves}", f"{i.load_waves}:{i.math_waves}"),
    "vector": lambda i: (f"{i.a_vector}x{i.b_vector}x{i.c_vector}",),
    "lds_write": lambda i: (f"{i.a_dst_vector}x{i.b_dst_vector}",) if FAMILIES[i.family].lds_keys else (),
    "copy_k1": lambda i: (f"{i.ak1}x{i.bk1}",) if FAMILIES[i.family].lds_keys else (),
    "transpose": lambda i: (f"{i.transpose_dst}x{i.transpose_vector}x{i.transpose_lds}",) if i.given_transpose else (),
    "pipeline_version": lambda i: (f"v{i.pipeline_version}", f"{i.pipeline_version}") if i.given_pipeline else (),
    "scheduler": lambda i: ("Interwave" if i.interwave else "Intrawave",) if i.given_pipeline else (),
    "interwave": lambda i: ("true" if i.interwave else "false",),
    "name": lambda i: (i.name,),
    "id": lambda i: (i.short_id,),
    "arch": lambda i: i.archs,
    "generic": lambda i: ("true" if i.generic else "false",),
    "exchange": lambda i: ("true" if i.exchange else "false",),
}
GLOB = frozenset("*?[")
_DERIVED = frozenset(DERIVED_NAMES)
NUMBERS = _DERIVED | {name for name, kind in Instance.__annotations__.items() if kind == "int"}
KEYS = tuple(dict.fromkeys((*FIELD_NAMES, *_SPELLED, "set", *DERIVED_NAMES)))
_PLAIN = frozenset(FIELD_NAMES).difference(_SPELLED)  # keys whose value has one text, that of the field
_Value = TypeVar("_Value", bound=Hashable)


def values_of(key: str, instance: Instance, sets: Sets) -> tuple[str, ...]:
    """The texts that a filter may use as the value of one key of an instance."""
    if key == "set":
        return tuple(name for name, members in sets.items() if instance.name in members)
    spelled = _SPELLED.get(key)
    if spelled:
        return spelled(instance)
    return (str(getattr(instance, key)),) if has(key, instance) else ()


def has(key: str, instance: Instance) -> bool:
    """False for a derived value that the instance's family does not have."""
    return key not in _DERIVED or key in FAMILIES[instance.family].formulas.names


class Columns:
    """A sequence of instances, grouped by the values of each key that a filter asked for: thousands of instances share
    few values, and the sets of a spec ask for the same keys again and again. Positions are indices of the sequence."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        self.instances = tuple(instances)
        self._texts: dict[str, dict[tuple[str, ...], list[int]]] = {}
        self._numbers: dict[str, dict[int, list[int]]] = {}
        self._found: dict[tuple[str, str, str], frozenset[int]] = {}

    def holding(self, key: str, op: str, value: str, sets: Sets) -> frozenset[int]:
        """The positions of the instances for which `key op value` holds; `op` is = or a comparison of numbers."""
        if key == "set":  # not kept: the sets of a spec may refer to earlier ones
            names = fnmatch.filter(list(sets), value)
            members = self.texts("name")
            return frozenset(at for name in names for member in sets[name] for at in members.get((member,), ()))
        found = self._found.get((key, op, value))
        if found is None:
            found = self._found[key, op, value] = frozenset(self._holding(key, op, value))
        return found

    def _holding(self, key: str, op: str, value: str) -> Iterator[int]:
        if op in COMPARE:
            compare, bound = COMPARE[op], int(value)
            return (at for number, group in self.numbers(key).items() if compare(number, bound) for at in group)
        if value == "*":
            return iter(range(len(self.instances)))
        wanted = value.casefold()
        matches = wanted.__eq__ if GLOB.isdisjoint(wanted) else re.compile(fnmatch.translate(wanted)).match
        groups = self.texts(key).items()
        return (at for texts, group in groups if any(matches(text.casefold()) for text in texts) for at in group)

    def texts(self, key: str) -> dict[tuple[str, ...], list[int]]:
        """The positions of each value, given as the texts that a filter may use; not for key `set`."""
        found = self._texts.get(key)
        if found is None and key in _PLAIN:
            plain = _grouped(map(attrgetter(key), self.instances))
            found = self._texts[key] = {(str(value),): group for value, group in plain.items()}
        elif found is None:
            found = self._texts[key] = _grouped(values_of(key, instance, {}) for instance in self.instances)
        return found

    def numbers(self, key: str) -> dict[int, list[int]]:
        """The positions of each number, without the instances whose families do not have it."""
        if key not in self._numbers:
            groups = _grouped(getattr(each, key) if has(key, each) else None for each in self.instances)
            self._numbers[key] = {number: group for number, group in groups.items() if number is not None}
        return self._numbers[key]


def _grouped(values: Iterable[_Value]) -> dict[_Value, list[int]]:
    groups: dict[_Value, list[int]] = {}
    for at, value in enumerate(values):
        groups.setdefault(value, []).append(at)
    return groups

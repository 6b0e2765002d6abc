"""The origin of an instance's values: the values in the spec that made it, each with its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ckgen.errors import Place
from ckgen.families.registry import FAMILIES
from ckgen.instance.checker import Violation
from ckgen.instance.instance import TRANSPOSE, Instance
from ckgen.spec.types import Tile, Vector

OPERAND_FIELDS = {"lds_write": ("a_write", "b_write"), "copy_k1": ("a_k1", "b_k1")}


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of one axis; `source` says whether the group, an include entry or the defaults gave it."""

    axis: str
    value: Any
    place: Place
    source: str

    @property
    def text(self) -> str:
        """The value as the file writes it."""
        return show(self.value)


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of one field's value: a place in the file, or a rule."""

    field: str
    value: object
    place: Place | None
    how: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of an instance: its group, the group's place, and one choice per axis that the spec gives."""

    group: str
    place: Place
    choices: tuple[Choice, ...]

    def choice(self, axis: str) -> Choice | None:
        """The choice made for an axis; None if the value is given by rule."""
        return next((choice for choice in self.choices if choice.axis == axis), None)

    def origins(self, instance: Instance) -> list[Origin]:
        """One origin per field of the instance, in the order of its name."""
        group = f"group `{self.group}`"
        found = [
            Origin("operation", instance.operation, self.place, group),
            Origin("family", instance.family, self.place, group),
        ]
        for field in ("function", "layout", "dtype", "conv_spec"):
            found.append(self._origin(instance, field, field))
        for field in ("m_per_block", "n_per_block"):
            found.append(self._origin(instance, field, "tile"))
        tile = self.choice("tile")
        in_tile = tile is not None and isinstance(tile.value, Tile) and tile.value.k_per_block is not None
        found.append(self._origin(instance, "k_per_block", "tile" if in_tile else "k_per_block"))
        found.append(self._origin(instance, "m_per_xdl", "m_per_xdl"))
        found += self._waves(instance, group)
        found += [self._vector(instance, which) for which in "abc"]
        for axis, fields in OPERAND_FIELDS.items():
            found += [self._origin(instance, field, axis) for field in fields]
        found.append(self._origin(instance, "pipeline_version", "pipeline_version"))
        found.append(self._origin(instance, "interwave", "scheduler"))
        found.append(self._origin(instance, "stages", "stages"))
        found.append(self._origin(instance, "groups_to_merge", "groups_to_merge"))
        found.append(self._origin(instance, "exchange", "exchange"))
        found.append(self._origin(instance, "cluster", "cluster"))
        found += [self._origin(instance, field, "transpose") for field in TRANSPOSE]
        found.append(Origin("generic", instance.generic, self.place, group))
        found.append(self._origin(instance, "archs", "archs"))
        return found

    def _origin(self, instance: Instance, field: str, axis: str) -> Origin:
        value = getattr(instance, field)
        choice = self.choice(axis)
        if choice is None:
            return Origin(field, value, None, FAMILIES[instance.family].reason(field))
        return Origin(field, value, choice.place, f"{axis} {choice.text} of {choice.source}")

    def _waves(self, instance: Instance, group: str) -> list[Origin]:
        fields = ("load_waves", "math_waves")
        ratio = self.choice("wave_ratio")
        family = FAMILIES[instance.family]
        if ratio is None and not family.needs_waves:
            return [Origin(field, getattr(instance, field), None, family.reason(field)) for field in fields]
        block = self.choice("block_size") or self.choice("tile")
        if ratio is None and block is not None:
            how = f"block_size {instance.block_size} of {block.source}: 64 threads per wave"
            load = Origin("load_waves", 0, None, f"{family.name}: every wave loads and multiplies")
            return [load, Origin("math_waves", instance.math_waves, block.place, how)]
        place, how = (ratio.place, f"wave_ratio {ratio.text} of {ratio.source}") if ratio else (None, group)
        return [Origin(field, getattr(instance, field), place, how) for field in fields]

    def _vector(self, instance: Instance, which: str) -> Origin:
        field = f"{which}_vector"
        value = getattr(instance, field)
        choice = self.choice("vector")
        wanted = choice.value if choice is not None and isinstance(choice.value, Vector) else None
        given = getattr(wanted, which) if wanted else None
        if choice is not None and isinstance(given, int):
            return Origin(field, value, choice.place, f"vector {choice.text} of {choice.source}")
        reason = FAMILIES[instance.family].vector_reason(given, which, instance)
        return Origin(field, value, choice.place if choice is not None and given else None, reason)


@dataclass(frozen=True, slots=True)
class Removed:
    """A combination of a group that does not exist because it was excluded or because it breaks rules."""

    instance: Instance
    provenance: Provenance
    place: Place
    violations: tuple[Violation, ...] = ()  # empty: an exclude entry matched

    @property
    def reason(self) -> str:
        """One sentence that names the exclude entry or the rule, and its place."""
        if not self.violations:
            return f"excluded at {self.place}"
        rules = "; ".join(f"{violation.rule.id}: {violation.message}" for violation in self.violations)
        return f"skipped by `invalid: skip` at {self.place}: {rules}"


def show(value: object) -> str:
    """A value of an axis as the file writes it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(show(part) for part in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)

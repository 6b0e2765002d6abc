"""Reasons why a combination does not exist: a set leaves it out, an exclude entry or a rule removes it, or no group has
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import same_form
from ckgen.families.registry import FAMILIES
from ckgen.instance.checker import Checker
from ckgen.instance.filters import Term, matching
from ckgen.instance.instance import BY_RULE, CONV_SPECS, Instance
from ckgen.operations.operation import LAYOUTS, OPERATIONS
from ckgen.spec.checks import WAVE_KEYS
from ckgen.spec.expand import Expansion
from ckgen.spec.models import AXES
from ckgen.spec.nearest_valid import repairs
from ckgen.spec.products import Kind, Product, build, kind_of, products, values_of
from ckgen.spec.provenance import OPERAND_FIELDS, Provenance, show
from ckgen.spec.types import MAX_EXTENT, Operands, Tile, Vector

MAX_REASONS = 5
_TABLES = {"layout": LAYOUTS, "dtype": tuple(DTYPES), "conv_spec": tuple(CONV_SPECS)}


def explain_absent(expansion: Expansion, terms: Sequence[Term]) -> str:
    """The reasons as text, given that no instance passes `terms`."""
    asked = " ".join(term.text for term in terms)
    lines = [f"no instance has {asked}"]
    lines += list(_left_out_of_set(expansion, terms) or _removed(expansion, terms) or _never_made(expansion, terms))
    return "\n".join(lines) + "\n"


def _left_out_of_set(expansion: Expansion, terms: Sequence[Term]) -> list[str]:
    """The reason if the combination exists, but is not in the requested set."""
    rest = [term for term in terms if term.key != "set"]
    found = matching(rest, expansion.instances, expansion.sets)
    if len(rest) == len(terms) or not found:
        return []
    document = expansion.spec.document
    lines = [f"{len(found)} such instances exist, the first is {found[0].name}"]
    for name in (value for term in terms if term.key == "set" for value in term.values):
        if name in expansion.spec.sets:
            lines.append(f"set `{name}` at {document.key_place('sets', name)} selects none of them:")
            for number, line in enumerate(expansion.spec.sets[name]):
                lines.append(f"  {document.place('sets', name, number)}: {line}")
            addition = " ".join(term.text for term in rest)
            lines.append(f"nearest change: add the line `{addition}` to set `{name}`")
        else:
            lines.append(f"there is no set `{name}`; sets are {', '.join(expansion.sets)}")
    return lines


def _removed(expansion: Expansion, terms: Sequence[Term]) -> list[str]:
    """The reasons if a group has the combination, but an exclude entry or a rule removes it."""
    by_name = {removed.instance.name: removed for removed in expansion.removed}
    found = matching(terms, [removed.instance for removed in expansion.removed], expansion.sets)
    reasons: dict[str, list[str]] = {}
    for instance in found:
        removed = by_name[instance.name]
        reasons.setdefault(removed.reason, []).append(instance.name)
    lines: list[str] = []
    for reason, names in list(reasons.items())[:MAX_REASONS]:
        removed = by_name[names[0]]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        lines.append(f"{names[0]}{more} of group `{removed.provenance.group}`: {reason}")
        if removed.violations:
            lines += [f"  why: {violation.rule.reason}" for violation in removed.violations]
            axes = [axis for violation in removed.violations for axis in violation.rule.blame]
            values = values_of(removed.provenance.choices)
            lines += _repair(removed.instance, values, axes, values.get("archs", ()))
        else:
            lines.append(f"nearest change: remove or narrow the exclude at {removed.place}")
    return lines


def _named(wishes: Sequence[Term], key: str, names: Sequence[str], nearest: str) -> str:
    """The name that a term asks for, perhaps by a pattern; that of the nearest instance if it matches or none is asked
    for."""
    pattern = next((term.values[0] for term in wishes if term.key == key), nearest)
    return next((name for name in (nearest, *names) if fnmatch(name, pattern)), nearest)


def _never_made(expansion: Expansion, terms: Sequence[Term]) -> list[str]:
    """The reasons if no group has the combination, which is built from the nearest instance and checked."""
    wishes = [term for term in terms if term.op == "=" and len(term.values) == 1]
    base, provenance = _nearest(expansion, wishes)
    given = values_of(provenance.choices)
    values = _wished(given, base, wishes)
    family = _named(wishes, "family", tuple(FAMILIES), base.family)
    generic = next((term.values[0] == "true" for term in wishes if term.key == "generic"), base.generic)
    if not isinstance(values, dict):
        return [values]
    values = _for_family(values, family)
    operation = _named(wishes, "operation", tuple(OPERATIONS), base.operation)
    instance = build(Kind(operation, family, generic), values)
    checker = Checker()
    archs = tuple(term.values[0] for term in wishes if term.key == "arch")
    violations = checker.violations(instance, archs)
    lines = [f"nearest is {base.name} of group `{provenance.group}`"]
    for violation in violations:
        lines.append(f"  {violation.rule.id}: {violation.message}")
        lines.append(f"  why: {violation.rule.reason}")
    if violations:
        axes = [axis for violation in violations for axis in violation.rule.blame]
        axes.sort(key=lambda axis: values.get(axis) != given.get(axis))  # requested values change last
        advice = [f"nearest change: {violations[0].help}"]
        return lines + (_repair(instance, values, axes, archs) or advice)
    if instance.name in expansion.provenance:
        failed = [term.text for term in terms if not matching([term], [base], expansion.sets)]
        return [*lines, f"it fails {' and '.join(failed)}"]
    lines.append(f"no rule forbids {instance.name}, but no group asks for it")
    return lines + _additions(expansion, provenance, values, family)


def _repair(instance: Instance, values: Mapping[str, Any], axes: Sequence[str], archs: Sequence[str]) -> list[str]:
    found = repairs(kind_of(instance), values, axes, Checker(), archs)
    if not found:
        return []
    return [f"nearest change: {found[0][0]} {' or '.join(value for _, value in found)} would satisfy every rule"]


def _nearest(expansion: Expansion, wishes: Sequence[Term]) -> tuple[Instance, Provenance]:
    """The instance, made or removed, that fulfils most wishes; the first one if there are several."""
    known = [(instance, expansion.provenance[instance.name]) for instance in expansion.instances]
    known += [(removed.instance, removed.provenance) for removed in expansion.removed]
    scores = [0] * len(known)
    instances = [instance for instance, _ in known]
    for wish in wishes:
        passing = {id(instance) for instance in matching([wish], instances, expansion.sets)}
        weight = 2 if wish.key in ("family", "generic") else 1
        for number, instance in enumerate(instances):
            scores[number] += weight if id(instance) in passing else 0
    return known[max(range(len(known)), key=scores.__getitem__)]


def _wished(values: dict[str, Any], base: Instance, wishes: Sequence[Term]) -> dict[str, Any] | str:
    """The axis values of the base with the requested values in place of its own, or the reason why a wish is
    impossible."""
    for wish in wishes:
        key, text = wish.key, wish.values[0]
        try:
            change = dict(_axis_values(key, text, values, base))
        except ValueError:
            return f"`{text}` is not a valid value of {key}"
        values = {**values, **change}
    return values


def _axis_values(key: str, text: str, values: Mapping[str, Any], base: Instance) -> Iterator[tuple[str, Any]]:
    """The values of axes that a wish stands for. Raises ValueError for a value that no spec can contain."""
    tile: Tile = values["tile"]
    if key == "ndim":
        yield "layout", _one(filter(None, [same_form(base.layout, int(text))]))
    elif key in _TABLES:
        yield key, _one(word for word in _TABLES[key] if fnmatch(word.casefold(), text.casefold()))
    elif key == "tile":
        wanted = Tile.model_validate(text)
        yield key, tile.model_copy(update={k: v for k, v in wanted.model_dump().items() if v is not None})
    elif key in ("m_per_block", "n_per_block"):
        yield "tile", Tile.model_validate({**tile.model_dump(), key: _number(text)})
    elif key == "k_per_block":
        yield key, _number(text)
        yield "tile", tile.model_copy(update={"k_per_block": None})
    elif key == "block_size":
        wave = FAMILIES[base.family].wave_size
        yield key, wave * _number(text, wave)
        yield "tile", tile.model_copy(update={"block_size": None})
    elif key == "wave_ratio":
        load, math_waves = text.replace(":", "x").split("x")
        yield key, (_number(load), _number(math_waves))
    elif key in ("load_waves", "math_waves"):
        yield from _waves(key, 0 if text == "0" and key == "load_waves" else _number(text), base)
    elif key in ("m_per_xdl", "stages"):
        yield key, _number(text)
    elif key == "vector":
        yield key, Vector.model_validate(dict(zip("abc", map(int, text.split("x")), strict=True)))
    elif key in OPERAND_FIELDS:
        a, b = map(int, text.split("x"))
        yield key, Operands(a=a, b=b)
    elif key in BY_RULE and text != "0":  # 0 is the rule's
        axis = next(axis for axis, fields in OPERAND_FIELDS.items() if key in fields)
        given = values.get(axis) or Operands()
        yield axis, Operands(**{**given.model_dump(), key[0]: _number(text)})
    elif key in ("a_vector", "b_vector", "c_vector"):
        old = values.get("vector") or Vector()
        yield "vector", Vector.model_validate({**old.model_dump(), key[0]: _number(text)})


def _number(text: str, unit: int = 1) -> int:
    """A number converted to units, from 1 up to the limit of a spec."""
    count, rest = divmod(int(text), unit)
    if rest or not 1 <= count <= MAX_EXTENT:
        raise ValueError(f"{text} is out of range")
    return count


def _waves(key: str, waves: int, base: Instance) -> Iterator[tuple[str, Any]]:
    ratio = {"load_waves": base.load_waves, "math_waves": base.math_waves, key: waves}
    if ratio["load_waves"]:
        yield "wave_ratio", (ratio["load_waves"], ratio["math_waves"])
    else:
        yield "block_size", FAMILIES[base.family].wave_size * ratio["math_waves"]


def _one(words: Iterable[str]) -> str:
    for word in words:
        return word
    raise ValueError("no such word")


def _for_family(values: dict[str, Any], family: str) -> dict[str, Any]:
    """The values with the wave key of the requested family, if the nearest instance is of another family."""
    own, usual = FAMILIES[family].wave_key, FAMILIES[family].usual_waves
    if own == "wave_ratio":
        values = {**values, "tile": values["tile"].model_copy(update={"block_size": None})}
    if usual is not None:
        values = {"wave_ratio": usual, **values}
    elif own == "block_size" and "block_size" not in values and values["tile"].block_size is None:
        values = {**values, "block_size": FAMILIES[family].wave_size * sum(values.get("wave_ratio", (0, 4))[1:])}
    other = next(key for key in WAVE_KEYS if key != own)
    return {axis: value for axis, value in values.items() if axis != other}


def _additions(expansion: Expansion, provenance: Provenance, values: Mapping[str, Any], family: str) -> list[str]:
    """The values to add to each axis of the nearest group so that it makes the combination."""
    spec = expansion.spec
    index = next(i for i, group in enumerate(spec.groups) if group.name == provenance.group)
    group = spec.groups[index]
    if group.family != family:
        return [f"nearest change: a new group of family {family} with these values"]
    product: Product = products(spec, index)[0]
    lines = []
    for axis in AXES:
        choices = product.axes.get(axis, ())
        if axis not in values or values[axis] in [choice.value for choice in choices]:
            continue
        value = show(values[axis])
        if choices:
            where = f"`{axis}` of {choices[0].source} at {choices[0].place}"
            lines.append(f"nearest change: add {value} to {where}")
        else:
            lines.append(f"nearest change: give group `{group.name}` at {provenance.place} `{axis}: {value}`")
    return lines or [f"nearest change: take it into group `{group.name}` at {provenance.place} by `include`"]

"""docs/spec.md: every key of instances.yaml with its values, default, rules and an example, made from the models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# An example per key; a test puts each into a spec.
EXAMPLES = {
    "version": "version: 1",
    "defaults": "defaults: {dtype: f16, xdl: {block_size: 256}}",
    "groups": "groups: [{name: any, family: xdl, ...}]",
    "functions": "functions: [{name: Scaled, tensors: [d], expression: e + d}]",
    "sets": "sets: {ci: [generic=true, family=wavelet tile=64x64]}",
    "group.sets": "sets: [ci, small]",
    "name": "name: wavelet",
    "family": "family: wavelet",
    "operation": "operation: grouped_conv_bwd_data",
    "generic": "generic: true",
    "invalid": "invalid: skip",
    "include": "include: [{tile: 32x64, dtype: f16}]",
    "exclude": "exclude: [{tile: 128x128, dtype: bf16}]",
    "layout": "layout: NHWGC/GKYXC/NHWGK",
    "function": "function: [PassThrough, AddResidual]",
    "dtype": "dtype: [f16, bf16]",
    "conv_spec": "conv_spec: [Default, Filter1x1Stride1Pad0]",
    "tile": "tile: [128x128, 128x64x32]",
    "block_size": "block_size: 256",
    "wave_ratio": "wave_ratio: [4x4, 4x2]",
    "k_per_block": "k_per_block: 32",
    "m_per_xdl": "m_per_xdl: 16",
    "vector": "vector: [full, 4x4x2]",
    "lds_write": "lds_write: {a: 2, b: 1}",
    "copy_k1": "copy_k1: 8",
    "stages": "stages: [1, 2]",
    "groups_to_merge": "groups_to_merge: [1, 2, 4]",
    "exchange": "exchange: true",
    "cluster": "cluster: 2",
    "transpose": "transpose: {dst: 2, vector: 2, lds_write: 2}",
    "pipeline_version": "pipeline_version: v1",
    "scheduler": "scheduler: Intrawave",
    "archs": "archs: [gfx90a, gfx942]",
    "limits": "limits: {spills: 0, scratch: 0}",
}
_AXES_INTRO = """## Axes

Each is a value or a list of values; a group is the product of its lists, the last key of this table fastest. A key may
also be in `defaults`, for all groups, an operation or a family.

"""
_INTRO = """# The spec

`instances.yaml` alone says which kernel instances exist. This page has every key; `ckgen explain NAME` says for one
instance where each of its values comes from, and `ckgen schema` prints a JSON Schema with which editors complete and
check the file.

<!-- file: instances.yaml -->
```yaml
version: 1

defaults:                        # for every group that does not give its own
  dtype: [f16, bf16]
  layout: NHWGC/GKYXC/NHWGK
  grouped_conv_bwd_data: {layout: NHWGK/GKYXC/NHWGC}   # for the groups of one operation
  xdl: {block_size: 256}         # for the groups of one family

groups:
  - name: wavelet
    family: wavelet
    wave_ratio: 4x4
    tile: [128x128, 64x64]       # 2 tiles x 2 types = 4 instances
    conv_spec: Default
    exclude: [{tile: 128x128, dtype: bf16}]            # 3 are left
  - name: input
    operation: grouped_conv_bwd_data
    family: xdl
    tile: 128x64
    conv_spec: Default
    include: [{tile: 64x64, dtype: f16}]               # and one more

sets:
  ci: [family=wavelet tile=64x64, operation=grouped_conv_bwd_data]
```

```sh
ckgen validate
ckgen list
ckgen explain family=wavelet tile=64x64 dtype=f16
```

Which value counts: the group's own, else the default of its family for its operation, of its operation, of its family,
of all; else the rule's ([below](#values-by-rule)). A combination that breaks a [rule](rules.md) is an error at its
place in the file, or is left out if the group says `invalid: skip`. Widths and waves are written as in names:
`tile: 128x64x32`, `wave_ratio: 4x4`, `vector: 8x8x2`. The sets `full` and `default` exist in every spec; they have all
instances unless the spec defines them.
"""
_LIMITS = (("minimum", "at least"), ("maximum", "at most"))
_WORDS = {"string": "text", "integer": "number", "number": "number", "boolean": "true or false", "object": "map"}


def spec_page(notice: str) -> str:
    """The text of the page."""
    from ckgen.spec.models import AXES, Axes, Group, Spec

    parts = [notice, _INTRO]
    rules = _rules_of_keys()
    schema = _schema()
    top, own = tuple(Spec.model_fields), [key for key in Group.model_fields if key not in Axes.model_fields]
    shared = [key for key in Axes.model_fields if key in AXES]
    other = [key for key in Group.model_fields if key in Axes.model_fields and key not in AXES]
    group = schema["$defs"]["Group"]["properties"]
    parts.append("## The file\n\n" + _keys(top, schema["properties"], rules, schema))
    parts.append("## A group\n\n" + _keys([key for key in own if key != "limits"], group, rules, schema, "group."))
    parts.append(_AXES_INTRO + _keys(shared, group, rules, schema))
    parts.append("## Beside the axes\n\n" + _keys([*other, "limits"], group, rules, schema))
    parts.append(_members(schema))
    parts.append(_by_rule())
    return "\n".join(parts)


def _schema() -> dict[str, Any]:
    from ckgen.spec.models import json_schema

    return json_schema()


def _rules_of_keys() -> Mapping[str, Sequence[str]]:
    from ckgen.families.registry import RULES

    found: dict[str, list[str]] = {}
    for rule in RULES:
        for key in rule.blame:
            found.setdefault(key, []).append(rule.id)
    return found


def _keys(
    keys: Iterable[str],
    properties: Mapping[str, Any],
    rules: Mapping[str, Sequence[str]],
    schema: Mapping[str, Any],
    prefix: str = "",
) -> str:
    parts = []
    for key in keys:
        told = properties[key]
        text = [f"### `{key}`\n", _sentence(told.get("description", ""))]
        text.append(f"\n- Values: {_values(told, schema)}")
        if "default" in told:
            text.append(f"- Default: {_plain(told['default'])}")
        text.append(f"- Example: `{EXAMPLES.get(prefix + key) or EXAMPLES[key]}`")
        if key in rules:
            text.append("- Rules: " + ", ".join(f"[{name}](rules.md#{name})" for name in rules[key]))
        parts.append("\n".join(text) + "\n")
    return "\n".join(parts)


def _values(told: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The kinds of value of a property, in words."""
    words: list[str] = []
    for option in told.get("anyOf", [told]):
        if "$ref" in option:
            name = option["$ref"].rsplit("/", 1)[1]
            inner = schema["$defs"][name]
            texts = [_one(each) for each in inner.get("anyOf", []) if each.get("type") in ("string", "integer")]
            words += [*texts, f"a [map](#{'a-group' if name == 'Group' else name.lower()})"]
        elif option.get("type") == "array" and "items" in option and option.get("maxItems") != 2:
            words.append("a list of them" if words else f"a list of {_values(option['items'], schema)}")
        else:
            words.append(_one(option))
    return ", or ".join(dict.fromkeys(words))


def _one(option: Mapping[str, Any]) -> str:
    if "enum" in option:
        return ", ".join(f"`{word}`" for word in option["enum"])
    if "const" in option:
        return f"`{option['const']}`"
    if "examples" in option:
        return "text as " + ", ".join(f"`{text}`" for text in option["examples"])
    if option.get("type") == "array":
        return "two numbers `[4, 2]`"
    limits = [f"{word} {option[key]}" for key, word in _LIMITS if key in option]
    return " ".join([_WORDS.get(str(option.get("type")), "map"), *limits])


def _members(schema: Mapping[str, Any]) -> str:
    """Tables of the maps that values may be."""
    parts = ["## Maps\n"]
    for name in ("Tile", "Vector", "Operands", "Limits", "LoopLimits", "FunctionEntry", "TensorEntry"):
        inner = schema["$defs"][name]
        properties = inner.get("properties") or next(o["properties"] for o in inner["anyOf"] if "properties" in o)
        rows = [
            f"| `{key}` | {_values(told, schema).replace('|', '/')} | {_sentence(told.get('description', ''))} |"
            for key, told in properties.items()
        ]
        parts.append(f"### {name}\n\n| key | value | meaning |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _by_rule() -> str:
    """A table of the values that families derive."""
    from ckgen.families.family import REASONS
    from ckgen.families.registry import FAMILIES

    names = list(dict.fromkeys((*REASONS, *(name for family in FAMILIES.values() for name in family.reasons))))
    parts = ["## Values by rule\n\nThe reason that `ckgen explain` shows for a value that the file does not give.\n"]
    for family in FAMILIES.values():
        rows = [
            f"| `{name}` | {_cell(family.reasons.get(name) or REASONS[name])} |"
            for name in names
            if name in family.reasons or name in REASONS
        ]
        waves = f"`{family.wave_key}`" + ("" if family.needs_waves else ", or by rule")
        parts.append(f"### {family.name}\n\n{_sentence(family.summary)} Key for its waves: {waves}.\n")
        parts.append("| value | by rule |\n| --- | --- |\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return re.sub(r"^by rule: ", "", text).replace("|", "/")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "." if text else ""


def _plain(value: Any) -> str:
    if value in ([], {}):
        return "nothing"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"

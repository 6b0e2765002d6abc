"""The rules in C++: the asserts of the rendered header ckgen/config/rules.hpp."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ckgen.families.formulas import names_in
from ckgen.families.registry import FAMILIES, FAMILIES_OF, RULES, families_with
from ckgen.instance.checker import ARCH_NAMES
from ckgen.operations.operation import OPERATIONS

# C++ expressions for names that are not integer constants of the instance's struct.
_CPP_WORDS = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "pointwise": "(conv_spec == ConvSpec::Filter1x1Stride1Pad0)",
    "groups_outermost": "D::Layout::groups_outermost",
    "channels_last": "D::Layout::channels_last",
}
_OF_LAYOUT = ("groups_outermost", "channels_last")  # read from the type of the layout
_MEMBERS = {"pointwise": "conv_spec"}  # the member of the struct from which a name is read, if it has another name
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class CppRule:
    """A rule as a template needs it: `static_assert(condition, "id: sentence")`.

    A condition of scope "arch" also uses names of the target, so it can only be asserted where the target is known.
    """

    id: str
    condition: str
    sentence: str
    scope: str
    families: tuple[str, ...]
    operations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of one operation's families that share a struct of derived values, as rules.hpp.j2 needs them.

    `names` are the members of that struct that the conditions read, in order of appearance.
    """

    prefix: str
    operation: str
    families: tuple[str, ...]
    names: tuple[str, ...]
    rules: tuple[CppRule, ...]
    arch_names: tuple[str, ...]
    arch_rules: tuple[CppRule, ...]


def cpp_conditions() -> tuple[CppRule, ...]:
    """Every rule in C++ syntax, in table order."""
    return tuple(
        CppRule(rule.id, _to_cpp(rule.condition), rule.sentence, rule.scope, families_with(rule), rule.operations)
        for rule in RULES
    )


def _to_cpp(condition: str) -> str:
    text = _WORD.sub(lambda match: _CPP_WORDS.get(match.group(), match.group()), condition)
    return text.replace("! ", "!")


def rule_sets() -> tuple[RuleSet, ...]:
    """The structs of rules.hpp: one per operation and group of families that share a struct of derived values."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for operation in OPERATIONS:
        for family in FAMILIES_OF[operation]:
            kinds.setdefault((operation, FAMILIES[family].struct), []).append(family)
    return tuple(_rule_set(operation, struct, tuple(families)) for (operation, struct), families in kinds.items())


def _rule_set(operation: str, prefix: str, families: tuple[str, ...]) -> RuleSet:
    own = [rule for rule in cpp_conditions() if set(families) <= set(rule.families) and operation in rule.operations]
    prefix = OPERATIONS[operation].prefix + prefix
    general = tuple(rule for rule in own if rule.scope != "arch")
    of_arch = tuple(rule for rule in own if rule.scope == "arch")
    return RuleSet(prefix, operation, families, _members(general), general, _members(of_arch), of_arch)


def _members(rules: tuple[CppRule, ...]) -> tuple[str, ...]:
    """The members of an instance's struct that the rules read, in order of appearance."""
    ids = {rule.id for rule in rules}
    conditions = [rule.condition for rule in RULES if rule.id in ids]
    names = dict.fromkeys(name for condition in conditions for name in names_in(condition))
    return tuple(_MEMBERS.get(name, name) for name in names if name not in (*ARCH_NAMES, *_OF_LAYOUT))

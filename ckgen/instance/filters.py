"""The filter language, used by the sets of a spec and by every command.

    *wavelet*            a glob on the name; several globs and ids are alternatives
    3f2a91c0             an id that `ckgen list` shows, or its first four digits or more
    dtype=f16,bf16       a value, with alternatives; each value may be a glob
    family!=xdl          any other value
    m_per_block>=128     >=, <=, > and < on numbers

An instance passes if all terms hold. A term or glob that no instance matches is an error, never an empty result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ckgen.errors import CkgenError, Diagnostic, did_you_mean, nearest
from ckgen.instance.instance import ID_DIGITS, Instance
from ckgen.instance.keys import COMPARE, GLOB, KEYS, NUMBERS, Columns, Sets, has, values_of

LEAST_DIGITS = 4  # of an id: no name begins with four hexadecimal digits
# A test, or an id or its first digits.
_TERM = re.compile(
    rf"(?P<id>[0-9a-f]{{{LEAST_DIGITS},{ID_DIGITS}}})|(?P<key>\w+)\s*(?P<op>!=|>=|<=|=|>|<)\s*(?P<value>.*)", re.DOTALL
)
_MOST_DIGITS = 18  # no field has more, and Python refuses to parse thousands


@dataclass(frozen=True, slots=True)
class Term:
    """One test: `key op value`; a glob on the name is `name=glob`, an id or its first digits `id=digits*`."""

    text: str
    key: str
    op: str
    values: tuple[str, ...]


def parse_terms(filters: Sequence[str]) -> tuple[Term, ...]:
    """The terms of a filter. Raises CkgenError (exit 2) that names every invalid word."""
    terms, problems = read_terms(filters)
    if problems:
        raise CkgenError(problems)
    return terms


def read_terms(filters: Sequence[str]) -> tuple[tuple[Term, ...], list[Diagnostic]]:
    """The terms of a filter, and a diagnostic per invalid word."""
    terms: list[Term] = []
    problems: list[Diagnostic] = []
    for text in filters:
        term = _parse_term(text.strip())
        if isinstance(term, Term):
            terms.append(term)
        else:
            problems.append(term)
    return tuple(terms), problems


def matching(terms: Sequence[Term], instances: Sequence[Instance], sets: Sets) -> tuple[Instance, ...]:
    """The instances that pass, in the order given."""
    return _matching(terms, Columns(instances), sets)


def _matching(terms: Sequence[Term], columns: Columns, sets: Sets) -> tuple[Instance, ...]:
    found = [positions for _, positions in _alternatives(terms, columns, sets)]
    if not found:
        return columns.instances
    return tuple(columns.instances[at] for at in sorted(frozenset.intersection(*found)))


def _alternatives(terms: Sequence[Term], columns: Columns, sets: Sets) -> list[tuple[tuple[Term, ...], frozenset[int]]]:
    """The positions of the instances that pass each term; globs and ids are alternatives, so they are one entry."""
    found: list[tuple[tuple[Term, ...], frozenset[int]]] = [
        ((term,), _passing(term, columns, sets)) for term in terms if not _is_glob(term)
    ]
    globs = tuple(term for term in terms if _is_glob(term))
    if globs:
        found.append((globs, frozenset[int]().union(*(_passing(term, columns, sets) for term in globs))))
    return found


def _passing(term: Term, columns: Columns, sets: Sets) -> frozenset[int]:
    """The positions of the instances that pass a term."""
    op = "=" if term.op == "!=" else term.op
    found = frozenset[int]().union(*(columns.holding(term.key, op, value, sets) for value in term.values))
    return found if op == term.op else frozenset(range(len(columns.instances))) - found


def filtered(instances: Sequence[Instance], filters: Sequence[str], *, sets: Sets) -> tuple[Instance, ...]:
    """The instances that pass all filters, in the order given.

    Raises CkgenError (exit 2) with the nearest names if a filter is wrong or no instance passes.
    """
    selected, problems = select(instances, parse_terms(filters), sets)
    if problems:
        raise CkgenError(problems)
    return selected


def select(
    instances: Sequence[Instance] | Columns, terms: Sequence[Term], sets: Sets
) -> tuple[tuple[Instance, ...], list[Diagnostic]]:
    """The instances that pass, in the order given, or diagnostics if none does. For many filters on the same instances,
    give their `Columns`."""
    columns = instances if isinstance(instances, Columns) else Columns(instances)
    problems = [problem for term in terms for problem in _unmatched(term, columns, sets)]
    selected = () if problems else _matching(terms, columns, sets)
    if not selected and not problems:
        problems = [_conflict(terms, columns, sets)]
    return selected, problems


def counted(instances: Sequence[Instance], sets: Sets, keys: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Count the instances of each combination of values of these keys, in the order of their first instances; several
    values of one key are joined by commas. Raise CkgenError (exit 2) for keys that filters do not have."""
    unknown = [key for key in keys if key not in KEYS]
    if unknown:
        raise CkgenError(
            [Diagnostic(None, "unknown-filter-key", f"no key `{key}`", did_you_mean(key, KEYS)) for key in unknown]
        )
    return Counter(tuple(",".join(values_of(key, instance, sets)) for key in keys) for instance in instances)


def _parse_term(text: str) -> Term | Diagnostic:
    match = _TERM.fullmatch(text)
    if match is None or not text.isprintable():
        if not text or not text.isprintable() or any(char.isspace() for char in text):
            return Diagnostic(None, "bad-filter", f"`{text}` is not a filter", "write a glob or key=value")
        return Term(text, "name", "=", (text,))
    if match["id"]:
        return Term(text, "id", "=", (text + "*",))
    key, op, value = match["key"], match["op"], match["value"].strip()
    if key not in KEYS:
        message, find_help = f"`{text}`: no key `{key}`", partial(did_you_mean, key, KEYS)
        return Diagnostic(None, "unknown-filter-key", message, find_help=find_help)
    values = tuple(part.strip() for part in value.split(","))
    if not all(values):
        return Diagnostic(None, "bad-filter", f"`{text}`: a value is missing", f"write {key}{op}VALUE[,VALUE]")
    if any(char.isspace() for part in values for char in part):
        return Diagnostic(
            None, "bad-filter", f"`{text}`: there is a blank in a value", "write each test as its own word"
        )
    if op in COMPARE and not (key in NUMBERS and len(values) == 1 and re.fullmatch("[0-9]+", values[0])):
        message = f"`{text}`: {op} compares a number key with one number"
        return Diagnostic(None, "bad-filter", message, f"write {key}={value}" if key not in NUMBERS else "")
    if op in COMPARE and len(values[0]) > _MOST_DIGITS:
        return Diagnostic(None, "bad-filter", f"`{text}`: a number has at most {_MOST_DIGITS} digits")
    return Term(text, key, op, values)


def _is_glob(term: Term) -> bool:
    return term.key in ("name", "id") and term.op == "="


def _unmatched(term: Term, columns: Columns, sets: Sets) -> list[Diagnostic]:
    """One diagnostic per value of a term that no instance has."""
    op = "=" if term.op == "!=" else term.op
    return [
        _nothing_has(Term(term.text, term.key, op, (value,)), value, columns.instances, sets)
        for value in term.values
        if not columns.holding(term.key, op, value, sets)
    ]


def _nothing_has(term: Term, value: str, instances: Sequence[Instance], sets: Sets) -> Diagnostic:
    message = f"no instance has {term.key}={value}"
    if term.op in COMPARE:
        message = f"no instance has {term.text}"
    elif _is_glob(term):
        message = f"no instance is called `{value}`" if term.key == "name" else f"no instance has the id `{term.text}`"
    find_help = partial(_what_there_is, term, value, instances, sets)
    return Diagnostic(None, "empty-selection", message, find_help=find_help)


def _what_there_is(term: Term, value: str, instances: Sequence[Instance], sets: Sets) -> str:
    if term.op in COMPARE:
        numbers = sorted({getattr(instance, term.key) for instance in instances if has(term.key, instance)})
        return f"{term.key} is {numbers[0]} to {numbers[-1]}" if numbers else ""
    if term.key == "id":
        return "`ckgen list --set full` shows the ids"
    if _is_glob(term):
        return suggest_names(value, instances)
    if term.key == "set":
        return did_you_mean(value, tuple(sets))
    known = dict.fromkeys(text for instance in instances for text in values_of(term.key, instance, sets))
    return did_you_mean(value, known)


def suggest_names(glob: str, instances: Sequence[Instance]) -> str:
    """Help for a glob that matches no name: the nearest name or, if it has wildcards, the nearest word of a name."""
    names = [instance.name for instance in instances]
    if len(glob) < LEAST_DIGITS and set(glob) <= set("0123456789abcdef"):
        return f"of an id, write at least {LEAST_DIGITS} digits; of a name, a part as `*{glob}*`"
    if GLOB.isdisjoint(glob):
        return did_you_mean(glob, names) or f"for a part of a name, write `*{glob}*`"
    words = dict.fromkeys(word for name in names for word in name.split("_"))
    near = nearest(glob.strip("*?"), tuple(words), 1)
    return f"did you mean `*{near[0]}*`?" if near else ""


def _conflict(terms: Sequence[Term], columns: Columns, sets: Sets) -> Diagnostic:
    """The diagnostic if each term matches an instance but no instance matches all of them."""
    message = f"no instance passes {' '.join(term.text for term in terms)}" if terms else "there are no instances"
    return Diagnostic(None, "empty-selection", message, find_help=partial(_left_without, terms, columns, sets))


def _left_without(terms: Sequence[Term], columns: Columns, sets: Sets) -> str:
    """The number of instances that would pass without a term, for each term. Several globs on the name are
    alternatives, so that omitting one of them adds no instance."""
    entries = _alternatives(terms, columns, sets)
    told = []
    for at, (own, _) in enumerate(entries):
        others = [positions for number, (_, positions) in enumerate(entries) if number != at]
        count = len(frozenset.intersection(*others)) if others else len(columns.instances)
        if count and len(own) == 1:
            told.append((terms.index(own[0]), f"without `{own[0].text}` there are {count}"))
    return "; ".join(text for _, text in sorted(told))

"""The filter language, used by the sets of a spec and by every command.

    *wavelet*            a glob on the name; several globs and ids are alternatives
    3f2a91c0             an id that `ckgen list` shows, or its first four digits or more
    dtype=f16,bf16       a value, with alternatives; each value may be a glob
    family!=xdl          any other value
    m_per_block>=128     >=, <=, > and < on numbers

An instance passes if all terms hold. A term or glob that no instance matches is an error, never an empty result.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import attrgetter

from ckgen.errors import CkgenError, Diagnostic, did_you_mean, nearest
from ckgen.families.registry import DERIVED_NAMES, FAMILIES
from ckgen.instance.instance import FIELD_NAMES, ID_DIGITS, Instance

Sets = Mapping[str, Collection[str]]

LEAST_DIGITS = 4  # of an id: no name begins with four hexadecimal digits
# A test, or an id or its first digits.
_TERM = re.compile(
    rf"(?P<id>[0-9a-f]{{{LEAST_DIGITS},{ID_DIGITS}}})|(?P<key>\w+)\s*(?P<op>!=|>=|<=|=|>|<)\s*(?P<value>.*)", re.DOTALL
)
_COMPARE: dict[str, Callable[[int, int], bool]] = {
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
}
_GLOB = frozenset("*?[")
_MOST_DIGITS = 18  # no field has more, and Python refuses to parse thousands
_DERIVED = frozenset(DERIVED_NAMES)
_NUMBERS = _DERIVED | {name for name, kind in Instance.__annotations__.items() if kind == "int"}
KEYS = tuple(dict.fromkeys((*FIELD_NAMES, *_SPELLED, "set", *DERIVED_NAMES)))


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
    globs = [term for term in terms if _is_glob(term)]
    tests = [_test(term, sets) for term in terms if not _is_glob(term)]
    if globs:
        tests.append(_any_of(globs, sets))
    kept: Sequence[Instance] = instances
    for test in tests:
        kept = [instance for instance in kept if test(instance)]
    return tuple(kept)


def filtered(instances: Sequence[Instance], filters: Sequence[str], *, sets: Sets) -> tuple[Instance, ...]:
    """The instances that pass all filters, in the order given.

    Raises CkgenError (exit 2) with the nearest names if a filter is wrong or no instance passes.
    """
    selected, problems = select(instances, parse_terms(filters), sets)
    if problems:
        raise CkgenError(problems)
    return selected


def select(
    instances: Sequence[Instance], terms: Sequence[Term], sets: Sets
) -> tuple[tuple[Instance, ...], list[Diagnostic]]:
    """The instances that pass, in the order given, or diagnostics if none does."""
    problems = [problem for term in terms for problem in _unmatched(term, instances, sets)]
    selected = () if problems else matching(terms, instances, sets)
    if not selected and not problems:
        problems = [_conflict(terms, instances, sets)]
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


def values_of(key: str, instance: Instance, sets: Sets) -> tuple[str, ...]:
    """The texts that a filter may use as the value of one key of an instance."""
    if key == "set":
        return tuple(name for name, members in sets.items() if instance.name in members)
    spelled = _SPELLED.get(key)
    if spelled:
        return spelled(instance)
    return (str(getattr(instance, key)),) if _has(key, instance) else ()


def _has(key: str, instance: Instance) -> bool:
    """False for a derived value that the instance's family does not have."""
    return key not in _DERIVED or key in FAMILIES[instance.family].formulas.names


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
    if op in _COMPARE and not (key in _NUMBERS and len(values) == 1 and re.fullmatch("[0-9]+", values[0])):
        message = f"`{text}`: {op} compares a number key with one number"
        return Diagnostic(None, "bad-filter", message, f"write {key}={value}" if key not in _NUMBERS else "")
    if op in _COMPARE and len(values[0]) > _MOST_DIGITS:
        return Diagnostic(None, "bad-filter", f"`{text}`: a number has at most {_MOST_DIGITS} digits")
    return Term(text, key, op, values)


def _is_glob(term: Term) -> bool:
    return term.key in ("name", "id") and term.op == "="


def _test(term: Term, sets: Sets) -> Callable[[Instance], bool]:
    key = term.key
    if term.op in _COMPARE:
        compare, bound = _COMPARE[term.op], int(term.values[0])
        return lambda instance: _has(key, instance) and compare(getattr(instance, key), bound)
    if key == "set":
        return _set_test(term, sets)
    if "*" in term.values:
        return lambda instance: term.op == "="
    wanted = {value.casefold() for value in term.values}
    patterns = [re.compile(fnmatch.translate(value)) for value in wanted if not _GLOB.isdisjoint(value)]
    read: Callable[[Instance], object] = partial(values_of, key, sets=sets)
    if key in FIELD_NAMES and key not in _SPELLED:
        read = attrgetter(key)  # faster
    known: dict[object, bool] = {}  # thousands of instances share few values

    def has(instance: Instance) -> bool:
        value = read(instance)
        found = known.get(value)
        if found is None:
            folded = [text.casefold() for text in values_of(key, instance, sets)]
            found = any(text in wanted or any(pattern.match(text) for pattern in patterns) for text in folded)
            known[value] = found
        return found

    return has if term.op == "=" else lambda instance: not has(instance)


def _any_of(globs: Sequence[Term], sets: Sets) -> Callable[[Instance], bool]:
    """The test of globs and ids, which are alternatives; one test per key, because thousands of instances pass it."""
    values: dict[str, list[str]] = {}
    for term in globs:
        values.setdefault(term.key, []).extend(term.values)
    by_key = [_test(Term("", key, "=", tuple(own)), sets) for key, own in values.items()]
    if len(by_key) == 1:
        return by_key[0]
    return lambda instance: any(test(instance) for test in by_key)


def _set_test(term: Term, sets: Sets) -> Callable[[Instance], bool]:
    names = {name for value in term.values for name in fnmatch.filter(list(sets), value)}
    members = frozenset(member for name in names for member in sets[name])
    wanted = term.op == "="
    return lambda instance: (instance.name in members) == wanted


def _unmatched(term: Term, instances: Sequence[Instance], sets: Sets) -> list[Diagnostic]:
    """One diagnostic per value of a term that no instance has."""
    found: list[Diagnostic] = []
    for value in term.values:
        op = "=" if term.op == "!=" else term.op
        one = Term(term.text, term.key, op, (value,))
        if not any(map(_test(one, sets), instances)):
            found.append(_nothing_has(one, value, instances, sets))
    return found


def _nothing_has(term: Term, value: str, instances: Sequence[Instance], sets: Sets) -> Diagnostic:
    message = f"no instance has {term.key}={value}"
    if term.op in _COMPARE:
        message = f"no instance has {term.text}"
    elif _is_glob(term):
        message = f"no instance is called `{value}`" if term.key == "name" else f"no instance has the id `{term.text}`"
    find_help = partial(_what_there_is, term, value, instances, sets)
    return Diagnostic(None, "empty-selection", message, find_help=find_help)


def _what_there_is(term: Term, value: str, instances: Sequence[Instance], sets: Sets) -> str:
    if term.op in _COMPARE:
        numbers = sorted({getattr(instance, term.key) for instance in instances if _has(term.key, instance)})
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
    if _GLOB.isdisjoint(glob):
        return did_you_mean(glob, names) or f"for a part of a name, write `*{glob}*`"
    words = dict.fromkeys(word for name in names for word in name.split("_"))
    near = nearest(glob.strip("*?"), tuple(words), 1)
    return f"did you mean `*{near[0]}*`?" if near else ""


def _conflict(terms: Sequence[Term], instances: Sequence[Instance], sets: Sets) -> Diagnostic:
    """The diagnostic if each term matches an instance but no instance matches all of them."""
    message = f"no instance passes {' '.join(term.text for term in terms)}" if terms else "there are no instances"
    return Diagnostic(None, "empty-selection", message, find_help=partial(_left_without, terms, instances, sets))


def _left_without(terms: Sequence[Term], instances: Sequence[Instance], sets: Sets) -> str:
    """The number of instances that would pass without a term, for each term. Several globs on the name are
    alternatives, so that omitting one of them adds no instance."""
    globs = [term for term in terms if _is_glob(term)]
    tests = [(term, _test(term, sets)) for term in terms if not _is_glob(term)]
    if len(globs) == 1:
        tests.append((globs[0], _test(globs[0], sets)))
    elif globs:
        instances = matching(globs, instances, sets)
    left = dict.fromkeys(terms, 0)
    for instance in instances:
        failed = list(islice((term for term, test in tests if not test(instance)), 2))
        if len(failed) == 1:
            left[failed[0]] += 1
    return "; ".join(f"without `{term.text}` there are {count}" for term, count in left.items() if count)

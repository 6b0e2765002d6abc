"""Explanation of an instance, or of the absence of a combination and the change that would add it."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from ckgen.conv.dtypes import DTYPES
from ckgen.cost.model import code_sentence
from ckgen.errors import CkgenError, Diagnostic, did_you_mean
from ckgen.explain.absent import explain_absent
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import ARCHES, NVIDIA_ARCHES
from ckgen.instance.filters import Term, matching, parse_terms, suggest_names
from ckgen.instance.instance import CONV_SPECS, FIELD_NAMES, Instance, derived, parse
from ckgen.machine_code.table import Table
from ckgen.operations.operation import LAYOUTS, OPERATIONS
from ckgen.spec.expand import Expansion

MAX_LISTED = 20
_WORDS: dict[str, tuple[str, ...]] = {
    "operation": tuple(OPERATIONS),
    "family": tuple(FAMILIES),
    "layout": LAYOUTS,
    "dtype": tuple(DTYPES),
    "conv_spec": tuple(CONV_SPECS),
    "arch": (*ARCHES, *NVIDIA_ARCHES),
}


def explain(expansion: Expansion, words: Sequence[str], tables: Mapping[str, Table] | None = None) -> str:
    """The output of `ckgen explain WORDS`. If one instance matches, by name or filter: the origin of each value, and
    the numbers of its machine code in `tables` (by architecture).

    If none matches: the rule, exclude entry, set or missing axis value that excludes it, and the nearest change that
    would add it. Raises CkgenError (exit 2) with the names if several match, and for words that are neither a filter
    nor a name.
    """
    terms = _terms(expansion, words)
    _check_words(expansion, terms)
    found = matching(terms, expansion.instances, expansion.sets)
    if len(found) == 1:
        return explain_instance(expansion, found[0]) + explain_code(found[0], tables or {})
    if found:
        more = [f"and {len(found) - MAX_LISTED} more"] if len(found) > MAX_LISTED else []
        notes = (*(f"{instance.short_id} {instance.name}" for instance in found[:MAX_LISTED]), *more)
        help = "add tests until one is left, or give its id; `ckgen list` lists them all"
        raise CkgenError([Diagnostic(None, "ambiguous", f"{len(found)} instances match", help, notes=notes)])
    return explain_absent(expansion, terms)


def explain_instance(expansion: Expansion, instance: Instance) -> str:
    """The origin of every value of an instance, and the values derived from them."""
    provenance = expansion.provenance[instance.name]
    sets = [name for name, members in expansion.sets.items() if instance.name in members]
    lines = [
        instance.name,
        f"  made by group `{provenance.group}`, {provenance.place}",
        f"  in sets {', '.join(sets) or 'none'}",
        f"  added by {instance.add_function}",
        "",
        "fields",
    ]
    rows = []
    for origin in provenance.origins(instance):
        value = " ".join(origin.value) if isinstance(origin.value, tuple) else str(origin.value)
        where = f"{origin.place}: {origin.how}" if origin.place else origin.how
        rows.append((origin.field, value, where))
    lines += _columns(rows)
    lines += ["", "derived"]
    formulas = FAMILIES[instance.family].formulas
    lines += _columns(
        [(name, str(value), formulas.meaning(name).rstrip(".")) for name, value in derived(instance).items()]
    )
    return "\n".join(lines) + "\n"


def explain_code(instance: Instance, tables: Mapping[str, Table]) -> str:
    """The numbers of an instance's machine code in the committed tables; empty if they do not contain it."""
    rows = []
    for arch, table in tables.items():
        if instance.name in table.rows:
            rows.append((arch, code_sentence(table.rows[instance.name], instance, arch), table.compiler))
    return "\n".join(["", "machine code", *_columns(rows)]) + "\n" if rows else ""


def _terms(expansion: Expansion, words: Sequence[str]) -> tuple[Term, ...]:
    """The words as a filter; a full name that does not exist becomes one term per field."""
    if not words:
        raise CkgenError([Diagnostic(None, "bad-filter", "nothing to explain", "give a name or key=value")])
    terms = parse_terms(words)
    names = {instance.name for instance in expansion.instances}
    out: list[Term] = []
    for term in terms:
        is_name = term.key == "name" and term.op == "=" and not set("*?[") & set(term.text)
        if not is_name or term.values[0] in names:
            out.append(term)
            continue
        try:
            asked = parse(term.values[0])
        except ValueError as error:
            help_text = suggest_names(term.values[0], expansion.instances)
            raise CkgenError([Diagnostic(None, "unknown-name", str(error), help_text)]) from error
        for field in FIELD_NAMES:
            value = str(getattr(asked, field)).lower() if field == "generic" else str(getattr(asked, field))
            out.append(Term(f"{field}={value}", field, "=", (value,)))
    return tuple(out)


def _check_words(expansion: Expansion, terms: Sequence[Term]) -> None:
    """Refuse words that can never match: these are typing errors, not absent combinations."""
    problems: list[Diagnostic] = []
    for term in terms:
        known = _WORDS.get(term.key, ())
        if term.key == "name":
            known = tuple(instance.name for instance in expansion.instances)
        folded = [word.casefold() for word in known]
        for value in term.values if known else ():
            if not fnmatch.filter(folded, value.casefold()):
                rule = f"unknown-{term.key.replace('_', '-')}"
                by_name = term.key == "name"
                near = suggest_names(value, expansion.instances) if by_name else did_you_mean(value, known)
                problems.append(Diagnostic(None, rule, f"there is no {term.key} `{value}`", near))
    if problems:
        raise CkgenError(problems)


def _columns(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows]

"""Conversion of a document to a Spec: it is validated, its groups are checked, and every problem has its place."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ckgen.errors import CkgenError, Diagnostic
from ckgen.spec.checks import check_groups, check_names
from ckgen.spec.functions import check_functions
from ckgen.spec.models import MODELS, Spec
from ckgen.spec.translate import Path, empty_values, translate
from ckgen.text.source import Document, Key


def parse(document: Document) -> Spec:
    """The spec of a document. Raises CkgenError (exit 2) with every problem of the form of the document."""
    spec, problems = collect(document)
    if problems or spec is None:
        raise CkgenError(problems)
    return spec


def collect(document: Document) -> tuple[Spec | None, list[Diagnostic]]:
    """The spec without its invalid groups (None if nothing is left), and the problems.

    One run can then also report problems with the instances of the other groups.
    """
    data = document.root.plain()
    empty = list(empty_values(document.root))
    spec, problems, paths = _validate(data, document, frozenset())
    paths += [path for path, _ in empty]
    if paths:
        spec, _, _ = _validate(data, document, frozenset(_top(path) for path in paths))
    problems += [diagnostic for _, diagnostic in empty]
    if spec is None:
        return None, problems
    spec._own_functions, broken = check_functions(document, spec.functions, ("functions",))
    problems += [*broken, *check_names(spec)]
    wrong = check_groups(spec)
    problems += dict.fromkeys(diagnostic for found in wrong for diagnostic in found)
    return spec.without(frozenset(index for index, found in enumerate(wrong) if found)), problems


def _top(path: Path) -> Key:
    """The part of a spec to drop because of a problem at `path`: a group (its number) or a top-level key."""
    if path[:1] == ("groups",) and len(path) > 1:
        return path[1]
    return path[0] if path else ""


def _validate(
    data: Any, document: Document, dropped: frozenset[Key]
) -> tuple[Spec | None, list[Diagnostic], list[Path]]:
    """The spec without `dropped`, which holds top-level keys (text) and groups (numbers); otherwise the paths of the
    problems."""
    groups = data.get("groups")
    kept: tuple[int, ...] = ()
    data = {key: value for key, value in data.items() if key not in dropped}
    if "defaults" in dropped or "version" in dropped:
        return None, [], []  # the groups cannot be interpreted
    if isinstance(groups, list) and "groups" not in dropped:
        kept = tuple(index for index in range(len(groups)) if index not in dropped)
        data["groups"] = [groups[index] for index in kept]
    try:
        spec = Spec.model_validate(data)
    except ValidationError as error:
        paths = [detail["loc"] for detail in error.errors(include_url=False, include_context=False)]
        return None, translate(error, document, MODELS), paths
    spec._document = document
    spec._kept = kept
    return spec, [], []

"""Checks of the rows and runs of a results file before anything is computed from them.

Without them, a file changed by an editor, a bad disk or another program would fail in the middle of a report, or give
wrong numbers without an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckgen.bench.job import problem_from_json
from ckgen.conv.dtypes import DTYPES
from ckgen.conv.notation import problem_fields
from ckgen.errors import CkgenError, Diagnostic
from ckgen.instance.instance import parse
from ckgen.operations.operation import OPERATIONS
from ckgen.text.shape import misfit

_ORIGIN_TEXTS = ("started", "host", "platform", "device", "driver", "software", "compiler", "commit_id")
_ORIGIN_SHAPE: dict[str, Any] = {
    **dict.fromkeys((*_ORIGIN_TEXTS, "spec_digest", "library_digest", "tool_version"), str),
    "settings": {str: (str, float, bool, None)},
    "ceilings": {str: float},
}
_ROW_SHAPE: dict[str, Any] = {
    **dict.fromkeys(("measured", "kind", "name", "dtype", "problem_name", "problem", "verdict", "message"), str),
    **dict.fromkeys(("run_id", "flops", "least_bytes", "samples"), int),
    **dict.fromkeys(("ms", "ms_min", "ms_q1", "ms_q3", "published_uplift", "max_error", "tolerance"), (float, None)),
    **dict.fromkeys(("split_k", "workspace_bytes"), (int, None)),
    **dict.fromkeys(("operation", "function"), str),
    "automatic": bool,
    "problem_fields": {str: (int, [int])},
}
# Within these bounds no computation with two numbers overflows, and every logarithm exists.
_LEAST_MS, _MOST_MS = 1e-9, 1e12
_LEAST_CEILING, _MOST_CEILING, _MOST_WORK = 1.0, 1e30, 2**80


class ResultCheck:
    """Checker of the rows and runs of one file. Names and problems repeat, so each is checked once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, object], str] = {}

    def origin(self, values: Mapping[str, Any]) -> str:
        """The fault of a run; empty if there is none."""
        wrong = misfit(values, _ORIGIN_SHAPE)
        if wrong:
            return wrong
        outside = (name for name, value in values["ceilings"].items() if not _LEAST_CEILING <= value <= _MOST_CEILING)
        name = next(outside, None)
        return "" if name is None else f"ceilings.{name} is {values['ceilings'][name]}"

    def row(self, values: Mapping[str, Any]) -> str:
        """The fault of a row; empty if there is none."""
        return misfit(values, _ROW_SHAPE) or _numbers(values) or self._words(values)

    def _words(self, values: Mapping[str, Any]) -> str:
        if values["kind"] not in ("instance", "reference"):
            return f"kind is `{values['kind']}`"
        for name, known in (("dtype", DTYPES), ("operation", OPERATIONS)):
            if values[name] not in known:
                return f"there is no {name} `{values[name]}`"
        if values["kind"] == "instance":
            if values["split_k"] is None and values["ms"] is not None:
                return "split_k is missing"
            wrong = self._once("name", values["name"], parse)
            if wrong:
                return wrong
        fields = values["problem_fields"]
        key = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in fields.items())
        return self._once("problem", values["problem"], problem_fields) or self._once(
            "problem_fields", key, lambda _: problem_from_json(fields)
        )

    def _once(self, what: str, key: Any, read: Any) -> str:
        if (what, key) not in self._known:
            self._known[what, key] = _complaint(what, key, read)
        return self._known[what, key]


def _numbers(values: Mapping[str, Any]) -> str:
    for name in ("ms", "ms_min", "ms_q1", "ms_q3", "published_uplift"):
        if values[name] is not None and not _LEAST_MS <= values[name] <= _MOST_MS:
            return f"{name} is {values[name]}"
    for name in ("flops", "least_bytes", "samples", "workspace_bytes", "max_error", "tolerance"):
        if values[name] is not None and not values[name] >= 0:
            return f"{name} is {values[name]}"
    if values["split_k"] is not None and values["split_k"] < 1:
        return f"split_k is {values['split_k']}"
    return next((f"{name} is {values[name]}" for name in ("flops", "least_bytes") if values[name] > _MOST_WORK), "")


def _complaint(what: str, key: Any, read: Any) -> str:
    try:
        read(key)
    except CkgenError as error:
        return f"{what}: {error.diagnostics[0].message}"
    except (ValueError, TypeError) as error:
        return f"{what}: {error}"
    return ""


def damaged(path: object, what: str) -> CkgenError:
    """The error for a damaged results file, with advice on how to continue."""
    help_text = "it was changed or damaged: restore it, or move it away and measure again (--store names another)"
    return CkgenError((Diagnostic(None, "results", f"{path}: {what}", help_text),))

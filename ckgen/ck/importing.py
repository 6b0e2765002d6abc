"""CK's own instance lists as a spec: files of rows, and what each row becomes.

A `.conf` file has one type string or serialised instance per line, `#` begins a comment. Type strings do not name a
layout and a data type, so the file's name does, as `nhwgc_fp16.conf`, or the caller. The dispatcher's JSON names both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ckgen.ck.dispatcher import read_dispatcher
from ckgen.ck.exporting import serialised, type_string
from ckgen.ck.notation import FAMILY_OF, OF_COPY, OPERATION_OF, Parsed, parse
from ckgen.ck.resolve import Refusal, Resolved, Row, resolve
from ckgen.ck.words import dtype_of, layout_of, unknown_words
from ckgen.conv.layout import TENSORS, physical_axes
from ckgen.errors import CkgenError, Diagnostic, Place
from ckgen.instance.checker import Checker
from ckgen.text import reading
from ckgen.text.source import loads

MAX_BYTES = 16 * 1024 * 1024
_STEM = re.compile(r"(?P<layout>[a-z]+)_(?P<dtype>[a-z0-9]+(?:_fp32_bf16)?)(?:_\w+)?")


@dataclass(frozen=True, slots=True)
class Imported:
    """One row: its place and text, and what it became."""

    place: Place
    text: str
    resolved: Resolved
    twin: Place | None = None  # an earlier row that became the same instance

    @property
    def rules(self) -> tuple[Refusal, ...]:
        """The rules that stand against it."""
        return self.resolved.refusals


@dataclass(frozen=True, slots=True)
class Asked:
    """The layout of the input and the data type of type strings, in CK's words; empty: as the file's name says."""

    layout: str = ""
    dtype: str = ""


def import_files(paths: Sequence[Path], asked: Asked) -> list[Imported]:
    """The rows of all files, in order. Raises CkgenError (exit 2) that lists every malformed row with its place."""
    checker = Checker()
    found: list[Imported] = []
    problems = unknown_words(asked.layout, asked.dtype)
    first: dict[str, Place] = {}
    for path in () if problems else paths:
        try:
            rows = list(_read(path, asked, checker))
        except CkgenError as error:
            problems += error.diagnostics
            continue
        for row in rows:
            instance = row.resolved.instance
            if instance is not None:
                row = replace(row, twin=first.get(instance.name))
                first.setdefault(instance.name, row.place)
            found.append(row)
    if problems:
        raise CkgenError(problems)
    return found


def _read(path: Path, asked: Asked, checker: Checker) -> Iterator[Imported]:
    text = reading.read_text(path, MAX_BYTES, absent="name a file of CK's rows, .conf or .json")
    if path.suffix == ".json":
        for place, shown, resolved in read_dispatcher(loads(text, str(path)), checker):
            yield Imported(place, shown, resolved)
        return
    words = _words(path, asked)
    problems: list[Diagnostic] = []
    rows: list[Imported] = []
    for number, line in enumerate(text.splitlines(), 1):
        body = line.strip()
        if not body or body.startswith("#"):
            continue
        place = Place(str(path), number, line.index(body) + 1, len(body))
        try:
            rows.append(Imported(place, body, resolve_text(body, words, checker)))
        except ValueError as error:
            problems.append(Diagnostic(place, "ck-row", str(error), "one row of CK's per line, `#` begins a comment"))
    if not rows and not problems:
        problems = [Diagnostic(Place(str(path), 1, 1), "ck-file", "the file has no rows")]
    if problems:
        raise CkgenError(problems)
    yield from rows


def _words(path: Path, asked: Asked) -> Asked:
    named = _STEM.fullmatch(path.stem)
    words = named.groupdict() if named else {"layout": "", "dtype": ""}
    return Asked(asked.layout or words["layout"], asked.dtype or words["dtype"])


def resolve_text(text: str, asked: Asked, checker: Checker) -> Resolved:
    """The instance of a type string or of a serialised instance. Raises ValueError for a malformed row, CkgenError for
    unknown words."""
    parsed = parse(text)
    if not parsed.names:
        message = f"no family has instances of class {parsed.name}"
        return Resolved({}, None, (Refusal("ck-class", message),))
    resolved = resolve(_row(parsed, asked), checker)
    if resolved.instance is None:
        return resolved
    written = (serialised if parsed.serialised else type_string)(resolved.instance)
    assert written is not None
    different = list(_differences(parsed, parse(written)))
    return replace(resolved, instance=None, refusals=tuple(different)) if different else resolved


def _differences(given: Parsed, ours: Parsed) -> Iterator[Refusal]:
    """Arguments that no key of a spec can give, without those that only concern the copy of a tile."""
    pairs = zip(given.names, given.arguments, ours.arguments, strict=True)
    for number, (name, theirs, own) in enumerate(pairs, 1):
        if theirs != own and name not in OF_COPY:
            yield Refusal("ck-argument", f"argument {number} ({name}) is {theirs}, by rule {own}")


def _row(parsed: Parsed, asked: Asked) -> Row:
    layout, dtype = _layout_and_dtype(parsed, asked)
    values = parsed.values
    return Row(
        family=FAMILY_OF[parsed.name],
        operation=OPERATION_OF[parsed.name],
        layout=layout,
        dtype=dtype,
        conv_spec=values["conv_spec"],
        scheduler=_last_word(values.get("scheduler", "")),
        **_numbers(values, transposes=not parsed.serialised or physical_axes("in", layout)[-1] != "C"),
    )


def _layout_and_dtype(parsed: Parsed, asked: Asked) -> tuple[str, str]:
    values = parsed.values
    if parsed.serialised:
        compute = (values["a_compute"], values["b_compute"])
        types = tuple(values[f"{tensor}_type"] for tensor in TENSORS)
        return "/".join(values[f"{tensor}_layout"] for tensor in TENSORS), dtype_of(types, compute)
    if asked.layout and asked.dtype:
        unknown = unknown_words(asked.layout, asked.dtype, ", which the file's name gives")
        if unknown:
            raise CkgenError(unknown)
        return layout_of(asked.layout, OPERATION_OF[parsed.name]), dtype_of(asked.dtype)
    raise ValueError("a type string has no layout and data type: give --layout and --dtype, or name the file so")


def _numbers(values: Mapping[str, str], *, transposes: bool) -> dict[str, Any]:
    """The numbers of a row; `transposes`: its class copies the tensors to channels-last ones."""

    def number(name: str) -> int:
        text = _last_word(values[name])
        if not re.fullmatch(r"[1-9]\d{0,4}", text, re.ASCII):
            raise ValueError(f"{name} is `{text}`, it must be a number from 1 to 99999")
        return int(text)

    optional = ("a_dst", "b_dst", "ak1", "bk1", "m_per_xdl", "m_xdl_per_wave", "n_xdl_per_wave", "c", "groups_to_merge")
    transposition = ("transpose_src", "transpose_dst") if transposes else ()
    numbers: dict[str, Any] = {name: number(name) for name in ("block_size", "m", "n")}
    numbers |= {name: number(name) if name in values else 1 for name in ("a", "b")}
    numbers |= {name: number(name) for name in (*optional, *transposition) if name in values}
    if "k1" in values:
        numbers |= {"ak1": number("k1"), "bk1": number("k1")}
    numbers["k"] = number("k0") * number("k1") if "k0" in values else number("k")
    if "pipeline" in values:
        numbers["pipeline"] = int(values["pipeline"][-1]) if values["pipeline"][-1:].isdecimal() else None
    return numbers


def _last_word(text: str) -> str:
    """`Intrawave` of `BlkGemmPipelineScheduler:Intrawave`."""
    return text.rpartition(":")[2]


def spec_text(rows: Iterable[Imported], source: str) -> str:
    """A spec with one group per row that became an instance, the first of equal ones."""
    lines = [f"# Made by ckgen import ck from {source}.", "version: 1", "groups:"]
    for row in rows:
        if row.resolved.instance is not None and row.twin is None:
            keys = {"name": f"ck-{len(lines) - 2}", **row.resolved.keys}
            lines.append(f"  - {_flow(keys)}  # {row.place.file}:{row.place.line}")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    return str(value)

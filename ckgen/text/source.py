"""YAML text -> values that know their line and column.

The reader is stricter than YAML on purpose. It reports an error with line and column for duplicate keys, merge keys,
tags, several documents, alias bombs, and every plain scalar that YAML 1.1 and 1.2 read differently (`on`, `1e3`, `08`,
`1_0`, `1:30`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from ckgen.errors import CkgenError, Diagnostic, Place
from ckgen.text.plain_scalars import Scalar, Surprise, read_plain
from ckgen.text.reading import read_text

SPEC_START = "start with `version: 1` and `groups:`; `ckgen init` writes a spec"
MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
TOO_DEEP = f"values are nested more than {MAX_DEPTH} deep"
MAX_VALUES = 50_000  # after expanding aliases: an alias bomb of a few lines has billions
MAX_CHARACTERS = 2_000  # per value: no spec needs more, and messages repeat values

Key = str | int


@dataclass(frozen=True, slots=True)
class Node:
    """A YAML value with its place: a scalar, a list of nodes, or a dict of nodes with the places of its keys."""

    value: Scalar | list[Node] | dict[str, Node]
    place: Place
    keys: Mapping[str, Place] = field(default_factory=dict)
    size: int = 1

    def plain(self) -> Any:
        """Return the value without places, as json.load would."""
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        return self.value


@dataclass(frozen=True)
class Document:
    """A YAML file: its name as shown in messages, its text and its root node, a mapping."""

    path: str
    text: str
    root: Node

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.splitlines()

    def node(self, *keys: Key) -> Node | None:
        """Return the node at a path of keys and indices; a single value counts as a list of one."""
        node: Node | None = self.root
        for key in keys:
            node = _child(node, key)
        return node

    def place(self, *keys: Key) -> Place:
        """Return the place of the value at a path, or of its nearest ancestor that exists."""
        node: Node | None = self.root
        place = self.root.place
        for key in keys:
            node = _child(node, key)
            if node is None:
                break
            place = node.place
        return place

    def key_place(self, *keys: Key) -> Place:
        """Return the place of the last key of a path, or of its value if the last element is an index."""
        parent = self.node(*keys[:-1])
        place = parent.keys.get(str(keys[-1])) if parent else None
        return place or self.place(*keys)


def _child(node: Node | None, key: Key) -> Node | None:
    value = node.value if node else None
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return node if key == 0 and not isinstance(value, list) else None


def load(path: str | Path, start: str = SPEC_START) -> Document:
    """Read a YAML file. Raises CkgenError (exit 2) with every error in it; ``start`` says how such a file starts."""
    absent = "`ckgen init` writes a first instances.yaml" if start == SPEC_START else ""
    return loads(read_text(Path(path), MAX_BYTES, absent=absent), str(path), start)


def loads(text: str, name: str = "instances.yaml", start: str = SPEC_START) -> Document:
    """Read YAML text, which messages call `name`. Raises CkgenError as `load` does."""
    reader = _Reader(name)
    try:
        reader.check_size(text)
        root = reader.read(text)
    except _Stop:
        root = None
    except yaml.YAMLError as error:
        reader.problems.append(_syntax_error(error, text, name))
        root = None
    if not reader.problems and root is None:
        reader.report(Place(name, 1, 1), "empty-file", "there is nothing in this file", start)
    if root is not None and not isinstance(root.value, dict):
        what = "list" if isinstance(root.value, list) else "single value"
        reader.report(root.place, "not-a-mapping", f"the file is a {what}", start)
    if reader.problems or root is None:
        raise CkgenError(reader.problems)
    return Document(name, text, root)


class _Stop(Exception):
    """Raised when reading cannot continue; the reader's problems hold the reason."""


class _Reader:
    """Builds nodes from parser events. (yaml.compose recurses in C, and a deeply nested file crashes it.)"""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Diagnostic] = []
        self._anchors: dict[str, Node | None] = {}
        self._values = 0

    def report(self, place: Place, rule: str, message: str, help_text: str = "", *notes: str) -> None:
        self.problems.append(Diagnostic(place, rule, message, help_text, notes=notes))

    def check_size(self, text: str) -> None:
        """Refuse text on which the parser takes too long: it compares each %TAG line with all others."""
        if len(text) > MAX_BYTES:
            self.report(Place(self.name, 1, 1), "file", f"the file has more than {MAX_BYTES} characters")
            raise _Stop
        tag = text.find("\n%TAG") + 1
        if tag or text.startswith("%TAG"):
            place = Place(self.name, text.count("\n", 0, tag) + 1, 1, len("%TAG"))
            self.report(place, "yaml-tag", "tags have no meaning here", "leave the line out")
            raise _Stop

    def read(self, text: str) -> Node | None:
        """Return the root of the only document, None if it is empty."""
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        events: Iterator[Any] = yaml.parse(text, Loader=loader)
        root: Node | None = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self.report(self._place(event), "documents", "a second document starts here", "keep one")
                    raise _Stop
                root = self._node(next(events), events, 0)
        empty = root is not None and root.value is None and root.size == 1
        return None if empty else root

    def _place(self, event: Any) -> Place:
        start, end = event.start_mark, event.end_mark
        same_line = start.line == end.line and end.column > start.column
        return Place(self.name, start.line + 1, start.column + 1, end.column - start.column if same_line else 1)

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        place = self._place(event)
        if depth > MAX_DEPTH:
            self.report(place, "nesting", TOO_DEEP)
            raise _Stop
        if isinstance(event, yaml.AliasEvent):
            return self._alias(str(event.anchor), place)
        anchor: str | None = event.anchor
        if anchor is not None:
            self._anchors[anchor] = None  # still open: an alias to it inside its own value would be a cycle
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.report(place, "yaml-tag", f"the tag {tag} has no meaning here", "leave it out")
        if isinstance(event, yaml.ScalarEvent):
            node = Node(self._scalar(event, place), place)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._sequence(place, events, depth)
        else:
            node = self._mapping(place, events, depth)
        self._count(1, place)
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _count(self, values: int, place: Place) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            expanded = " once aliases are expanded" if self._anchors else ""
            message = f"the file stands for more than {MAX_VALUES} values{expanded}"
            rule = "alias-bomb" if self._anchors else "too-many-values"
            self.report(place, rule, message, "write axes as lists; ckgen multiplies them")
            raise _Stop

    def _alias(self, anchor: str, place: Place) -> Node:
        node = self._anchors.get(anchor)
        if node is None:
            what = "contains itself" if anchor in self._anchors else "is not defined"
            self.report(place, "alias", f"*{anchor} {what}", f"define &{anchor} above")
            raise _Stop
        self._count(node.size, place)
        return node

    def _sequence(self, place: Place, events: Iterator[Any], depth: int) -> Node:
        items: list[Node] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                place = _up_to(event, place)
                break
            items.append(self._node(event, events, depth + 1))
        return Node(items, place, size=1 + sum(item.size for item in items))

    def _mapping(self, place: Place, events: Iterator[Any], depth: int) -> Node:
        values: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                place = _up_to(event, place)
                break
            key = self._key(event, events, depth)
            key_place = self._place(event)
            value = self._node(next(events), events, depth + 1)
            if key is None:
                continue
            if key in keys:
                note = f"it is first given at {keys[key]}"
                self.report(key_place, "duplicate-key", f"key `{key}` is given twice", "keep one of them", note)
                continue
            keys[key] = key_place
            values[key] = value
        return Node(values, place, keys, 1 + sum(value.size for value in values.values()))

    def _key(self, event: yaml.Event, events: Iterator[Any], depth: int) -> str | None:
        place = self._place(event)
        if isinstance(event, yaml.ScalarEvent) and not event.style and event.value == "<<":
            self.report(place, "merge-key", "merge keys (<<) are not supported", "use `defaults`")
            return None
        before = len(self.problems)
        node = self._node(event, events, depth + 1)
        if not isinstance(node.value, str):
            if len(self.problems) == before:
                self.report(place, "yaml-key", "a key must be text", "quote it")
            return None
        return node.value

    def _scalar(self, event: yaml.ScalarEvent, place: Place) -> Scalar:
        if len(event.value) > MAX_CHARACTERS:
            message = f"a value has at most {MAX_CHARACTERS} characters, this one has {len(event.value)}"
            self.report(place, "too-long", message)
            return str(event.value[:MAX_CHARACTERS])
        value = event.value if event.style else read_plain(event.value)
        if isinstance(value, Surprise):
            self.report(place, "yaml-surprise", value.message, value.help)
            return str(event.value)
        return value


def _up_to(end: Any, place: Place) -> Place:
    """Extend a place to a whole flow collection if that ends on the line on which it starts."""
    mark = end.end_mark
    closes = end.start_mark.column < mark.column and mark.line + 1 == place.line
    return replace(place, length=mark.column + 1 - place.column) if closes else place


def _syntax_error(error: yaml.YAMLError, text: str, name: str) -> Diagnostic:
    """Turn a parser's error into a diagnostic, with help for its usual causes."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        place = Place(name, mark.line + 1, mark.column + 1)
        message = error.problem or "not YAML"
        if "nesting depth" in message:  # libyaml of PyYAML 6.0.4 looks 1000 brackets ahead, and stops there
            return Diagnostic(place, "nesting", TOO_DEEP)
        notes: tuple[str, ...] = ()
        if error.context and error.context_mark is not None:
            where = f"{name}:{error.context_mark.line + 1}:{error.context_mark.column + 1}"
            notes = (f"{error.context} that starts at {where}",)
        lines = text.splitlines()
        if mark.line >= len(lines) and error.context_mark is not None:  # a bracket or quote is never closed
            place = Place(name, error.context_mark.line + 1, error.context_mark.column + 1)
            return Diagnostic(place, "yaml-syntax", f"{message} {error.context}", "close it")
        line = lines[mark.line] if mark.line < len(lines) else ""
        tab = "\t" in line[: mark.column + 1] or "\\t" in message
        help_text = "indent with blanks, YAML does not allow tabs" if tab else ""
        return Diagnostic(place, "yaml-syntax", message, help_text, notes=notes)
    position = getattr(error, "position", 0)
    head = text[:position]
    place = Place(name, head.count("\n") + 1, position - (head.rfind("\n") + 1) + 1)
    return Diagnostic(place, "yaml-syntax", f"{getattr(error, 'reason', None) or error}")

"""Functions of a C++ source and their numbers of lines, found by matching braces.

A compiler cannot do this: the headers of three platforms do not all parse under any one set of macros. All branches of
an #if are read; at #else and #elif the brace depth is reset to its value at the #if.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_NOISE = re.compile(
    r"""(?P<raw>R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)")|//[^\n]*|/\*.*?\*/"""
    r"""|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:\\\n|[^\n])*", re.MULTILINE)
_CONTAINER = re.compile(r"(?:^|[\s>])(?:namespace|class|struct|union|enum|extern)\b[^()=]*$")
_NAME = re.compile(r"((?:\w+::)*operator\s*(?:\(\s*\)|[^\s\w(]+|[\w ]+)|~?[A-Za-z_]\w*(?:::~?\w+)*)\s*\(")
_ATTRIBUTE = re.compile(
    r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|alignas\s*\([^()]*\)|__launch_bounds__\s*\([^()]*\)"
)
_INITIALISERS = re.compile(r"\)\s*(?:const|noexcept)?\s*:(?!:)")


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body: its first line, and the number of lines from its declaration to its last brace."""

    name: str
    line: int
    lines: int


@dataclass(slots=True)
class _Scope:
    """A scope opened by a brace: `kind` is container, function, initialiser or other."""

    kind: str
    name: str
    line: int


@dataclass(slots=True)
class _Reader:
    """Scans the text once; `head` is the text since the last brace or semicolon, `begin` its first line."""

    scopes: list[_Scope] = field(default_factory=list)
    branches: list[list[_Scope]] = field(default_factory=list)
    head: str = ""
    begin: int = 0
    depth: int = 0  # of parentheses

    def open(self, line: int) -> None:
        """Handle an opening brace."""
        outer = self.scopes[-1].kind if self.scopes else "container"
        head = " ".join(_ATTRIBUTE.sub(" ", self.head).split())
        kind, name = "other", ""
        if outer == "container" and self.depth == 0:
            if _CONTAINER.search(head):
                named = re.search(r"(?:class|struct|union)\s+(\w+)", _without_templates(head))
                kind, name = "container", named[1] if named else ""
            elif _INITIALISERS.search(head) and head[-1:] not in (")", "}"):
                kind = "initialiser"
            elif (found := _NAME.search(_without_templates(head))) and not head.endswith("="):
                kind, name = "function", found[1].replace(" ", "")
        self.scopes.append(_Scope(kind, name, self.begin if kind == "function" else line))
        if kind != "initialiser":
            self.head = ""

    def close(self, line: int) -> Iterator[Function]:
        """Handle a closing brace; yield the function that ends here."""
        if not self.scopes:
            raise ValueError(f"the brace of line {line} closes nothing")
        scope = self.scopes.pop()
        if scope.kind == "function":
            around = [outer.name for outer in self.scopes if outer.kind == "container" and outer.name]
            yield Function("::".join((*around, scope.name)), scope.line, line - scope.line + 1)
        self.head = self.head + "}" if scope.kind == "initialiser" else ""

    def branch(self, directive: str) -> None:
        """Handle a preprocessor directive."""
        if directive in ("if", "ifdef", "ifndef"):
            self.branches.append(list(self.scopes))
        elif directive in ("else", "elif") and self.branches:
            self.scopes, self.head = list(self.branches[-1]), ""
        elif directive == "endif" and self.branches:
            self.branches.pop()


def functions_of(text: str) -> list[Function]:
    """Find every function with a body, in the order of their ends; a function inside another is part of it.

    Raises ValueError if the braces do not match, so that a misread file does not pass as short.
    """
    text = _NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    directives = {match.start(): match for match in _DIRECTIVE.finditer(text)}
    reader, found, line, skip = _Reader(), list[Function](), 1, 0
    for at, character in enumerate(text):
        if at in directives:
            reader.branch(directives[at][1])
            skip = directives[at].end()
        if at >= skip:
            found += _step(reader, character, line)
        line += character == "\n"
    if reader.scopes or reader.depth:
        raise ValueError(f"a brace or parenthesis of line {reader.scopes[-1].line if reader.scopes else line} is open")
    return found


def _step(reader: _Reader, character: str, line: int) -> Iterator[Function]:
    if character == "{":
        reader.open(line)
    elif character == "}":
        yield from reader.close(line)
    elif character == ";" and reader.depth == 0:
        reader.head = ""
    else:
        reader.depth += (character == "(") - (character == ")")
        if not reader.head.strip() and not character.isspace():
            reader.begin = line
        reader.head += character
        if character == ":" and re.search(r"(?:public|private|protected)\s*:$", reader.head):
            reader.head = ""


def _without_templates(head: str) -> str:
    """Remove `template <...>` from a declaration; its default arguments may look like function calls."""
    while (at := head.find("template <")) >= 0 or (at := head.find("template<")) >= 0:
        depth, end = 0, at + head[at:].index("<")
        for end in range(end, len(head)):  # noqa: B020
            depth += (head[end] == "<") - (head[end] == ">")
            if depth == 0:
                break
        head = head[:at] + head[end + 1 :]
    return head

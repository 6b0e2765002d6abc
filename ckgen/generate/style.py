"""The names of a tree's C++ interface: its namespace, and whether it has the headers and CMake package of CK."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

NAMESPACE = "ckgen"
# Templates of these folders make files of trees with the matching `compat` only.
COMPAT_FOLDER = "compat/"
_NAME = re.compile(r"(?!\w*__)[A-Za-z]\w*", re.ASCII)  # C++ keeps names with two underscores for compilers
# Keywords of C++, macros of compilers and of the C headers, and what programs and the standard library have themselves.
_TAKEN = frozenset(
    [
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "auto",
        "bitand",
        "bitor",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "char16_t",
        "char32_t",
        "char8_t",
        "class",
        "co_await",
        "co_return",
        "co_yield",
        "compl",
        "concept",
        "const",
        "const_cast",
        "consteval",
        "constexpr",
        "constinit",
        "continue",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "dynamic_cast",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "not",
        "not_eq",
        "nullptr",
        "operator",
        "or",
        "or_eq",
        "private",
        "protected",
        "public",
        "register",
        "reinterpret_cast",
        "requires",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "static_cast",
        "struct",
        "switch",
        "template",
        "this",
        "thread_local",
        "throw",
        "true",
        "try",
        "typedef",
        "typeid",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "wchar_t",
        "while",
        "xor",
        "xor_eq",
        "linux",
        "unix",
        "i386",
        "arm",
        "mips",
        "sun",
        "vax",
        "NULL",
        "EOF",
        "NAN",
        "INFINITY",
        "HUGE_VAL",
        "BUFSIZ",
        "FILENAME_MAX",
        "RAND_MAX",
        "EXIT_SUCCESS",
        "EXIT_FAILURE",
        "EDOM",
        "ERANGE",
        "EILSEQ",
        "CLOCKS_PER_SEC",
        "SEEK_SET",
        "SEEK_CUR",
        "SEEK_END",
        "errno",
        "assert",
        "offsetof",
        "setjmp",
        "stdin",
        "stdout",
        "stderr",
        "va_arg",
        "va_end",
        "va_start",
        "main",
        "std",
    ]
)
_USED = re.compile(r"(?<![\w/])ckgen(?=::)|(?<=\bnamespace )ckgen\b", re.ASCII)
_CPP = (".cpp", ".hpp", ".h", ".h.in")


@dataclass(frozen=True, slots=True)
class Style:
    """The C++ namespace of a tree, and the library whose include paths and CMake package it offers too.

    Include paths and the C API start with `ckgen` in every tree.
    """

    namespace: str = NAMESPACE
    compat: Literal["", "ck"] = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.namespace):
            reason = "write a letter, then letters, digits and single underscores"
            raise ValueError(f"{self.namespace!r} cannot be the name of a namespace: {reason}")
        if self.namespace in _TAKEN:
            raise ValueError(f"{self.namespace!r} cannot be the name of a namespace: C++ or its headers use this word")
        if self.compat and self.namespace != self.compat:
            raise ValueError(f"programs for {self.compat} use the namespace {self.compat}, not {self.namespace}")

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `ckgen generate` that choose this style."""
        if self.compat:
            return ("--compat", self.compat)
        return () if self.namespace == NAMESPACE else ("--namespace", self.namespace)

    def renamed(self, path: str, text: str) -> str:
        """The text of a file with this namespace: C++ uses `ckgen::` and `namespace ckgen` become those of `namespace`.

        The names are in type strings, macros and comments too, so that neither a macro nor an alias could rename them.
        """
        if self.namespace == NAMESPACE or not path.endswith(_CPP):
            return text
        return _USED.sub(self.namespace, text)

    def chosen(self, templates: Mapping[str, str]) -> dict[str, str]:
        """The templates of a tree in this style."""
        return {name: text for name, text in templates.items() if self.compat or not name.startswith(COMPAT_FOLDER)}


DEFAULT_STYLE = Style()


def style_of(namespace: str | None, compat: Literal["", "ck"] | None) -> Style:
    """The style of two options, None for an option that is not given. Raises ValueError if they exclude each other."""
    return Style((compat or NAMESPACE) if namespace is None else namespace, compat or "")

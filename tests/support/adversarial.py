"""Specs of a given size that cause as much work as possible: each must still get an answer quickly.

Each maker takes a size in bytes and returns a text of about that size. Most of them have many errors.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

HEAD = "version: 1\ndefaults: {layout: NHWGC/GKYXC/NHWGK, dtype: f16, tile: 128x128, xdl: {block_size: 256}}\n"
GROUP = "groups:\n- {name: g, family: xdl}\n"


def fill(start: str, part: Callable[[int], str], end: str, size: int) -> str:
    """``start``, as many parts as fit into ``size`` characters (but at least one), ``end``."""
    parts: list[str] = []
    length = len(start) + len(end)
    for number in count():
        text = part(number)
        length += len(text)
        if parts and length > size:
            break
        parts.append(text)
    return start + "".join(parts) + end


def _in_group(key: str, part: Callable[[int], str], closing: str = "]", opening: str = "[") -> Callable[[int], str]:
    start = f"{HEAD}groups:\n- {{name: g, family: xdl, {key}: {opening}"
    return lambda size: fill(start, part, f"{closing}}}\n", size)


def _at_top(start: str, part: Callable[[int], str], end: str = "") -> Callable[[int], str]:
    return lambda size: fill(HEAD + start, part, end, size)


def _word(char: str, wrap: str) -> Callable[[int], str]:
    return lambda size: HEAD + wrap.replace("@", char * (size - len(HEAD) - len(wrap))) + "\n"


def _words(char: str, length: int) -> Callable[[int], str]:
    return _in_group("dtype", lambda n: f"{char * length}q{n}, ")


def _repeated_alias(key: str, word: str) -> Callable[[int], str]:
    return _in_group(key, lambda n: f"&a {word}" if n == 0 else ", *a")


def _products(size: int) -> str:
    """A spec in which every axis has as many values as possible."""
    tiles = fill("", lambda n: f"{16 * (n % 40 + 1)}x{16 * (n // 40 + 1)}, ", "", size // 2)
    k = ", ".join(str(8 * (n + 1)) for n in range(64))
    return f"{HEAD}groups:\n- {{name: g, family: xdl, tile: [{tiles}], k_per_block: [{k}], stages: [1, 2, 3, 4]}}\n"


def _allowed_products(size: int) -> str:
    """A spec with nearly as many combinations as allowed, nearly all of which break a rule."""
    tiles = ", ".join(f"{8 * m + 4}x{8 * n + 4}" for m in range(12) for n in range(12))
    k = ", ".join(str(8 * (n + 1)) for n in range(16))
    group = f"family: xdl, tile: [{tiles}], k_per_block: [{k}], stages: [1, 2, 3, 4], vector: [full, small]"
    return f"{HEAD}groups:\n- {{name: a, {group}}}\n- {{name: b, {group}, conv_spec: Filter1x1Stride1Pad0}}\n"


def _skipped_products(size: int) -> str:
    return _allowed_products(size).replace("family: xdl,", "family: xdl, invalid: skip,")


def _combinations_by_excludes(size: int) -> str:
    tiles = ", ".join(f"{32 * m}x{32 * n}" for m in range(1, 20) for n in range(1, 20))
    start = f"{HEAD}groups:\n- {{name: g, family: xdl, tile: [{tiles}], exclude: ["
    return fill(start, lambda n: f"{{tile: {n % 4000 + 1}x{n // 4000 + 1}}}, ", "]}\n", size)


def _many_instances(tiles: int) -> str:
    """A spec without errors: as many shapes as there are tiles, for both operations' data types."""
    pairs = [(16 * m, 16 * n) for m in range(1, 60) for n in range(1, 60)][:tiles]
    listed = ", ".join(f"{m}x{n}" for m, n in pairs)
    return f"{{name: g, family: xdl, generic: true, invalid: skip, dtype: [f16, bf16, f32], tile: [{listed}]"


def _allowed_excludes(size: int) -> str:
    start = f"{HEAD}groups:\n- {_many_instances(660)}, exclude: ["
    return fill(start, lambda n: f"{{tile: {n % 4000 + 1}x4095}}, ", "]}\n", min(size, len(start) + 16 * 990))


def _allowed_filters(size: int) -> str:
    start = f"{HEAD}groups:\n- {_many_instances(990)}}}\nsets:\n  s:\n"
    return fill(start, lambda n: f"  - '*_tile_{n}'\n", "", min(size, len(start) + 17 * 500))


def _allowed_sets(size: int) -> str:
    start = f"{HEAD}groups:\n- {_many_instances(990)}}}\nsets:\n"
    return fill(start, lambda n: f"  s{n}: ['tile=64x*']\n", "", min(size, len(start) + 23 * 250))


def _include_products(size: int) -> str:
    tiles = ", ".join(f"{32 * m}x{32 * n}" for m in range(1, 20) for n in range(1, 20))
    start = f"{HEAD}groups:\n- {{name: g, family: xdl, tile: [{tiles}], include: ["
    return fill(start, lambda n: f"{{stages: {n % 64 + 1}}}, ", "]}\n", size)


def _wide_defaults(size: int) -> str:
    words = ", ".join(f"F{n}" for n in range(900))
    start = f"version: 1\ndefaults: {{function: [{words}], layout: NHWGC/GKYXC/NHWGK, dtype: f16, tile: 64x64}}\n"
    return fill(f"{start}groups:\n", lambda n: f"- {{name: g{n}, family: xdl, block_size: 64}}\n", "", size)


def _groups_by_functions(size: int) -> str:
    start = fill(
        f"{HEAD}functions:\n", lambda n: f"- {{name: F{n}, expression: e}}\n", "groups:\n", min(size // 2, 25000)
    )
    part = "- {{name: g{}, family: xdl, operation: grouped_conv_bwd_data, layout: NHWGK/GKYXC/NHWGC, function: Zz}}\n"
    return fill(start, part.format, "", size)


def _groups_by_sets(size: int) -> str:
    start = fill(f"{HEAD}sets:\n", lambda n: f"  s{n}: ['*']\n", "groups:\n", size // 2)
    return fill(start, lambda n: f"- {{name: g{n}, family: xdl, sets: t{n}}}\n", "", size)


def _bomb(size: int) -> str:
    start = f"{HEAD}x0: &x0 [{'x, ' * 100}]\n"
    return fill(start, lambda n: f"x{n + 1}: &x{n + 1} [*x{n}, *x{n}]\n", "", size)


def _tokens(text: str) -> Callable[[int], str]:
    return lambda size: text * (size // len(text))


_TILES = ", ".join(f"{{tile: 64x{number}}}" for number in range(1, 900))
_EXPRESSION = " + ".join(["e"] * 240) + " + zz"

MAKERS: dict[str, Callable[[int], str]] = {
    "digits": _word("1", "groups: [@q]"),
    "digits and underscores": _word("1_", "groups: [@q]"),
    "words of digits": _words("1", 1900),
    "words of digits with colons": _words("1:2", 600),
    "words of zeros": _words("0", 1900),
    "words of dots and digits": _words(".1", 900),
    "long quoted word": _word("x", 'groups: "@"'),
    "long word": _word("x", "groups: @"),
    "long key": _word("x", "@: 1"),
    "long block text": _word("x\n  ", "groups: |\n  @"),
    "long escapes": _word("\\n", 'groups: "@"'),
    "long name of a group": _word("x", "groups: [{name: @, family: xdl}]"),
    "long comment": _word("#", f"{GROUP}# @"),
    "fraction of digits": _word("1", "x: 0.@"),
    "wrong values of one line": _in_group("dtype", lambda n: f"q{n}, "),
    "wrong tiles of one line": _in_group("tile", lambda n: f"q{n}, "),
    "wrong tiles, a line each": _in_group("tile", lambda n: f"q{n},\n  "),
    "tiles too large": _in_group("tile", lambda n: f"{n}x9999, "),
    "tiles": _in_group("tile", lambda n: f"{n % 4000 + 1}x{n // 4000 + 1}, "),
    "one tile again and again": _in_group("tile", lambda n: "64x64, "),
    "maps of tiles": _in_group("tile", lambda n: "{m_per_block: 0, n_per_block: q}, "),
    "wave ratios": _in_group("wave_ratio", lambda n: "[4, 4], "),
    "vectors": _in_group("vector", lambda n: f"{{a: {n}}}, "),
    "numbers": _in_group("stages", lambda n: f"{n}, "),
    "ambiguous words": _in_group("dtype", lambda n: "on, 1_0, 0x1f, "),
    "empty values": _in_group("dtype", lambda n: "~, "),
    "unknown keys of one line": _in_group("a0", lambda n: f"familly{n}: 1, ", "1", "1, "),
    "unknown keys at the top": _at_top(GROUP, lambda n: f"group{n}: 1\n"),
    "unknown keys without values": _at_top(GROUP + "x: {", lambda n: f"g{n}: , ", "}\n"),
    "one key again and again": _at_top(GROUP, lambda n: "x: 1\n"),
    "empty maps": _at_top("groups: [", lambda n: "{}, ", "]\n"),
    "maps of an empty name": _at_top("groups: [", lambda n: "{name: }, ", "]\n"),
    "groups": _at_top("groups:\n", lambda n: f"- {{name: g{n}, family: xdl}}\n"),
    "groups of two values": _at_top("groups:\n", lambda n: f"- {{name: g{n}, family: xdl, tile: 64x{n % 4000 + 1}}}\n"),
    "groups of one name": _at_top("groups:\n", lambda n: "- {name: g, family: xdl}\n"),
    "groups with errors": _at_top("groups:\n", lambda n: f"- {{name: g{n}, family: xdll}}\n"),
    "groups with foreign words": _at_top(
        "groups:\n", lambda n: f"- {{name: g{n}, family: xdl, layout: NHWGK/GKYXC/NHWGC, wave_ratio: [4, 4]}}\n"
    ),
    "groups with broken rules": _at_top(
        "groups:\n", lambda n: f"- {{name: g{n}, family: xdl, tile: {n % 4000 + 1}x7}}\n"
    ),
    "groups without a key": lambda size: fill(
        "version: 1\ngroups:\n", lambda n: f"- {{name: g{n}, family: xdl}}\n", "", size
    ),
    "groups of wide defaults": _wide_defaults,
    "groups by functions": _groups_by_functions,
    "groups by sets": _groups_by_sets,
    "functions": _at_top(GROUP + "functions:\n", lambda n: f"- {{name: F{n}, expression: e}}\n"),
    "functions of one name": _at_top(GROUP + "functions:\n", lambda n: "- {name: F, expression: e}\n"),
    "functions of one line": _at_top(GROUP + "functions: [", lambda n: f"{{name: F{n}, expression: zz}}, ", "]\n"),
    "functions with wrong names": _at_top(GROUP + "functions:\n", lambda n: f"- {{name: f{n}, expression: e}}\n"),
    "functions of long expressions": _at_top(
        GROUP + "functions:\n", lambda n: f"- {{name: F{n}, expression: {_EXPRESSION}}}\n"
    ),
    "functions of long expressions in one line": _at_top(
        GROUP + "functions: [", lambda n: f"{{name: F{n}, expression: {_EXPRESSION}}}, ", "]\n"
    ),
    "functions of one expression": _at_top(
        GROUP + "functions:\n",
        lambda n: f"- {{name: F{n}, expression: {'&a ' + _EXPRESSION if n == 0 else '*a'}}}\n",
    ),
    "nested expressions": _at_top(
        GROUP + "functions:\n", lambda n: f"- {{name: F{n}, expression: {'(' * 90}e{')' * 90}}}\n"
    ),
    "tensors": _at_top(GROUP + "functions: [{name: F, expression: e, tensors: [", lambda n: f"t{n}, ", "]}]\n"),
    "scalars": _at_top(GROUP + "functions: [{name: F, expression: e, scalars: {", lambda n: f"t{n}: 1, ", "}}]\n"),
    "functions of many tensors": _at_top(
        GROUP + "functions:\n",
        lambda n: f"- {{name: F{n}, expression: zz, tensors: [{', '.join(f't{i}' for i in range(60))}]}}\n",
    ),
    "excludes": _in_group("exclude", lambda n: f"{{tile: {n % 4000 + 1}x{n // 4000 + 1}}}, "),
    "includes": _in_group("include", lambda n: f"{{tile: {n % 4000 + 1}x{n // 4000 + 1}}}, "),
    "products": _products,
    "allowed products": _allowed_products,
    "skipped products": _skipped_products,
    "combinations by excludes": _combinations_by_excludes,
    "include products": _include_products,
    "sets": _at_top(GROUP + "sets:\n", lambda n: f"  s{n}: ['*']\n"),
    "sets of nothing": _at_top(GROUP + "sets:\n", lambda n: f"  s{n}: [set=s{n + 1}]\n"),
    "unnamed sets": _at_top(GROUP + "sets:\n", lambda n: f"  9{n}: ['*']\n"),
    "filters": _at_top(GROUP + "sets:\n  s: [", lambda n: f"'*{n}*', ", "]\n"),
    "filters of one line": _at_top(GROUP + "sets:\n  s: ['", lambda n: f"*{n}*,", "*']\n"),
    "terms": _at_top(GROUP + "sets:\n  s: ['", lambda n: f"tile=*{n % 7}* ", "']\n"),
    "terms of a few lines": _at_top(
        GROUP + "sets:\n  s:\n", lambda n: f"  - '{' '.join(f'name=*{i}*,a*b*c*d*e*' for i in range(80))}'\n"
    ),
    "wrong terms": _at_top(GROUP + "sets:\n  s:\n", lambda n: f"  - famly{n}=1\n"),
    "stars": _at_top(GROUP + "sets:\n  s:\n", lambda n: f"  - '{'*a' * 900}'\n"),
    "comparisons": _at_top(GROUP + "sets:\n  s:\n", lambda n: f"  - stages>={'9' * 1900}\n"),
    "anchors": _at_top(GROUP, lambda n: f"x{n}: &a{n} v\n"),
    "anchors alone": _at_top(GROUP + "x: [", lambda n: f"&a{n} v, ", "]\n"),
    "aliases": _repeated_alias("dtype", "f16"),
    "aliases of a long word": _repeated_alias("dtype", "q" * 1900),
    "aliases of a long wrong tile": _repeated_alias("tile", "q" * 1900),
    "aliases of a long key": lambda size: fill(
        f"{HEAD}{GROUP}x: &a {'q' * 1900}\nv:\n", lambda n: "- {*a : 1}\n", "", size
    ),
    "undefined alias": _word("x", "groups: *@"),
    "bomb": _bomb,
    "tags": _at_top(GROUP, lambda n: f"x{n}: !t{n} v\n"),
    "tag directives": lambda size: fill("", lambda n: f"%TAG !a{n}! tag:x\n", "--- {}\n", size),
    "tag directives of a second document": lambda size: fill(
        "a: 1\n...\n", lambda n: f"%TAG !a{n}! tag:x\n", "--- {}\n", size
    ),
    "documents": _tokens("--- {}\n"),
    "directives": _tokens("%YAML 1.1\n"),
    "open lists": _tokens("["),
    "open maps": _tokens("{"),
    "open maps of a key": _tokens("{a: "),
    "dashes": _tokens("- "),
    "question marks": _tokens("? "),
    "keys of keys": _tokens("a: "),
    "colons": _tokens(":"),
    "commas": _tokens(","),
    "quotes": _tokens("'"),
    "blank lines": _tokens("\n"),
    "blanks": _tokens(" "),
    "tabs": _tokens("\t"),
    "carriage returns": _tokens("\r"),
    "percent signs": _tokens("%"),
    "indented lines": lambda size: "".join(f"{' ' * n}a:\n" for n in range(int((2 * size) ** 0.5))),
    "deep maps": _at_top(GROUP + "x: [", lambda n: "{a: " * 28 + "1" + "}" * 28 + ", ", "]\n"),
    "groups of wrong lists": _at_top(
        "groups:\n", lambda n: f"- {{name: g{n}, family: xdl, dtype: [{', '.join(f'q{i}' for i in range(900))}]}}\n"
    ),
    "groups of equal tiles": _at_top(
        "groups:\n", lambda n: f"- {{name: g{n}, family: xdl, tile: [{'64x64, ' * 900}]}}\n"
    ),
    "groups of includes": _at_top("groups:\n", lambda n: f"- {{name: g{n}, family: xdl, include: [{_TILES}]}}\n"),
    "groups of unused excludes": _at_top(
        "groups:\n", lambda n: f"- {{name: g{n}, family: xdl, exclude: [{_TILES}]}}\n"
    ),
    "sets of a group": lambda size: fill(
        f"{HEAD}groups:\n- {_many_instances(900)}, sets: [", lambda n: "default, ", "]}\n", min(size, 18000)
    ),
    "allowed excludes": _allowed_excludes,
    "allowed filters": _allowed_filters,
    "allowed sets": _allowed_sets,
}

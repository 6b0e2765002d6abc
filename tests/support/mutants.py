"""Texts with small errors: mutants of YAML files and of filters, reproducible by a seed."""

from __future__ import annotations

import re
from random import Random

_WORD = re.compile(r"[\w./*=-]+")
TOKENS = (
    *(
        "&a ",
        "*a",
        "!!str ",
        "|",
        ">",
        "- ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "#",
        '"',
        "'",
        "\n",
        "\t",
        "%TAG !a! b\n",
        "---\n",
    ),
    *("~", "null", "true", "on", "1e3", "0x10", "-1", "0", "1.5", "9" * 30, "9" * 5000, ".inf", "1:30", "2001-01-01"),
    *("q" * 3000, "é", "\u2028", "\u0000", "\x1b", "\ufeff", "\U0001f600", "<<", "? ", "\\", "*", "=", ">=", "!="),
    *("groups", "name", "family", "xdl", "wavelet", "wavelet_tma", "halo", "stationary", "tile", "128x128", "64x64x32"),
    *("dtype", "f16", "bf16", "f32", "bf16_f32_bf16", "layout", "NHWGC/GKYXC/NHWGK", "conv_spec", "Default", "stages"),
    *("k_per_block", "block_size", "wave_ratio", "[4, 4]", "vector", "full", "{a: 8}", "m_per_xdl", "archs", "gfx942"),
    *(
        "include",
        "exclude",
        "sets",
        "invalid",
        "skip",
        "generic",
        "functions",
        "expression",
        "tensors",
        "scalars",
        "e + s",
    ),
    *("operation", "grouped_conv_bwd_data", "function", "AddRelu", "defaults", "limits", "{spills: 0}", "version"),
)


def mutant(text: str, seed: int, others: tuple[str, ...] = ()) -> str:
    """A text with some characters, tokens or lines removed, doubled, moved, or inserted from the others."""
    chosen = Random(seed)
    for _ in range(chosen.randint(1, 5)):
        text = _mutate(text, chosen, others)
    return text


def _with_another_word(text: str, chosen: Random, others: tuple[str, ...]) -> str:
    """A text with one word replaced: the result is mostly valid YAML, with errors in a later stage."""
    words = list(_WORD.finditer(text))
    if not words:
        return text
    old = chosen.choice(words)
    known = _WORD.findall(chosen.choice(others)) if others and chosen.random() < 0.5 else ()
    return text[: old.start()] + chosen.choice(known or TOKENS) + text[old.end() :]


def _mutate(text: str, chosen: Random, others: tuple[str, ...]) -> str:
    kind = chosen.randrange(10)
    if kind >= 6:
        return _with_another_word(text, chosen, others)
    at = chosen.randrange(len(text) + 1)
    end = min(len(text), at + chosen.choice((1, 1, 2, 5, 20)))
    if kind == 0:
        return text[:at] + text[end:]
    if kind == 1:
        return text[:at] + chosen.choice(TOKENS) + text[end:]
    if kind == 2:
        return text[:at] + chosen.choice(TOKENS) + text[at:]
    lines = text.split("\n")
    row = chosen.randrange(len(lines))
    if kind == 3:
        lines[row:row] = [lines[chosen.randrange(len(lines))]] * chosen.choice((1, 1, 30))
    elif kind == 4:
        del lines[row]
    elif others:
        lines[row:row] = (chosen.choice(chosen.choice(others).split("\n")),)
    return "\n".join(lines)

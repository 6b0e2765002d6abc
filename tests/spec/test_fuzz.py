"""Tests with mutants of every kind of input: each is used or refused with a limited number of errors, and no other
exception is raised.

The number of mutants and the seeds are fixed, so every failure is reproducible. Run more by hand: `python -m
tests.spec.test_fuzz FIRST COUNT`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ckgen.conv.notation import problem_fields
from ckgen.conv.problem import ConvProblem
from ckgen.errors import MAX_SHOWN, MAX_TEXT, CkgenError, format_diagnostics
from ckgen.generate.manifest import MANIFEST_NAME, parse_manifest
from ckgen.instance.filters import filtered
from ckgen.paths import PACKAGE
from ckgen.problems.file import entries
from ckgen.problems.sets import _read
from ckgen.selection.measured import TABLES, parse_table
from ckgen.spec.expand import expand_document
from ckgen.text.plain_scalars import read_plain
from ckgen.text.source import loads
from tests.generate.test_manifest import changed, places
from tests.support.mutants import TOKENS, mutant
from tests.support.specs import default_expansion
from tests.support.trees import small_tree

COUNT = 250
CORPUS = Path(__file__).parents[1] / "data" / "bad_specs"
FUNCTIONS = """\
version: 1
groups:
  - {name: a, operation: grouped_conv_bwd_data, family: xdl, layout: NHWGK/GKYXC/NHWGC, dtype: [f16, bf16],
     block_size: 256, tile: [128x128, 64x64], function: [Own, AddRelu], exclude: [{tile: 64x64, dtype: bf16}]}
functions:
  - name: Own
    tensors: [skip, {name: bias, layout: GC, dtype: f32}]
    scalars: {scale: 0.5}
    expression: e + scale * skip + clamp(bias, -1, 1) if e > 0 else 0
sets: {ci: ["dtype=f16 tile=64x*", "*addrelu*"], default: ["*"]}
"""
SPECS = (
    (PACKAGE / "cli" / "starters" / "bwd_weight" / "instances.yaml").read_text(encoding="utf-8"),
    FUNCTIONS,
    *(path.read_text(encoding="utf-8", errors="replace") for path in sorted(CORPUS.glob("*/instances.yaml"))),
)
VALID: tuple[Any, ...] = tuple(loads(text).root.plain() for text in SPECS[:2])
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        7,
        64,
        4097,
        10**17,
        10**30,
        0.5,
        -1e300,
        "",
        " ",
        "*",
        [],
        {},
        [[]],
        [1, 2],
        {"a": 1},
    ),
    *(
        {"a": 8},
        [4, 4],
        ["f16", "f16"],
        [["x"]],
        {"name": "x"},
        {"m_per_block": 64, "n_per_block": 64, "block_size": 64},
    ),
    *(text for text in TOKENS if text.isprintable()),
    *("PassThrough", "Own", "AddRelu", "e", "e / 0", "e if 1 < 2 < 3 else e", "G_NHW_C", "name=" + "*a" * 500),
)
FILTERS = ("*wavelet*", "dtype=f16,bf16", "family!=xdl", "m_per_block>=128", "set=ci", "tile=64x*", "name=*[a-f]*")
PROBLEM = "G32 N32 K8 C8 3x3 on 100x100 s2 d1 p1:0"
PROBLEMS = """\
channels: per_group
problems:
  - {name: even, groups: 2, batch: 2, out_channels: 8, in_channels: 8, filter: [1, 1], input: [4, 4], output: [4, 4]}
  - {name: odd, out_channels: 4, in_channels: 4, filter: [2, 2], input: [5, 5], stride: 2, pad: [1, 0], dilation: 1}
"""


def spec(seed: int) -> None:
    text = mutant(SPECS[seed % len(SPECS)], seed, SPECS)
    try:
        expand_document(loads(text))
    except CkgenError as error:
        assert error.exit_code == 2
        assert len(format_diagnostics(error.diagnostics, {"instances.yaml": text})) < (MAX_SHOWN + 1) * 4 * MAX_TEXT
        raise


def spec_value(seed: int) -> None:
    """A spec of valid form, with other values in places that its models know."""
    chosen = Random(seed)
    data = VALID[seed % len(VALID)]
    for _ in range(chosen.randint(1, 2)):
        path = chosen.choice(list(places(data)))
        data = changed(data, path, chosen.choice((*VALUES, ...)))
    answer = json.dumps(data)
    expand_document(loads(answer))


def word(seed: int) -> None:
    read_plain(mutant(("1_000.5e-3", "2001-01-01 12:30", "0x1f", "128x64")[seed % 4], seed))


def one_filter(seed: int) -> None:
    words = [mutant(FILTERS[(seed + at) % len(FILTERS)], seed + at) for at in range(1 + seed % 2)]
    expansion = default_expansion()
    filtered(expansion.instances[::40], words, sets=expansion.sets)


def manifest(seed: int) -> None:
    parse_manifest(mutant(small_tree(2)[MANIFEST_NAME], seed, (json.dumps(None),)))


def table(seed: int) -> None:
    parse_table(mutant(sorted(TABLES.glob("*.json"))[0].read_text()[:4000] if seed % 2 else TABLE, seed))


def problem(seed: int) -> None:
    ConvProblem(**problem_fields(mutant(PROBLEM, seed)))


def problem_file(seed: int) -> None:
    document = loads(mutant(PROBLEMS, seed, SPECS))
    entries(document)
    _read(document)


ORIGIN = dict.fromkeys(
    ("device", "driver", "software", "compiler", "commit", "spec_digest", "library_digest", "measured"), "x"
)
TABLE = json.dumps(
    {
        "schema_version": 3,
        "operation": "grouped_conv_bwd_weight",
        "arch": "sm_90a",
        "predicted": False,
        "origin": {"results": {"a.csv": "0"}, **ORIGIN},
        "instances": ["n"],
        "rows": [{"problem": "K8 C8 3x3 on 9x9", "dtype": "f16", "layout": "l", "best": [[0, 1, 2.5]]}],
    },
    indent=1,
)
KINDS: dict[str, Callable[[int], None]] = {
    "spec": spec,
    "spec value": spec_value,
    "word": word,
    "filter": one_filter,
    "manifest": manifest,
    "table": table,
    "problem": problem,
    "problem file": problem_file,
}


def outcome(kind: str, seed: int) -> str:
    """The result for a mutant: `used`, or the rule of its first error."""
    try:
        KINDS[kind](seed)
    except CkgenError as error:
        assert 0 < len(error.diagnostics) <= MAX_SHOWN + 1
        for diagnostic in error.diagnostics:
            for text in (diagnostic.message, diagnostic.help, *diagnostic.notes):
                assert len(text) <= MAX_TEXT and text.isprintable()
        return error.diagnostics[0].rule
    return "used"


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutant_is_used_or_refused(kind: str) -> None:
    found = Counter(map(partial(outcome, kind), range(COUNT)))
    assert kind == "word" or found["used"] < COUNT, "no mutant was wrong (a word may be anything)"


def main(first: int, count: int) -> None:
    """Run mutants of each kind, starting with a seed, and print the results."""
    for kind in KINDS:
        found: Counter[str] = Counter()
        for seed in range(first, first + count):
            try:
                found[outcome(kind, seed)] += 1
            except Exception as error:
                found[f"FAULT {type(error).__name__}"] += 1
                print(kind, seed, repr(error)[:300])
        print(kind, sum(found.values()), dict(found.most_common(6)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))

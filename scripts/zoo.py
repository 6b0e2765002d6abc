"""Write ckgen/problems/zoo.yaml: the convolutions of the networks of scripts/zoo_models.

python scripts/zoo.py                  write the file; needs torch, torchvision, timm, transformers and diffusers
python scripts/zoo.py --only NAME...   print the entries of some networks; those of papers need no package

Each network is run on its two image sizes with a batch of a prime number: a number of images or groups that it divides
is a multiple of the batch. A network and its family are held out by the rule of `held_out_families`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]  # this checkout's ckgen, installed or not

from zoo_models.catalogue import ENTRIES  # noqa: E402
from zoo_models.entry import Entry, size_text  # noqa: E402

from ckgen.conv.problem import ConvProblem  # noqa: E402

BATCH = 101
# The smallest number that holds out a third of the networks and, of each class of convolutions, between a fifth and a
# half of the problems (except depthwise_multiplier, which few networks have), and does not hold out RetinaNet, by
# which the library was tuned. No measurement has chosen it.
SALT = 2824
PACKAGES = ("torchvision", "timm", "transformers", "diffusers")
PAGE = ROOT / "ckgen" / "problems" / "zoo.yaml"
HEAD = """\
# The convolutions of many networks, at two batch sizes and two image sizes. Written by scripts/zoo.py; see docs/zoo.md.
# Nothing may be fitted to, tuned on or chosen by models with `held_out: true`. Transposed convolutions are listed as
# the convolution whose bwd_data they are; `transposed` counts them.
channels: per_group
models:
"""


@dataclass(frozen=True)
class Row:
    """A convolution with its text before and after the input sizes, one size per image."""

    head: str
    tail: str
    inputs: tuple[str, ...]

    def __str__(self) -> str:
        inputs = self.inputs[:1] if len(set(self.inputs)) == 1 else self.inputs
        return f"{self.head} on {'|'.join(inputs)}{self.tail}"


def held_out_families(entries: Iterable[Entry]) -> set[str]:
    """The families that are held out: one of three consecutive families of a domain, chosen by a hash of the domain and
    the number of the three. Families that are added at the end of a domain change nothing before them."""
    domains: dict[str, dict[str, None]] = {}
    for entry in entries:
        domains.setdefault(entry.domain, {})[entry.family] = None
    held_out = set()
    for domain, families in domains.items():
        names = list(families)
        for start in range(0, len(names), 3):
            digest = hashlib.sha256(f"{SALT} {domain} {start // 3}".encode()).digest()
            held_out.update(names[start : start + 3][digest[0] % 3 :][:1])
    return held_out


def rows_of(entry: Entry) -> tuple[dict[Row, int], int]:
    """The distinct rows of a network in order, how often each occurs, and the number of transposed convolutions."""
    traces = [entry.trace(BATCH, image) for image in entry.images]
    counts: dict[Row, int] = {}
    for row in _aligned([trace.problems for trace in traces]):
        counts[row] = counts.get(row, 0) + 1
    return counts, max(trace.transposed for trace in traces)


def _aligned(traces: Sequence[Sequence[ConvProblem]]) -> Iterator[Row]:
    """A row for each convolution. Traces of one length match call by call; others share equal problems only."""
    if len({len(trace) for trace in traces}) == 1:
        for problems in zip(*traces, strict=True):
            texts = [_text(problem) for problem in problems]
            if len({(head, tail) for head, _, tail in texts}) == 1:
                yield Row(texts[0][0], texts[0][2], tuple(size for _, size, _ in texts))
            else:
                yield from (_alone(index, text, len(texts)) for index, text in enumerate(texts))
        return
    counts = [Counter(trace) for trace in traces]
    for problem in dict.fromkeys(problem for trace in traces for problem in trace):
        head, size, tail = _text(problem)
        if len({count[problem] for count in counts}) == 1:
            yield from [Row(head, tail, (size,) * len(traces))] * counts[0][problem]
        else:
            for index, count in enumerate(counts):
                yield from [_alone(index, (head, size, tail), len(traces))] * count[problem]


def _alone(index: int, text: tuple[str, str, str], count: int) -> Row:
    head, size, tail = text
    return Row(head, tail, tuple(size if place == index else "-" for place in range(count)))


def _text(problem: ConvProblem) -> tuple[str, str, str]:
    """The text of a problem before its input size, its input size, and the text after it."""
    head, _, rest = str(problem).partition(" on ")
    size, space, tail = rest.partition(" ")
    groups, batch, *others = head.split(" ")
    words = [f"G{_of_batch(problem.groups)}"] if groups != "G1" else []
    if problem.batch != BATCH:
        words.append(f"N{_of_batch(problem.batch)}")
    tail = " ".join(word for word in tail.split(" ") if word not in ("s1", "p0"))
    return " ".join([*words, *others]), size, f" {tail}" if tail else ""


def _of_batch(number: int) -> str:
    factor = number // BATCH if number % BATCH == 0 else 0
    return f"{factor if factor > 1 else ''}b" if factor else str(number)


def text_of(entry: Entry, held_out: bool) -> str:
    """The entry of the file for one network."""
    rows, transposed = rows_of(entry)
    version = f" {importlib.metadata.version(entry.source)}" if entry.source in PACKAGES else ""
    lines = [
        f"  - name: {entry.name}",
        f"    domain: {entry.domain}",
        f"    source: {entry.source}{version}",
        f"    held_out: {str(held_out).lower()}",
        f"    batches: [{', '.join(map(str, entry.batches))}]",
        f"    images: [{', '.join(map(size_text, entry.images))}]",
        *([f"    transposed: {transposed}"] if transposed else []),
        "    convolutions:",
        *(f"      {row}: {count}" for row, count in rows.items()),
    ]
    return "\n".join(lines) + "\n"


@click.command()
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([entry.name for entry in ENTRIES]),
    metavar="NAME",
    help="Print only the entries of these networks.",
)
def main(only: tuple[str, ...]) -> None:
    """Write ckgen/problems/zoo.yaml, or print some of its entries."""
    held_out = held_out_families(ENTRIES)
    chosen = [entry for entry in ENTRIES if not only or entry.name in only]
    texts = []
    for entry in chosen:
        click.echo(entry.name, err=True)
        texts.append(text_of(entry, entry.family in held_out))
    if only:
        click.echo("".join(texts), nl=False)
    else:
        PAGE.write_text(HEAD + "".join(texts), encoding="utf-8")


if __name__ == "__main__":
    main()

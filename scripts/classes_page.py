"""Texts of docs/amd_classes.md and docs/amd_domains.md: predicted times by class of layer, from docs/classes.
scripts/docs.py writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.conv.classes import CLASSES
from ckgen.cost.rank import KERNEL_START_S
from ckgen.hardware.compute_units import RATES
from ckgen.operations.operation import BWD_WEIGHT, OPERATIONS
from ckgen.problems.sets import PARTS, load_problems
from ckgen.report.by_class import BAR, DTYPES, ORDERS, SETS, ClassRow, read_rows

HEAD = """\
# {title}

No AMD GPU was available, so nothing here was measured. The cost model of [isa.md](isa.md) predicts each layer of
{layers} for {gpus}, with the fastest instance of the spec that takes the layer.
A number is the predicted time relative to the roofline, as the geometric mean over the layers of a class. The roofline
is the longer of the arithmetic at the matrix peak and the compulsory bytes at full bandwidth, plus the {start:g} us in
which an empty kernel starts. Main loops take the cycles of a simulation that no
GPU confirmed ([simulator.md](simulator.md)).

The bar is {bar:g} in every class. Numbers above it are bold. The table at the end of each section has the layer of each
class and type that is farthest from the roofline, where that is above the bar. `full` has every instance of
`instances.yaml`, `default` those that `ckgen generate` writes. Held-out networks are on their own: nothing was chosen
by them.

```sh
{command}
ckgen tune --check        # compares digests, and predicts the worst layer of each row again
```

{counts} The files have one row per operation, order of channels, type, set, class and part, with the share of layers
within the bar: {files}.
"""


@dataclass(frozen=True, slots=True)
class Page:
    """A page about the files of ``folder``, below docs: predictions of the layers of a bundled problem set, made with
    ``options`` of the command."""

    title: str
    layers: str
    problems: str
    options: str
    folder: str


ZOO = Page("Predicted times on AMD GPUs", "the [zoo](zoo.md)", "zoo", "--sample 780", "classes")
DOMAINS = Page(
    "Predicted times on AMD GPUs: other domains",
    "the problem set `domains` (a sample of the layers of segmentation, diffusion, volumes, speech and signals)",
    "domains",
    "--problems domains",
    "classes/domains",
)


def classes_page(page: Page, docs: Path, notice: str) -> str:
    """The text of ``page``, which opens with ``notice``."""
    folder = docs / page.folder
    files = sorted(folder.glob("*.csv"))
    rows = {path.stem: read_rows(path)[1] for path in files}
    head = HEAD.format(
        title=page.title,
        layers=page.layers,
        command=f"ckgen report --predicted docs/isa/gfx942.csv {page.options} --out docs/{page.folder}/gfx942.csv",
        gpus=", ".join(f"{RATES[arch].gpu} ({arch})" for arch in rows),
        start=KERNEL_START_S * 1e6,
        bar=BAR,
        counts=_counts(rows, page.problems),
        files=", ".join(f"[{path.stem}]({page.folder}/{path.name})" for path in files),
    )
    parts = [notice, head]
    for operation in OPERATIONS.values():
        for order in ORDERS:
            own = {
                arch: [row for row in every if (row.operation, row.order) == (operation.name, order)]
                for arch, every in rows.items()
            }
            parts.append(f"## {operation.words.capitalize()}, {order}\n")
            for set_name in SETS:
                parts.append(f"Set `{set_name}`, fitted / held out:\n\n{_means(own, set_name)}")
            parts.append(_worst(own))
    return "\n".join(parts)


def _counts(rows: dict[str, list[ClassRow]], problems: str) -> str:
    """The number of layers that each file has."""
    whole = len(load_problems(problems))
    texts = []
    for arch, every in rows.items():
        kind = BWD_WEIGHT, ORDERS[0], DTYPES[0], SETS[0]
        count = sum(row.layers for row in every if (row.operation, row.order, row.dtype, row.set_name) == kind)
        share = "all" if count == whole else "a sample, `--sample`"
        texts.append(f"{arch} has {count} of {whole} layers ({share})")
    return "; ".join(texts) + "."


def _means(own: dict[str, list[ClassRow]], set_name: str) -> str:
    headers = ["class", *(f"{arch} {dtype}" for arch in own for dtype in DTYPES)]
    lines = []
    for name in CLASSES:
        cells = []
        for every in own.values():
            for dtype in DTYPES:
                found = {
                    row.part: row
                    for row in every
                    if (row.set_name, row.class_name, row.dtype) == (set_name, name, dtype)
                }
                cells.append(" / ".join(_times(found[part]) if part in found else "–" for part in PARTS))
        lines.append([f"`{name}`", *cells])
    return _table(headers, lines)


def _times(row: ClassRow) -> str:
    return f"**{row.mean:.1f}**" if row.slow else f"{row.mean:.1f}"


def _worst(own: dict[str, list[ClassRow]]) -> str:
    """The worst layers with set `full`, one per architecture, type and class."""
    worst: dict[tuple[str, str, str], ClassRow] = {}
    for arch, every in own.items():
        for row in every:
            key = arch, row.dtype, row.class_name
            if row.set_name == SETS[0] and row.worst > max(BAR, worst[key].worst if key in worst else 0):
                worst[key] = row
    lines = [
        (arch, dtype, f"`{name}`", row.problem, f"{row.worst:.1f}", f"{100 * row.within:.0f} %")
        for (arch, dtype, name), row in worst.items()
    ]
    if not lines:
        return "No layer is above the bar with set `full`.\n"
    headers = ("arch", "type", "class", "worst layer, set `full`", "times the roofline", "layers within the bar")
    return _table(headers, lines)


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

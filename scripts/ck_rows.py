"""Compare the type strings of Composable Kernel's own instance tables with those of set `full`; write docs/ck_rows.md.

python scripts/ck_rows.py CK_SRC                 write the page from a checkout of CK; nothing is fetched
python scripts/ck_rows.py CK_SRC --check         exit 1 if the page differs

A row counts as present if an instance of the same operation, data type and function has its type string in every layout
of LAYOUTS. The page gives the rule that stands against each row that is missing. Tables of classes that no family
has are only counted.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this checkout's ckgen, installed or not

PAGE = ROOT / "docs/ck_rows.md"
REGISTERS = ROOT / "scripts/ck_rows_registers.csv"  # what rows need that rule register-budget refuses, measured
TABLES = "library/include/ck/library/tensor_operation_instance/gpu"
WEIGHT, DATA = "grouped_conv_bwd_weight", "grouped_conv_bwd_data"
FOLDERS = (WEIGHT, DATA)
SPECS = ("Default", "Filter1x1Stride1Pad0")
TWO_STAGE = "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle"
TYPES = {"F16": "fp16", "BF16": "bf16", "F32": "fp32", "I8": "int8", "F8": "fp8", "BF8": "bf8"}  # in words of files
# The layouts for which CK instantiates its tables, by operation or class; those of fused functions, and of rounded
# operands, only for 3-D images with channels last.
LAYOUTS = {
    "DeviceGroupedConvBwdWeight_Wmma_CShuffle": ("NDHWGC/GKZYXC/NDHWGK", "GNDHWC/GKZYXC/GNDHWK"),
    WEIGHT: (
        "NHWGC/GKYXC/NHWGK",
        "NDHWGC/GKZYXC/NDHWGK",
        "GNHWC/GKYXC/GNHWK",
        "GNDHWC/GKZYXC/GNDHWK",
        "GNWC/GKXC/GNWK",
    ),
    DATA: ("NHWGK/GKYXC/NHWGC", "NDHWGK/GKZYXC/NDHWGC", "GNHWK/GKYXC/GNHWC", "GNDHWK/GKZYXC/GNDHWC"),
}
FUSED_LAYOUT = {WEIGHT: "NDHWGC/GKZYXC/NDHWGK", DATA: "NDHWGK/GKZYXC/NDHWGC"}
FUSED_WEIGHT = "DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle"
TWO_STAGE_LAYOUTS = LAYOUTS[WEIGHT][:2]
# Tables with this word in their names are for layouts whose tensors the class copies to channels-last ones.
TRANSPOSING = "_ngchw_"
TRANSPOSING_LAYOUTS = ("NGCHW/GKYXC/NGKHW", "NGCDHW/GKZYXC/NGKDHW")
# The template arguments that `GetTypeString` prints, by class; None is the variant, a pair is a product, a text itself.
Position = int | None | tuple[int, int] | str
XDL_WEIGHT = (12, 13, 14, 15, None, 16, 19, 20, 25, 26, 32, 33, 35, 36, 38)
POSITIONS: dict[str, tuple[Position, ...]] = {
    "DeviceGroupedConvBwdWeight_Xdl_CShuffle": XDL_WEIGHT,
    FUSED_WEIGHT: XDL_WEIGHT,
    TWO_STAGE: (
        *(12, 13, 14, 15, SPECS[0], 16, 19, 20, 25, 26, 32, 33, 35, 36, 38),
        *("BlkGemmPipelineScheduler: Intrawave", None, 41),
    ),
    "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1": (
        *(18, 19, 20, 21, 22, 23, None),
        *(24, 25, 26, 27, 32, 39, 42, 43),
    ),
    "DeviceGroupedConvBwdWeight_Wmma_CShuffle": (12, 13, 14, 15, None, 16, 25, 26, 32, 33, 35, 36, 38),
    "DeviceGroupedConvBwdDataMultipleD_Wmma_CShuffle": (15, 16, 17, (18, 19), None, 19, 28, 35),
    "DeviceGroupedConvBwdWeight_Dl": (12, 13, 14, 15, None, 16),
}
FUNCTIONS = ("Bilinear", "Scale")
_TABLE = re.compile(r"using\s+(\w+)\s*=\s*std::tuple<(.*?)>;", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ROW = re.compile(r"\b(Device\w+)\s*<")


@dataclass(frozen=True, slots=True)
class Table:
    """One list of CK: rows of a class with their template arguments as text."""

    folder: str
    name: str
    kind: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """The result for a table: rows over both specialisations, those with an equal type string, reasons of others."""

    table: Table
    rows: int
    same: int
    reasons: Counter[str]


def tables_of(source: Path) -> Iterator[Table]:
    """Every list below the folders of the two operations, in order of file and place."""
    seen = set()  # two files may give the same list
    for folder in FOLDERS:
        for path in sorted((source / TABLES / folder).glob("*.hpp")):
            text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
            for name, body in _TABLE.findall(text):
                rows = list(_rows(body))
                kinds = {kind for kind, _ in rows}
                for kind in sorted(kinds):
                    table = Table(folder, name, kind, tuple(_plain(row, kind) for own, row in rows if own == kind))
                    if table not in seen:
                        seen.add(table)
                        yield table


def _plain(row: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """The arguments of a row without those of D tensors where the class of plain operators has none."""
    return (*row[:4], *row[5:9], *row[10:]) if kind == FUSED_WEIGHT else row


def _rows(body: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    from ckgen.ck.notation import split

    for match in _ROW.finditer(body):
        depth, end = 1, match.end()
        while depth and end < len(body):
            depth += {"<": 1, ">": -1}.get(body[end], 0)
            end += 1
        yield match[1], split(body[match.end() : end - 1] if depth == 0 else body[match.end() :])


def variants(kind: str) -> tuple[str, ...]:
    """The specialisations, or pipelines, for which CK instantiates each row of a class."""
    return tuple(f"BlkGemmPipelineVersion: v{number}" for number in (2, 5)) if kind == TWO_STAGE else SPECS


def type_string(row: tuple[str, ...], table: Table, variant: str) -> str:
    """The type string of a row, from the positions that `GetTypeString` of its class prints."""
    from ckgen.ck.notation import TRANSPOSING as NAMES
    from ckgen.ck.notation import TYPE_STRING, show

    kind, transposing = table.kind, TRANSPOSING in table.name
    names = (NAMES if transposing else TYPE_STRING)[kind]

    def value(position: Position) -> str:
        if isinstance(position, tuple):
            return str(int(row[position[0]]) * int(row[position[1]]))
        if isinstance(position, int):
            return row[position]
        return variant if position is None else position

    values = [value(position) for position in POSITIONS[kind]]
    if transposing:
        values += [f"TransposeTransferSrcScalarPerVector: {row[-2]}", f"TransposeTransferDstScalarPerVector: {row[-1]}"]
    return show(kind, dict(zip(names, values, strict=True)), transposing=transposing)


def _kind_of_row(row: tuple[str, ...], table: Table) -> tuple[str, str] | str:
    """Data type and function of a row, or why no instance has them."""
    from ckgen.ck.notation import OPERATION_OF
    from ckgen.ck.words import dtype_of
    from ckgen.conv.dtypes import DTYPES

    operation, kind = table.folder, table.kind
    if kind not in OPERATION_OF:
        return "ck-class: no family has this class"
    words = row[4:7] if operation == WEIGHT else (row[5], row[6], row[10])
    place = {WEIGHT: 42 if kind == TWO_STAGE else 39, DATA: 47}[operation]
    compute = row[place : place + 2] if "_Xdl_" in kind else ()
    first, second, third = (TYPES.get(word, word) for word in words)
    operands = (TYPES.get(compute[0], compute[0]), TYPES.get(compute[-1], compute[-1])) if compute else None
    dtype = dtype_of((first, second, third), operands)
    if dtype not in DTYPES:
        return f"foreign-dtype: computes in {'/'.join(compute) or '/'.join(words)}"
    function = row[9] if operation == WEIGHT else row[13]
    return dtype, function if function in FUNCTIONS else "PassThrough"


def layouts_of(table: Table, dtype: str, function: str) -> tuple[str, ...]:
    """The layouts for which CK instantiates rows of a data type and function."""
    from ckgen.conv.dtypes import DTYPES

    if table.kind == TWO_STAGE:
        return TRANSPOSING_LAYOUTS if TRANSPOSING in table.name else TWO_STAGE_LAYOUTS
    if function != "PassThrough" or not DTYPES[dtype].as_stored:
        return (FUSED_LAYOUT[table.folder],)
    return LAYOUTS.get(table.kind, LAYOUTS[table.folder])


def spilled_registers() -> dict[tuple[str, str], str]:
    """The measurements of rows that need too many registers, by table and type string."""
    lines = [line for line in REGISTERS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = csv.DictReader(lines)
    return {
        (row["table"], row["row"]): f" (compiled: {row['spilled']} spilled, {row['scratch']} bytes of scratch)"
        for row in rows
    }


def compare(table: Table, ours: dict[tuple[str, str, str, str], set[str]]) -> Compared:
    """The result for one table."""
    from ckgen.ck.importing import Asked, resolve_text
    from ckgen.conv.layout import physical_axes
    from ckgen.instance.checker import Checker

    reasons: Counter[str] = Counter()
    measured = spilled_registers()
    same = 0
    for row in table.rows:
        kind = _kind_of_row(row, table)
        if isinstance(kind, str):
            reasons[kind] += len(variants(table.kind))
            continue
        dtype, function = kind
        layouts = layouts_of(table, dtype, function)
        for variant in variants(table.kind):
            text = type_string(row, table, variant)
            if all(text in ours.get((table.folder, layout, dtype, function), ()) for layout in layouts):
                same += 1
                continue
            asked = Asked(physical_axes("in", layouts[0]).lower(), dtype)
            found = resolve_text(text, asked, Checker()).refusals
            reason = "; ".join(f"{one.rule}: {one.message}" for one in found) or "valid, in no group"
            reasons[reason + measured.get((table.name.removeprefix("device_"), text), "")] += 1
    return Compared(table, len(table.rows) * len(variants(table.kind)), same, reasons)


def strings_of_full() -> dict[tuple[str, str, str, str], set[str]]:
    """The type strings of set `full` by operation, layout, data type and function."""
    from ckgen.ck.exporting import has_row
    from ckgen.ck.exporting import type_string as string_of
    from ckgen.spec.expand import expand_document
    from ckgen.text.source import load

    expansion = expand_document(load(ROOT / "instances.yaml"))
    full = set(expansion.sets["full"])
    found: dict[tuple[str, str, str, str], set[str]] = {}
    for made in expansion.instances:
        if made.name in full and has_row(made):
            found.setdefault((made.operation, made.layout, made.dtype, made.function), set()).add(string_of(made))
    return found


def page(found: list[Compared], revision: str) -> str:
    """The text of docs/ck_rows.md."""
    known = [one for one in found if one.same or not all(reason.startswith("ck-class") for reason in one.reasons)]
    rows, same = sum(one.rows for one in known), sum(one.same for one in known)
    lines = [
        "<!-- Written by scripts/ck_rows.py from a checkout of CK and instances.yaml. Do not edit. -->\n",
        "# Rows of Composable Kernel\n",
        "The type strings of CK's instance tables of the two operations, compared with those of set `full`. CK is",
        f"[revision {revision[:12]}](https://github.com/ROCm/composable_kernel/tree/{revision}).",
        "A row counts for each convolution specialisation, Default and Filter1x1Stride1Pad0, or for each pipeline of",
        f"`{TWO_STAGE}`, v2 and v5. It has the same string if",
        "an instance of the same operation, data type and function has it in every layout of CK's factories.\n",
        f"Of {rows} rows in tables of classes that ckgen has, {same} have the same string.\n",
        "Rows that rule register-budget refuses were compiled without the rule by clang 19.1.7 for gfx1100 (that of",
        "128x256x64 in f16 for gfx1103): each of them spills registers to memory.\n",
        "| table | class | rows | same string | missing, by rule |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in found:
        reasons = "; ".join(f"{count} {reason}" for reason, count in sorted(one.reasons.items()))
        name = one.table.name.removeprefix("device_")
        lines.append(f"| `{name}` | `{one.table.kind}` | {one.rows} | {one.same} | {reasons or '-'} |")
    return "\n".join(lines) + "\n"


@click.command()
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="CK_SRC")
@click.option("--revision", help="The commit of CK_SRC. Default: what git says.")
@click.option("--check", is_flag=True, help="Exit 1 if the page differs.")
def main(source: Path, revision: str | None, check: bool) -> None:
    """Write docs/ck_rows.md from a checkout of CK."""
    if revision is None:
        command = ["git", "-C", str(source), "rev-parse", "HEAD"]
        revision = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    ours = strings_of_full()
    found = [compare(table, ours) for table in tables_of(source)]
    if not found:
        raise click.UsageError(f"{source} has no tables below {TABLES}")
    text = page(found, revision)
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        raise click.ClickException("docs/ck_rows.md differs; run python scripts/ck_rows.py CK_SRC")
    click.echo(next(line for line in text.splitlines() if line.startswith("Of ")))


if __name__ == "__main__":
    main()

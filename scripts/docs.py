"""Write the pages that are generated from code, spec and measured rows: docs/*, the schema.

python scripts/docs.py            write the pages that changed
python scripts/docs.py --check    exit 1 with a diff if a page is out of date
"""

from __future__ import annotations

import difflib
import functools
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this checkout's ckgen, installed or not

if TYPE_CHECKING:
    from ckgen.instance.instance import Instance
    from ckgen.report.summary import Summary
    from ckgen.spec.expand import Expansion

NOTICE = "<!-- Written by scripts/docs.py from {source}. Do not edit; run: make docs -->\n"
WIDTH = 110
MEASURED_ARCH = "sm_90a"
NVIDIA_NOTE = """`archs` lists AMD architectures. The exceptions are families for sm_90a only (wavelet_tma, stationary,
halo): the host platform executes these, libraries for other GPUs omit them. A library for platform nvidia contains
every other instance of its tree. Each runs on all NVIDIA architectures where its LDS fits: all except sm_86, sm_89 and
sm_120 for instances of more than 99 KiB. See [nvidia.md](nvidia.md).
"""


def cli_page() -> str:
    """Text of docs/cli.md: every command's help, as the terminal shows it."""
    from ckgen.cli import COMMANDS

    parts = [NOTICE.format(source="ckgen/cli/"), "# The ckgen command\n"]
    parts.append(
        "Exit codes: 0 done, 1 drift or a failed check, 2 wrong use or a wrong spec; 130 interrupted (Ctrl-C), 143\n"
        "terminated (SIGTERM), 129 hung up (SIGHUP), 141 the output's reader is gone. No temporary files are left.\n"
    )
    parts.append(f"```text\n{_help()}\n```\n")
    parts += [f"## ckgen {name}\n\n```text\n{_help(name)}\n```\n" for name in COMMANDS]
    return "\n".join(parts)


def _help(name: str | None = None) -> str:
    from ckgen.cli import cli

    root = click.Context(cli, info_name="ckgen", terminal_width=WIDTH, max_content_width=WIDTH)
    if name is None:
        return cli.get_help(root)
    command = cli.get_command(root, name)
    assert command is not None
    return command.get_help(click.Context(command, info_name=name, parent=root, terminal_width=WIDTH))


def rules_page() -> str:
    """Text of docs/rules.md: every rule with its reason."""
    from ckgen.families.registry import RULES, families_with
    from ckgen.operations.operation import OPERATIONS

    parts = [NOTICE.format(source="ckgen/families"), "# Rules\n"]
    parts.append(
        "Each rule is one expression. Python checks it before a compiler runs, and the generated header\n"
        "`ckgen/config/rules.hpp` asserts it again. Its names are fields and derived values of an instance;\n"
        "`ckgen explain NAME` prints their values.\n"
    )
    for rule in RULES:
        families = f"Families: {', '.join(families_with(rule))}. "
        if len(rule.operations) < len(OPERATIONS):
            families += f"Only for {', '.join(rule.operations)}. "
        parts.append(f"## {rule.id}\n\n{families}{_sentence(rule.sentence)} {_sentence(rule.reason)}\n")
        parts.append(f"```text\n{rule.condition}\n```\n")
    return "\n".join(parts)


def support_table() -> str:
    """Table of set `full` per operation, layout and dtype, by family."""
    from ckgen.families.registry import FAMILIES
    from ckgen.spec.catalog import MATRIX_HEADERS, support_matrix

    expansion = _expansion()
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for values in support_matrix(_members(expansion, "full")):
        row = dict(zip(MATRIX_HEADERS, values, strict=True))
        parts = [f"{row[family]} {family}" for family in FAMILIES if row[family] != "-"]
        parts += ["generic"] if row["generic"] == "yes" else []
        cells.setdefault((row["operation"], row["layout"]), {})[row["dtype"]] = ", ".join(parts)
    dtypes = list(dict.fromkeys(dtype for row in cells.values() for dtype in row))
    rows = [
        (operation.removeprefix("grouped_conv_"), f"`{layout}`", *(row.get(dtype, "") for dtype in dtypes))
        for (operation, layout), row in cells.items()
    ]
    return _table(("operation", "layout", *dtypes), rows)


def support_page() -> str:
    """Text of docs/support.md: coverage of the sets `full` and `default`, and the architectures."""
    from ckgen.hardware.archs import ARCHES, ATOMS, NVIDIA_ARCHES, TF32_PARTS, WARP_ATOMS, WARPGROUP_ATOMS
    from ckgen.hardware.compute_units import UNITS
    from ckgen.spec.catalog import MATRIX_HEADERS, support_matrix

    expansion = _expansion()
    parts = [NOTICE.format(source="instances.yaml and ckgen/hardware/archs.py"), "# What is supported\n"]
    parts.append(f"Instances of set `full`:\n\n{support_table()}")
    parts.append("`generic` is yes if one instance takes every valid problem; the family columns count instances.\n")
    for name in ("full", "default"):
        members = _members(expansion, name)
        parts.append(f"## Set `{name}`: {len(members)} instances\n\n{_table(MATRIX_HEADERS, support_matrix(members))}")
    rows = []
    for arch in ARCHES.values():
        units = [f"`{atom.instruction}`" for atom in ATOMS.values() if atom.arch == arch.name]
        units, gpu = [*units, f"dot products of {', '.join(arch.dots)}"], UNITS[arch.name].gpu
        rows.append((arch.name, gpu, f"{arch.native_wave}", f"{arch.lds_limit // 1024} KiB", ", ".join(units)))
    for arch in NVIDIA_ARCHES.values():
        f32 = "three products of tf32 (f32)" if arch.name in TF32_PARTS else "portable multiply-add (f32)"
        units = [f"`{atom.instruction}`" for atom in WARP_ATOMS.values()] + [f32]
        units += [f"`{atom.instruction}`" for atom in WARPGROUP_ATOMS.values() if atom.arch == arch.name]
        rows.append((arch.name, "", f"{arch.native_wave}", f"{arch.lds_limit // 1024} KiB", ", ".join(units)))
    headers = ("arch", "largest GPU", "wave", "LDS per workgroup", "matrix instructions")
    parts += ["## Architectures\n\n" + _table(headers, rows), NVIDIA_NOTE]
    return "\n".join(parts)


def instances_page() -> str:
    """Text of docs/instances.md: every instance of set `default`, by add function."""
    expansion = _expansion()
    parts = [NOTICE.format(source="instances.yaml"), "# Instances\n"]
    members, everything = _members(expansion, "default"), _members(expansion, "full")
    parts.append(
        f"Set `default` has {len(members)} of {len(everything)} instances, listed by the function that adds them to a\n"
        "factory. `ckgen list --set full` lists all. A name contains all fields: operation, family, layouts\n"
        "(input, weight, output), dtype, conv spec, tile M x N x K, load x math waves, matrix atom, vector\n"
        "widths A x B x C, stages.\n"
    )
    functions = dict.fromkeys(instance.add_function for instance in members)
    for function in functions:
        names = [f"- `{i.name}`" for i in members if i.add_function == function]
        parts.append(f"## {function}\n\n" + "\n".join(names) + "\n")
    return "\n".join(parts)


@functools.cache
def _expansion() -> Expansion:
    from ckgen.spec.expand import expand_document
    from ckgen.text import source

    return expand_document(source.load(ROOT / "instances.yaml"))


def _members(expansion: Expansion, set_name: str) -> list[Instance]:
    names = frozenset(expansion.sets[set_name])
    return [instance for instance in expansion.instances if instance.name in names]


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def measured_table(operation: str) -> str:
    """Table of an operation's measurements, with its source."""
    from ckgen.report.digest import digest_headers, digest_rows

    summary, file = _measured(operation)
    origin = summary.origin
    folder, where = file.rsplit("/", 1)[0], f"{origin.device}, {origin.started[:10]}, {origin.software}"
    lines = [
        f"{where}; geometric means over the shapes, every result verified.",
        f"Raw rows, the full page and comments: [{folder}](../{folder}).\n",
    ]
    return "\n".join(lines) + "\n" + _table(digest_headers(summary), digest_rows(summary))


def measured_plot(operation: str) -> str:
    """Plot of an operation's f16 times (docs/measured*.svg), drawn by the code of `ckgen report`'s page."""
    from ckgen.report.page import floor_plot

    return floor_plot(_measured(operation)[0], "f16", operation)


def totals_table(operation: str) -> str:
    """Table for the measurements' own page: the same rows, over all shapes."""
    totals = _measured(operation)[0].totals
    reference = _measured(operation)[0].reference_name.replace("cudnn", "cuDNN")
    mean = [f"{total.mean_speed_up:.2f}" for total in totals]
    not_slower = [str(total.not_slower) for total in totals]
    worst = [f"`{total.least_shape}` {total.least_speed_up:.2f}" for total in totals]
    shapes = totals[0].shapes
    rows = (
        (f"{reference}'s time over ours, geometric mean of {shapes} shapes (goal 1.3)", *mean),
        (f"shapes at least as fast as {reference} (goal {shapes})", *not_slower),
        ("the worst shape", *worst),
    )
    return _table(("", *(total.dtype for total in totals)), rows)


@functools.cache
def _measured(operation: str) -> tuple[Summary, str]:
    """Read the first of the files that the selector's table was made from. It is a whole run and includes the
    reference. Later files repeat some instances without it, and times of different runs must not be compared."""
    from ckgen.report.digest import summary_of
    from ckgen.selection.measured import load_tables
    from ckgen.tuning.from_rows import read_measured

    (table,) = (table for table in load_tables() if (table.arch, table.operation) == (MEASURED_ARCH, operation))
    file = next(iter(table.origin.results))
    measured = read_measured([file], ROOT)
    return summary_of(measured.rows, measured.runs.values()), file


def spliced(text: str, name: str, table: str) -> str:
    """Replace the part of `text` between `<!-- begin:name -->` and `<!-- end:name -->` by `table`."""
    begin, end = f"<!-- begin:{name} -->\n", f"<!-- end:{name} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    result, count = pattern.subn(lambda _: f"{begin}{table}{end}", text)
    if count != 1:
        raise SystemExit(f"a page must have one {begin.strip()} ... {end}")
    return result


def pages() -> dict[str, str]:
    """Texts of all generated pages by path, and README.md with its tables updated."""
    from api_page import api_page
    from classes_page import DOMAINS, ZOO, classes_page
    from spec_page import spec_page
    from zoo_page import zoo_page

    from ckgen.cli.schema import schema_text
    from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

    speed = (ROOT / "docs/speed.md").read_text(encoding="utf-8")
    for name, operation in (("measured", BWD_WEIGHT), ("measured-data", BWD_DATA)):
        speed = spliced(speed, name, measured_table(operation))
    measured = f"{Path(_measured(BWD_WEIGHT)[1]).parent}/README.md"
    results = (ROOT / measured).read_text(encoding="utf-8")
    for name, operation in (("measured", BWD_WEIGHT), ("measured-data", BWD_DATA)):
        results = spliced(results, name, totals_table(operation))
    return {
        "docs/cli.md": cli_page(),
        "docs/rules.md": rules_page(),
        "docs/support.md": support_page(),
        "docs/instances.md": instances_page(),
        "docs/zoo.md": zoo_page(NOTICE.format(source="ckgen/problems/zoo.yaml")),
        "docs/amd_classes.md": classes_page(ZOO, ROOT / "docs", NOTICE.format(source="docs/classes/*.csv")),
        "docs/amd_domains.md": classes_page(DOMAINS, ROOT / "docs", NOTICE.format(source="docs/classes/domains/*.csv")),
        "instances.schema.json": schema_text(),
        "docs/measured.svg": measured_plot(BWD_WEIGHT),
        "docs/measured_bwd_data.svg": measured_plot(BWD_DATA),
        "docs/spec.md": spec_page(NOTICE.format(source="ckgen/spec/models.py and ckgen/families/")),
        "docs/api_c.md": api_page(NOTICE.format(source="ckgen/c_api.h"), ROOT / "templates/include/ckgen/c_api.h"),
        "docs/speed.md": speed,
        measured: results,
    }


def drift(wanted: Mapping[str, str]) -> str:
    """Unified diff from the files on disk to `wanted`; empty if they are equal."""
    lines: list[str] = []
    for name, text in wanted.items():
        path = ROOT / name
        there = path.read_text(encoding="utf-8") if path.exists() else ""
        before, after = there.splitlines(keepends=True), text.splitlines(keepends=True)
        lines += difflib.unified_diff(before, after, f"{name} (on disk)", f"{name} (from the code)")
    return "".join(lines)


def main() -> int:
    found = drift(wanted := pages())
    if "--check" in sys.argv[1:]:
        sys.stdout.write(found or "docs: up to date\n")
        return 1 if found else 0
    for name, text in wanted.items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Implementation of `ckgen isa --simulate --write`: the committed tables of simulated cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ckgen.cli.common import console
from ckgen.cli.common.files import write_new
from ckgen.cli.common.selection import Selection
from ckgen.cli.run.isa_simulated import Simulator
from ckgen.errors import CkgenError
from ckgen.hardware.timing import TIMINGS
from ckgen.instance.instance import Instance
from ckgen.machine_code.analyse import CodeReport
from ckgen.machine_code.cycles.memory import Source
from ckgen.machine_code.cycles.table import Cycles, CyclesTable, cycles_path, digest_of, read_cycles, stale, table_text
from ckgen.machine_code.table import Table, row_of, table_path
from ckgen.verify.simulated import Simulated


def write_cycles(
    selection: Selection,
    reports: Sequence[CodeReport],
    release: str,
    instances: dict[str, Instance],
    *,
    tables: Path,
    jobs: int,
) -> None:
    """Bring the table of one architecture up to date with its instances that have a main loop of matrix instructions.

    Instances whose code is that of their row are not simulated again. The file is written after each instance, so that
    an ended run can go on. Rows of instances that are not chosen are kept.
    """
    arch = reports[0].arch
    path = cycles_path(table_path(tables, arch))
    if arch not in TIMINGS:
        console.warn(f"{arch}: there are no times of its units, so that nothing is simulated")
        return
    table = read_cycles(path) if path.exists() else CyclesTable(arch, release)
    if table.compiler != release:
        table = CyclesTable(arch, release)
    todo = [report for report in reports if _has_matrix_loop(report) and not table.of_code(report.name, row_of(report))]
    console.note(f"{arch}: {len(todo)} of {len(reports)} instances are to be simulated")
    if not todo:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    simulator = Simulator(selection, todo, instances, jobs)
    with console.progress(f"simulate {arch}", len(todo)) as step:
        for report in todo:
            try:
                row = _row(report, simulator.run(report))
            except CkgenError as error:
                console.warn(f"{arch} {report.name}: {error.diagnostics[0].message}")
                continue
            table = replace(table, rows={**table.rows, row.instance: row})
            write_new(path, table_text(table), replace=True)
            step(report.name)
    console.say(f"wrote {path}: {len(table.rows)} instances, {release}")


def stale_cycles(tables: Path, code: Table) -> list[str]:
    """A line for each simulated row of other code than that of ``code``; none without a table of this release."""
    path = cycles_path(table_path(tables, code.arch))
    table = read_cycles(path) if path.exists() else None
    return stale(table, code) if table and table.compiler == code.compiler else []


def _has_matrix_loop(report: CodeReport) -> bool:
    loop = report.loop("main") or report.loop("math")
    return loop is not None and loop.hot.matrix > 0


def _row(report: CodeReport, found: Simulated) -> Cycles:
    l2, memory = found.results[Source.L2], found.results[Source.MEMORY]
    code = digest_of(row_of(report))
    return Cycles(report.name, code, l2.groups, round(l2.cycles_per_tile, 1), round(memory.cycles_per_tile, 1))

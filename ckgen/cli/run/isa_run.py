"""Implementation of `ckgen isa`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click

from ckgen.build.targets import check_archs, check_declared
from ckgen.build.toolchain import find_toolchain
from ckgen.cli.common import console
from ckgen.cli.common.files import write_new
from ckgen.cli.common.options import asked_for
from ckgen.cli.common.selection import Loaded, Selection, load
from ckgen.cli.common.workshop import Workplace, workplace
from ckgen.cli.run.isa_cycles import stale_cycles, write_cycles
from ckgen.cli.run.isa_nvidia_run import isa_nvidia
from ckgen.cli.run.isa_options import IsaOptions
from ckgen.cli.run.isa_simulated import simulated
from ckgen.cost.model import bound_of
from ckgen.errors import EXIT_FAILED, CkgenError, Diagnostic
from ckgen.hardware.archs import ARCHES, NVIDIA_ARCHES
from ckgen.instance.instance import Instance
from ckgen.machine_code.analyse import CodeReport, Mix
from ckgen.machine_code.compile import compile_and_read, identify
from ckgen.machine_code.table import Table, differences, load_table, load_tables, make_table, table_path, table_text
from ckgen.spec.limits import check_limits

DEFAULT_ARCH = "gfx942"
TABLE_ARCHS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")
HEADERS = ("instance", "arch", "vgpr", "agpr", "sgpr", "spill", "scratch", "lds", "waves", "code")
LOOP_HEADERS = (
    *("matrix", "valu", "salu", "lds r/w", "global", "wait", "barrier", "valu/matrix", "load valu/tile", "exposed"),
    "bound",
)
MIX_HEADERS = (
    *("instance", "arch", "loop", "way", "tiles", "matrix", "valu", "slow", "salu", "lds_read", "lds_write"),
    *("loads", "exposed", "stores", "waits", "barriers", "total"),
)
_MIX_COLUMNS = MIX_HEADERS[5:]


@dataclass(frozen=True, slots=True)
class Found:
    """The reports for one architecture, and the release of their compiler."""

    arch: str
    release: str
    reports: tuple[CodeReport, ...]


def isa(options: IsaOptions) -> int:
    """Compile, analyse, print; write or check the tables. Returns 1 if a check fails."""
    archs = options.archs or _default_archs(options)
    check_archs(archs)
    _check_modes(options, archs)
    loaded = load(options.spec)
    selection = Selection(options.spec, options.set_name, options.filters, Path("generated"))
    chosen = selection.choose(loaded)
    check_declared(options.archs, [instance.archs for instance in chosen])
    place = workplace(selection, chosen=True, platform="isa")
    if any(arch in NVIDIA_ARCHES for arch in archs):
        if options.check or options.write:
            raise click.UsageError("limits and tables are for AMD architectures")
        return isa_nvidia(place, chosen, archs, options.compiler, options.jobs, options.as_json)
    found = [_of_arch(options, place, chosen, arch) for arch in archs]
    found = [item for item in found if item.reports]
    if not found:
        message = f"none of {len(chosen)} instances is for {' or '.join(archs)}"
        raise CkgenError([Diagnostic(None, "empty-selection", message, "choose another --arch or other FILTERs")])
    console.note(f"assembly in {place.build_dir}")
    by_name = {instance.name: instance for instance in chosen}
    if options.check:
        return _check(options, loaded, found)
    if options.write and options.simulate:
        for item in found:
            write_cycles(selection, item.reports, item.release, by_name, tables=options.tables, jobs=options.jobs)
        return 0
    if options.write:
        return _write(options, found)
    if options.simulate:
        reports = [report for item in found for report in item.reports]
        pictures, as_json = options.timeline, options.as_json
        return simulated(selection, reports, by_name, jobs=options.jobs, pictures=pictures, as_json=as_json)
    _show(options, found, by_name)
    return 0


def _check_modes(options: IsaOptions, archs: Sequence[str]) -> None:
    if options.check and options.write:
        raise click.UsageError("--check compares the tables that --write replaces: give one of them")
    given = asked_for(click.get_current_context(), ("tables",))
    if options.check and given and not options.tables.is_dir():
        raise click.BadParameter(f"there is no folder {options.tables} with tables to check", param_hint="--tables")
    if options.timeline and not options.simulate:
        raise click.UsageError("--timeline draws simulations: add --simulate")
    if options.simulate and (options.check or options.loops):
        raise click.UsageError("--simulate does not go with --check or --loops")
    if options.simulate and options.write and (options.timeline or options.as_json):
        raise click.UsageError("--simulate --write writes tables: leave --timeline and --json out")
    if options.simulate and any(arch in NVIDIA_ARCHES for arch in archs):
        raise click.UsageError("--simulate runs the machine code of AMD GPUs")


def _default_archs(options: IsaOptions) -> tuple[str, ...]:
    """Choose the architectures if there is no --arch: those with a table for --check; those that should have one for
    --write, or if there are no tables; else one."""
    if options.check and (there := tuple(load_tables(options.tables, tuple(ARCHES)))):
        return there
    return TABLE_ARCHS if options.check or options.write else (DEFAULT_ARCH,)


def _of_arch(options: IsaOptions, place: Workplace, chosen: Sequence[Instance], arch: str) -> Found:
    instances = [instance for instance in chosen if arch in instance.archs]
    command = (options.compiler,) if options.compiler else find_toolchain().assembly_compiler(arch)
    compiler = identify(command)
    with console.progress(f"isa {arch}", len(instances)) as step:
        out = place.build_dir / arch
        reports = compile_and_read(place.tree, instances, arch, out, compiler, jobs=options.jobs, on_done=step)
    return Found(arch, compiler.release, tuple(reports))


def _write(options: IsaOptions, found: Sequence[Found]) -> int:
    """Write the tables. With filters, rows of other instances are kept, if the same compiler release made them."""
    options.tables.mkdir(parents=True, exist_ok=True)
    for item in found:
        path = table_path(options.tables, item.arch)
        made, old = make_table(item.arch, item.release, item.reports), load_table(options.tables, item.arch)
        if options.filters and old is not None:
            if old.compiler != item.release:
                message = f"{path} is of {old.compiler}, not {item.release}: single rows cannot be replaced"
                raise CkgenError([Diagnostic(None, "isa-table", message, "leave the FILTERs out")])
            made = replace(made, rows={**old.rows, **made.rows})
        write_new(path, table_text(made), replace=True)
        console.say(f"wrote {path}: {len(item.reports)} instances, {item.release}")
    return 0


def _asked_for(options: IsaOptions, table: Table, found: Found) -> Table:
    """Restrict a table to the rows to compare: with filters, those of the chosen instances."""
    asked = {report.name for report in found.reports}
    return replace(table, rows={n: row for n, row in table.rows.items() if n in asked}) if options.filters else table


def _check(options: IsaOptions, loaded: Loaded, found: Sequence[Found]) -> int:
    """Check the limits, and compare each table that was made with the same compiler release."""
    drifted = 0
    for item in found:
        table = load_table(options.tables, item.arch)
        if table is None:
            path = table_path(options.tables, item.arch)
            console.warn(f"{item.arch}: there is no {path}, so only the limits are checked")
        elif table.compiler != item.release:
            made = f"the table is made with {table.compiler}, this is {item.release}"
            console.warn(f"{item.arch}: {made}: only the limits are checked")
        else:
            made_now = make_table(item.arch, item.release, item.reports)
            lines = differences(_asked_for(options, table, item), made_now)
            lines += [] if options.filters else stale_cycles(options.tables, made_now)
            drifted += len(lines)
            for line in lines:
                console.say(f"{item.arch} {line}")
    broken = [diagnostic for item in found for diagnostic in check_limits(loaded.expansion, item.reports)]
    console.show_diagnostics(broken) if broken else None
    count = sum(len(item.reports) for item in found)
    console.say(f"{count} code objects: {len(broken)} broken limits, {drifted} rows that differ from the tables")
    if drifted:
        console.note("if the change is wanted: ckgen isa --set ci --write, then the same with --simulate")
    return EXIT_FAILED if broken or drifted else 0


def _show(options: IsaOptions, found: Sequence[Found], instances: dict[str, Instance]) -> None:
    if options.as_json:
        console.say_json([_record(item, report, instances[report.name]) for item in found for report in item.reports])
    elif options.loops:
        rows = [row for item in found for report in item.reports for row in _loop_rows(report)]
        console.show_table(MIX_HEADERS, rows, right=MIX_HEADERS[4:])
    else:
        headers = (*HEADERS, *LOOP_HEADERS)
        rows = [_cells(report, instances[report.name]) for item in found for report in item.reports]
        console.show_table(headers, rows, right=headers[2:])
    for item in found:
        console.note(f"{item.arch}: {len(item.reports)} instances, {item.release}")


def _record(item: Found, report: CodeReport, instance: Instance) -> dict[str, object]:
    bound = bound_of(report, instance)
    return {**asdict(report), "compiler": item.release, "bound": None if bound is None else asdict(bound)}


def _cells(report: CodeReport, instance: Instance) -> tuple[str, ...]:
    resources, main, load = report.resources, report.loop("main") or report.loop("math"), report.loop("load")
    bound = bound_of(report, instance)
    cells: list[object] = [
        *(report.name, report.arch, resources.vgprs, resources.agprs, resources.sgprs),
        *(resources.vgpr_spills + resources.sgpr_spills, resources.scratch_bytes, resources.lds_bytes),
        *(f"{report.waves:g}", resources.code_bytes),
    ]
    if main is None:  # a family without a matrix product has no main loop
        return tuple(str(cell) for cell in cells) + ("-",) * len(LOOP_HEADERS)
    hot, ratio = main.hot, "-" if main.valu_per_matrix is None else f"{main.valu_per_matrix:.2f}"
    cells += [
        *(hot.matrix, hot.valu, hot.salu, f"{hot.lds_read}/{hot.lds_write}", hot.loads, hot.waits, hot.barriers, ratio),
        *("-" if load is None else f"{load.valu_per_tile:.1f}", (load or main).exposed_loads),
        "-" if bound is None else str(bound),
    ]
    return tuple(str(cell) for cell in cells)


def _loop_rows(report: CodeReport) -> list[tuple[str, ...]]:
    rows = []
    for loop in report.loops:
        ways: list[tuple[str, Mix]] = [("hot", loop.hot)]
        ways += [("whole", loop.whole)] if loop.whole != loop.hot else []
        for way, mix in ways:
            numbers = (str(getattr(mix, column)) for column in _MIX_COLUMNS)
            rows.append((report.name, report.arch, loop.role, way, str(loop.tiles), *numbers))
    return rows

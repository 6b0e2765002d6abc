"""Implementation of `ckgen isa --simulate`: cycles of the main loop from a model of the compute unit."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from ckgen.cli.common import console
from ckgen.cli.common.files import write_new
from ckgen.cli.common.selection import Selection
from ckgen.cli.common.workshop import build_library, workplace
from ckgen.errors import CkgenError, Diagnostic
from ckgen.hardware.timing import TIMINGS
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.machine_code.analyse import CodeReport
from ckgen.machine_code.cycles.result import RoleTime
from ckgen.machine_code.cycles.timeline import timeline
from ckgen.verify.emulated import Machine
from ckgen.verify.simulated import Simulated, simulate

HEADERS = ("instance", "arch", "inputs", "workgroups", "bound", "tile", "matrix", "role", "step", "issues", "waits for")
PLACE_HEADERS = ("instance", "arch", "inputs", "role", "waits for", "cycles", "at", "instruction")
_SHOWN_WAITS = 4


class Simulator:
    """Simulates compiled instances of a selection. Builds the host library, which plans the launches."""

    def __init__(self, selection: Selection, reports: Sequence[CodeReport], instances: dict[str, Instance], jobs: int):
        _require(reports)
        self._place, self._instances = workplace(selection, chosen=True, platform="host"), instances
        self._library = Library(build_library(self._place, "host", jobs=jobs, archs=(), options=()))

    def run(self, report: CodeReport) -> Simulated:
        """Simulate one instance. Raises CkgenError if it has no main loop or no problem fits."""
        machine = Machine(self._library, self._place.tree, report.arch, self._place.build_dir.parent / "emulated")
        return simulate(machine, report, self._instances[report.name])


def simulated(
    selection: Selection,
    reports: Iterable[CodeReport],
    instances: dict[str, Instance],
    *,
    jobs: int,
    pictures: Path | None,
    as_json: bool,
) -> int:
    """Simulate every instance, and print or draw the results."""
    reports = tuple(reports)
    simulator, found = Simulator(selection, reports, instances, jobs), list[Simulated]()
    with console.progress("simulate", len(reports)) as step:
        for report in reports:
            found.append(simulator.run(report))
            step(f"{report.arch} {report.name}")
            if pictures:
                _draw(found[-1], instances[report.name], pictures)
    if as_json:
        console.say_json([_record(item) for item in found])
        return 0
    console.show_table(HEADERS, [row for item in found for row in _rows(item)], right=HEADERS[3:7] + HEADERS[8:10])
    console.say("")
    console.show_table(PLACE_HEADERS, [row for item in found for row in _places(item)], right=("cycles",))
    console.note("a model that no measurement has confirmed: docs/simulator.md says what these numbers are worth")
    return 0


def _require(reports: Sequence[CodeReport]) -> None:
    unknown = [report.arch for report in reports if report.arch not in TIMINGS]
    if unknown:
        message = f"there are no times of {unknown[0]}; there are those of {', '.join(TIMINGS)}"
        raise CkgenError([Diagnostic(None, "simulate", message, "choose another --arch")])
    if importlib.util.find_spec("tinygrad") is None:
        message = "the package tinygrad, which has the decoders of AMD's instructions, is not here"
        raise CkgenError([Diagnostic(None, "simulate", message, "pip install 'ckgen[emulator]'")])


def _rows(item: Simulated) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for source, result in item.results.items():
        for role in result.roles:
            rows.append(
                (
                    *(item.name, item.arch, source.value, str(result.groups)),
                    f"{item.matrix_bound:.0f}" if item.matrix_bound else "-",
                    f"{result.cycles_per_tile:.0f}",
                    f"{100 * result.matrix_busy:.0f} %" if item.matrix_bound else "-",
                    *(f"{role.waves} {role.role}", f"{result.cycles_per_step:.0f}", f"{role.issuing:.0f}"),
                    _waits(role),
                )
            )
    return rows


def _waits(role: RoleTime) -> str:
    shown = list(role.stalls.items())[:_SHOWN_WAITS]
    return ", ".join(f"{reason} {cycles:.0f}" for reason, cycles in shown)


def _places(item: Simulated) -> list[tuple[str, ...]]:
    return [
        (
            *(item.name, item.arch, source.value, place.role, place.reason, f"{place.cycles:.0f}"),
            *(item.lines[place.place], place.text),
        )
        for source, result in item.results.items()
        for place in result.places
    ]


def _record(item: Simulated) -> dict[str, object]:
    results = {}
    for source, result in item.results.items():
        places = [{**asdict(place), "line": item.lines[place.place]} for place in result.places]
        results[source.value] = {
            "workgroups": result.groups,
            "cycles_per_tile": result.cycles_per_tile,
            "cycles_per_step": result.cycles_per_step,
            "matrix_busy": result.matrix_busy,
            "roles": [asdict(role) for role in result.roles],
            "places": places,
        }
    head = {"name": item.name, "arch": item.arch, "problem": str(item.problem), "matrix_bound": item.matrix_bound}
    return {**head, "results": results}


def _draw(item: Simulated, instance: Instance, folder: Path) -> None:
    """Write a picture of each simulation of an instance."""
    folder.mkdir(parents=True, exist_ok=True)
    for source, result in item.results.items():
        path = folder / f"{item.name}_{item.arch}_{source.value.lower()}.svg"
        title = f"{item.name}, {item.arch}, inputs from {source.value}: {result.cycles_per_tile:.0f} cycles per tile"
        text = timeline(item.units[source], result, bool(instance.load_waves), title)
        write_new(path, text, replace=True)
        console.note(f"wrote {path}")

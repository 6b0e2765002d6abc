"""From the emulator's trace of a launch to a finished simulation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ckgen.hardware.compute_units import UNITS
from ckgen.hardware.timing import TIMINGS
from ckgen.machine_code.cycles.access import Access, Costs
from ckgen.machine_code.cycles.memory import Source
from ckgen.machine_code.cycles.operation import Operation, make_operation
from ckgen.machine_code.cycles.unit import ComputeUnit
from ckgen.machine_code.emulator.launch import Prepared
from ckgen.machine_code.emulator.trace import Trace


@dataclass(frozen=True)
class Records:
    """The executed operations of every wave of every workgroup, with the cost of each access. `operations` is the whole
    code."""

    arch: str
    operations: list[Operation]
    groups: list[list[list[tuple[Operation, Access | None]]]]

    def simulate(self, source: Source = Source.L2, turned: int = 0) -> ComputeUnit:
        """Replay on one compute unit on which all workgroups are resident from the start. `turned` as in
        ComputeUnit."""
        unit = ComputeUnit(self.arch, self.groups, source, turned)
        unit.run()
        return unit


def read_records(prepared: Prepared, trace: Trace, arch: str) -> Records:
    """Join the events of a trace with the instructions that they name."""
    timing, own_stores = TIMINGS[arch], arch.startswith("gfx1")
    made = [make_operation(item, timing, own_stores) for item in prepared.code]
    operations = [replace(operation, place=at) for at, operation in enumerate(made)]
    costs = Costs(timing, UNITS[arch].wave)
    groups: dict[int, list[list[tuple[Operation, Access | None]]]] = {}
    for (block, _wave), events in sorted(trace.waves().items()):
        record: list[tuple[Operation, Access | None]] = []
        for ins, first, count in zip(
            events["ins"].tolist(), events["first"].tolist(), events["count"].tolist(), strict=True
        ):
            operation = operations[ins]
            lanes = trace.addresses[first : first + count]
            accesses = operation.kind in ("lds", "load", "store")
            record.append((operation, costs.of(operation, lanes) if accesses else None))
        groups.setdefault(block, []).append(record)
    return Records(arch, operations, list(groups.values()))

"""The rows of the time model that templates read: coefficients and devices as C++ initialisers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ckgen.generate.view_models import Source
from ckgen.selection.terms import DEVICE_NAMES, NAMES
from ckgen.selection.time_model import device_numbers, parse_fitted, times_of


class TimeRow(NamedTuple):
    """The coefficients of a family, operation and data type on an architecture, in the order of their names."""

    arch: str
    operation: str
    family: str
    dtype: str
    values: tuple[float, ...]


class TimedDevice(NamedTuple):
    """The numbers of an architecture."""

    arch: str
    values: tuple[float, ...]


def times_for(sources: Sequence[Source], text: str) -> list[TimeRow]:
    """A row for each kind of instance of a tree on each architecture that has coefficients for it."""
    kinds = {(one.instance.operation, one.instance.family, one.instance.dtype) for one in sources}
    found = []
    for (arch, operation, family), row in sorted((parse_fitted(text) if text else {}).items()):
        for dtype in sorted(kind[2] for kind in kinds if kind[:2] == (operation, family)):
            times = times_of(row, arch, family, dtype)
            found.append(TimeRow(arch, operation, family, dtype, tuple(times[name] for name in NAMES)))
    return found


def timed_devices(text: str) -> list[TimedDevice]:
    """The architectures that have coefficients."""
    archs = sorted({arch for arch, _, _ in parse_fitted(text)}) if text else []
    numbers = {arch: device_numbers(arch) for arch in archs}
    return [TimedDevice(arch, tuple(float(numbers[arch][name]) for name in DEVICE_NAMES)) for arch in archs]

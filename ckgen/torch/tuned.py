"""Choose between PyTorch and a library's candidates by time, once per gradient of a problem, and keep the choices.

The choices are in a file of the user's cache: JSON, one line per gradient. Its name is a digest of the device, its
driver, PyTorch, cuDNN and the library, so that a change of any of them starts a new file. Processes may share it.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ckgen.torch.require import torch

ROUNDS, REPEATS = 5, 3
_LONG_MS = 10.0  # runs this long are timed in one round
_DRIVERS = Path("/proc/driver/nvidia/version"), Path("/sys/module/amdgpu/version")
_SLEEP_CYCLES = 400_000  # about 0.2 ms, in which the host starts all runs of one measurement


class Kept(NamedTuple):
    """A choice: the instance's name, "" for PyTorch, its split_k, and the microseconds of both."""

    name: str
    split_k: int
    microseconds: float
    pytorch: float


class Choices:
    """The choices of one device and library. ``path`` None keeps them in memory only."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._kept: dict[str, Kept] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        try:
            key, *rest = json.loads(line)
            kept = Kept(*rest)
        except (ValueError, TypeError):
            return  # a line that another process is writing, or of another version: measure again
        self._kept[key] = kept

    def get(self, key: str) -> Kept | None:
        """The choice for a key."""
        return self._kept.get(key)

    def items(self) -> list[tuple[str, Kept]]:
        """All choices with their keys."""
        return list(self._kept.items())

    def put(self, key: str, kept: Kept) -> None:
        """Remember a choice; the file grows by one line, which is written at once."""
        self._kept[key] = kept
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, *kept]) + "\n")


def choices_path(folder: Path, library: str, device: Any) -> Path:
    """The file for a library and a device."""
    parts = [hashlib.sha256(Path(library).read_bytes()).hexdigest(), torch.__version__, str(torch.version.cuda)]
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        parts += [properties.name, str(torch.backends.cudnn.version())]
        parts += [file.read_text() for file in _DRIVERS if file.exists()]
    return folder / f"{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:24]}.jsonl"


def times(calls: Sequence[Callable[[], object]], device: Any) -> list[float]:
    """Microseconds of each call on the device: medians over rounds in which the calls alternate. On a GPU the host
    runs ahead, so that its own time does not count."""
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, taken in zip(calls, found, strict=True):
            if not taken or taken[-1] < _LONG_MS * 1e3:
                taken.append(_once(call, device) if taken else _first(call, device))
    return [statistics.median(taken[1:] or taken) for taken in found]


def _first(call: Callable[[], object], device: Any) -> float:
    call()  # PyTorch may search for an algorithm, and a module may have to be loaded
    return _once(call, device)


def _once(call: Callable[[], object], device: Any) -> float:
    if device.type != "cuda":
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e6
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(_SLEEP_CYCLES)
    begin.record()
    for _ in range(REPEATS):
        call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) * 1e3 / REPEATS

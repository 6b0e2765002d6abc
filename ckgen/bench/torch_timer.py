"""Device times of launches, one sample per launch, from PyTorch's device events."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ckgen.bench.job import Settings

# Several times the largest last-level cache of the known GPUs (H200: 50 MB L2, MI300X: 256 MB Infinity Cache).
FLUSH_BYTES = 512 * 1024 * 1024


class TorchTimer:
    """Timer of launches on one device. On a CPU, which tests use, the events read the process's clock."""

    def __init__(self, torch: Any, device: str, settings: Settings) -> None:
        self._torch, self._device, self._settings = torch, device, settings
        size = FLUSH_BYTES if device == "cuda" else 4096
        self._flushed = torch.ones(size // 4, dtype=torch.float32, device=device)
        self._least = torch.empty((), dtype=torch.float32, device=device)

    def times(self, launch: Callable[[], object], limit_ms: float | None = None) -> list[float]:
        """Times of single launches in milliseconds. Settings defines the number of samples."""
        for _ in range(self._settings.warm_up):
            launch()
        first = self._sampled(launch, 1)[0]
        return self._sampled(launch, self._settings.samples(first, limit_ms))

    def _sampled(self, launch: Callable[[], object], count: int) -> list[float]:
        """Queue all launches before waiting for any: the device never waits for Python, because the next launch is
        prepared while the device reads the flush buffer."""
        pairs = [(self._event(), self._event()) for _ in range(count)]
        self.synchronize()
        self._flush()
        for begin, end in pairs:
            if self._settings.cache == "flush":
                self._flush()
            begin.record()
            launch()
            end.record()
        self.synchronize()
        return [float(begin.elapsed_time(end)) for begin, end in pairs]

    def synchronize(self) -> None:
        """Wait for the device; errors of earlier launches are raised here."""
        if self._device == "cuda":
            self._torch.cuda.synchronize()

    def _flush(self) -> None:
        """Read the buffer. Writing it would leave dirty cache lines, which the measured kernel would have to evict."""
        self._torch.amin(self._flushed, dim=0, out=self._least)

    def _event(self) -> Any:
        return self._torch.cuda.Event(enable_timing=True) if self._device == "cuda" else _ClockEvent()


class _ClockEvent:
    """Replacement of a device event on a CPU, where all earlier work is finished when ``record`` is called."""

    def __init__(self) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, end: _ClockEvent) -> float:
        return (end.at - self.at) * 1e3

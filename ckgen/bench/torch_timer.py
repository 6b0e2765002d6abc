"""Device times of launched work, one sample a launch, by PyTorch's device events."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ckgen.bench.job import Settings

# Several times the largest L2 of the GPUs we know (H200: 50 MB, MI300X: 256 MB of Infinity Cache).
FLUSH_BYTES = 512 * 1024 * 1024


class TorchTimer:
    """Times launches on one device. On a CPU the events are the process's clock, for tests."""

    def __init__(self, torch: Any, device: str, settings: Settings) -> None:
        self._torch, self._device, self._settings = torch, device, settings
        size = FLUSH_BYTES if device == "cuda" else 4096
        self._flushed = torch.ones(size // 4, dtype=torch.float32, device=device)
        self._least = torch.empty((), dtype=torch.float32, device=device)

    def times(self, launches: Sequence[Callable[[], object]], limit_ms: float | None = None) -> list[float]:
        """Milliseconds of single launches, which take turns; see Settings for how many there are."""
        for turn in range(self._settings.warm_up):
            launches[turn % len(launches)]()
        first = self._sampled(launches, 1)[0]
        return self._sampled(launches, self._settings.samples(first, limit_ms))

    def _sampled(self, launches: Sequence[Callable[[], object]], count: int) -> list[float]:
        """All launches are queued before anyone waits, so that the device never waits for Python: while it
        reads the flush buffer the next launch is prepared."""
        pairs = [(self._event(), self._event()) for _ in range(count)]
        self.synchronize()
        self._flush()
        for turn, (begin, end) in enumerate(pairs):
            if self._settings.cache == "flush":
                self._flush()
            begin.record()
            launches[turn % len(launches)]()
            end.record()
        self.synchronize()
        return [float(begin.elapsed_time(end)) for begin, end in pairs]

    def synchronize(self) -> None:
        """Wait for the device; errors of earlier launches come up here."""
        if self._device == "cuda":
            self._torch.cuda.synchronize()

    def _flush(self) -> None:
        """Read the buffer: unlike a written one it leaves no dirty lines for the measured kernel to evict."""
        self._torch.amin(self._flushed, dim=0, out=self._least)

    def _event(self) -> Any:
        return self._torch.cuda.Event(enable_timing=True) if self._device == "cuda" else _ClockEvent()


class _ClockEvent:
    """A CPU's stand-in for a device event: everything before ``record`` is done when it is called."""

    def __init__(self) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, end: _ClockEvent) -> float:
        return (end.at - self.at) * 1e3

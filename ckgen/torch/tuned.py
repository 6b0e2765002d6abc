"""Choose between PyTorch and a library's candidates by time, once per gradient of a problem, and keep the choices.

The choices are in a file of the user's cache: JSON, one line per gradient. Its name is a digest of the device, its
driver, PyTorch, cuDNN and the library, so that a change of any of them starts a new file. Processes may share it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import random
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ckgen.torch.require import torch

ROUNDS, REPEATS = 5, 3
FINALISTS = 4  # of a library's candidates, after REPEATS runs each
_WORTH = 2.0  # a candidate whose first timed run takes this many times as long as another's gets no more
GAIN = 1.02  # a library's gradient must be this much faster than PyTorch's; less is within the noise of a measurement
# What a call takes the host longer if PyTorch computes one gradient and the library the other: beside H100s and H200s,
# both by PyTorch take 27 to 41 us, both by the library 21 to 26, and one by each 44 to 49.
MIXED_HOST_US = 10.0
_LONG_US = 1e4  # runs this long are timed in one round
_DRIVERS = Path("/proc/driver/nvidia/version"), Path("/sys/module/amdgpu/version")
# Gradients agree within this part of their norm (bf16 rounds to 0.004 of each element, tf32 to 0.0005 of each factor),
# and this part of the product of the norms of both factors.
_APART, _APART_FLOAT32, _OF_PRODUCTS = 0.05, 0.005, 2e-5
_QUANTA = 32  # a gradient this many times its _quantum() has rounding errors of a thirtieth at most
_SLEEP_CYCLES = 400_000  # about 0.2 ms, in which the host starts all runs of one measurement


class Kept(NamedTuple):
    """The fastest candidate, "" if there is none, its split_k, and the microseconds of it and of PyTorch."""

    name: str
    split_k: int
    microseconds: float
    pytorch: float

    @property
    def ours(self) -> bool:
        """True if the candidate is faster, so that it is taken where only this gradient is needed."""
        return bool(self.name) and self.microseconds * GAIN <= self.pytorch


def worth(kept: Sequence[Kept | None], both: bool) -> list[bool]:
    """True for each of a call's gradients that the library is to compute: of input and weight, None if it cannot.
    ``both``: the call needs both gradients. A step takes the longer of the time of the host and of the device, and
    nothing here knows which. So a gradient that the library computes beside PyTorch must gain what the host loses. Both
    by the library take the host less time, and must only not be slower."""
    if not both:
        return [one is not None and one.ours for one in kept]
    gains = [0.0 if one is None else one.pytorch - one.microseconds for one in kept]
    plans: list[tuple[float, list[bool]]] = [(0.0, [False, False])]
    plans += [(gains[at] - MIXED_HOST_US, [at == 0, at == 1]) for at in (0, 1) if kept[at] is not None]
    if None not in kept:
        plans.insert(0, (sum(gains), [True, True]))
    return max(plans, key=lambda plan: plan[0])[1]


class Choices:
    """The choices of one device and library. ``path`` None keeps them in memory only."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._kept: dict[str, Kept] = {}
        if path is None:
            return
        with self._needs_no_file(), contextlib.suppress(FileNotFoundError):
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                self._read(line)

    @contextlib.contextmanager
    def _needs_no_file(self) -> Iterator[None]:
        """A file that cannot be read or written costs a warning, not the step of a training run."""
        try:
            yield
        except OSError as error:
            message = f"ckgen: {self.path} cannot be used ({error.strerror}); choices are kept until this process ends"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
            self.path = None

    def _read(self, line: str) -> None:
        try:
            key, name, split_k, *times = json.loads(line)
            kept = Kept(str(name), int(split_k), *map(float, times))
            if math.isfinite(kept.microseconds) and math.isfinite(kept.pytorch):
                self._kept[str(key)] = kept
        except (ValueError, TypeError, OverflowError, RecursionError):
            return  # a line that another process is writing, or of another version: measure again

    def get(self, key: str) -> Kept | None:
        """The choice for a key."""
        return self._kept.get(key)

    def items(self) -> list[tuple[str, Kept]]:
        """All choices with their keys."""
        return list(self._kept.items())

    def put(self, key: str, kept: Kept, *, lasting: bool = True) -> None:
        """Remember a choice; the file grows by one line, which is written at once, unless the choice is not
        ``lasting``."""
        self._kept[key] = kept
        if self.path is None or not lasting:
            return
        with self._needs_no_file():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, *kept]) + "\n")


def choices_path(folder: Path, identity: str, device: Any) -> Path:
    """The file for libraries, by a text that identifies them, and a device."""
    parts = [identity, torch.__version__, str(torch.version.cuda)]
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        parts += [properties.name, str(torch.backends.cudnn.version())]
        parts += [file.read_text() for file in _DRIVERS if file.exists()]
    return folder / f"{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:24]}.jsonl"


def poison(like: Any) -> None:
    """Fill the memory that the allocator gives out next for a tensor like this one, and for copies of it, with NaN, so
    that an element which a kernel leaves out does not have the value of an earlier run."""
    blocks = [torch.full_like(like, float("nan")) for _ in range(3)]
    del blocks


def tells(known: Any) -> bool:
    """True if wrong gradients differ from this one: it is finite and not all zeros, as it is in a step that a gradient
    scaler skips, or behind layers that begin with zeros; nor nearly zero in float16 without a scaler."""
    size = _norm(known)
    return bool(torch.isfinite(size) and size > _QUANTA * _quantum(known))


def _quantum(tensor: Any) -> float:
    """The norm of a tensor whose elements are all the smallest number of the type, by which subnormals are rounded."""
    kind = torch.finfo(tensor.dtype)
    return float(kind.smallest_normal * kind.eps * tensor.numel() ** 0.5)


def random_like(tensor: Any) -> Any:
    """Random numbers with the shape, strides and type of a tensor. PyTorch's generators are not used: their state would
    change, and vmap allows no random operation."""
    extent = 1 + sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    some = torch.tensor(_random_numbers(), dtype=tensor.dtype, device=tensor.device)
    numbers = some.repeat(-(-extent // len(some)))
    return numbers.as_strided(tensor.shape, tensor.stride())


@functools.cache
def _random_numbers() -> tuple[float, ...]:
    """A prime number of them, so that repetitions do not meet in rows or channels."""
    source = random.Random(0)
    return tuple(source.gauss(0.0, 1.0) for _ in range(16381))


def apart_by_rounding(known: Any, factors: Sequence[Any]) -> float:
    """The norm up to which another gradient differs from the known one, which is finite, by rounding. ``factors`` are
    the two tensors of whose products it is a sum."""
    size, first, second = map(_norm, (known, *factors))
    part = _APART_FLOAT32 if known.dtype == torch.float32 else _APART
    # The second part is for sums whose terms cancel out.
    return float(part * size + _OF_PRODUCTS * first * second) + _quantum(known)


def agrees(found: Any, known: Any, apart: float) -> bool:
    """True if the gradients differ by at most this norm; False for elements that are not numbers."""
    return bool(torch.linalg.vector_norm(found.float() - known.float()) <= apart)


def _norm(tensor: Any) -> Any:
    """The norm, summed in float32 without a copy of the tensor."""
    return torch.linalg.vector_norm(tensor, dtype=torch.promote_types(tensor.dtype, torch.float32))


def fastest(
    pytorch: Callable[[], object], calls: Sequence[Callable[[], object]], device: Any
) -> tuple[float, int, float]:
    """Microseconds of PyTorch on the device, the number of the fastest of the other calls, and its microseconds; -1 and
    0 if there are none. All have run before. Single runs, and then a round, find those that are worth more rounds."""
    single = [_once(call, device, 1) for call in calls]
    most = _WORTH * min(single, default=0.0)
    near = [at for at, us in enumerate(single) if us <= most]
    chosen = [at for _, at in sorted((_once(calls[at], device), at) for at in near)[:FINALISTS]]
    stock, *taken = _medians([pytorch, *(calls[at] for at in chosen)], device)
    return (stock, *min(zip(chosen, taken, strict=True), key=lambda pair: pair[1], default=(-1, 0.0)))


def _medians(calls: Sequence[Callable[[], object]], device: Any) -> list[float]:
    """Microseconds of each call: medians over rounds in which the calls alternate."""
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, taken in zip(calls, found, strict=True):
            if not taken or taken[-1] < _LONG_US:
                taken.append(_once(call, device))
    return [statistics.median(taken) for taken in found]


def _once(call: Callable[[], object], device: Any, repeats: int = REPEATS) -> float:
    """Microseconds of one call on the device. On a GPU it is the mean of ``repeats`` calls, and the host runs ahead, so
    that its own time does not count."""
    if device.type != "cuda":
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e6
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(_SLEEP_CYCLES)
    begin.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) * 1e3 / repeats

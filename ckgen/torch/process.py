"""Plans for the backward convolutions of a process: which gradients a library computes, and with which instance."""

from __future__ import annotations

import functools
import hashlib
import threading
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ckgen.errors import CkgenError
from ckgen.library.c_api import UnsupportedProblem
from ckgen.library.library import Library
from ckgen.torch.candidates import Candidate, Gradient, words
from ckgen.torch.merged import Merged
from ckgen.torch.operators import by_pytorch
from ckgen.torch.plan import Plan
from ckgen.torch.request import Request, Seen
from ckgen.torch.require import torch
from ckgen.torch.tuned import (
    Choices,
    Kept,
    agrees,
    apart_by_rounding,
    choices_path,
    fastest,
    poison,
    random_like,
    tells,
    worth,
)

TRIED = 32  # instances per gradient that are timed
_PATIENCE_S = 5.0  # once the first runs of candidates have taken this long, the rest are not tried


class _Found(NamedTuple):
    """The library's plan of a gradient, and its times if it was timed."""

    plan: Plan
    kept: Kept | None


class Planner:
    """Plans for one library: which gradients it computes, and with which instance. ``gradients`` are those of input and
    weight that it may compute."""

    def __init__(
        self,
        library: Library | Merged,
        fallback: bool,
        measure: bool,
        cache: Path | None = None,
        gradients: tuple[bool, bool] = (True, True),
        help: str = 'fallback="pytorch" of enable leaves such a gradient to PyTorch',
    ) -> None:
        self.library, self.fallback, self.measure, self.cache = library, fallback, measure, cache
        self.gradients, self.help = gradients, help
        self.on_gpu = library.platform != "host"
        self.planned: Counter[tuple[bool, bool]] = Counter()  # by whether the library computes each gradient
        self._choices: dict[Any, Choices] = {}
        self._lock = threading.RLock()

    def plan(self, tensors: Sequence[Any], geometry: Any, wanted: int) -> list[int]:
        """The plan in words; empty if PyTorch computes this call and the question stays open."""
        device = tensors[0].device
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return []
        if (device.type == "cuda") != self.on_gpu:
            return words(_NOTHING)
        ours = [may and wanted >> at & 1 for at, may in enumerate(self.gradients)]
        try:
            with self._lock, torch.no_grad():
                found = [self._gradient(tensors, geometry, at) if ours[at] else None for at in (0, 1)]
        except torch.OutOfMemoryError:  # a comparison needs several gradients at a time; PyTorch needs only one
            torch.cuda.empty_cache()
            return []
        if self.fallback and self.measure:
            used = worth([one.kept if one is not None else None for one in found], wanted == 0b11)
            found = [one if use else None for one, use in zip(found, used, strict=True)]
        data, weight = (one.plan if one is not None else _NOTHING for one in found)
        self.planned[data.data is not None, weight.weight is not None] += 1
        return words(Plan(data.data, weight.weight, (False, False)), give=True)

    def choices(self) -> dict[str, Kept]:
        """The timed choices so far."""
        return {key: kept for choices in self._choices.values() for key, kept in choices.items()}

    def identity(self) -> str:
        """A text that changes with the instances and their code."""
        return hashlib.sha256(Path(self.library.path).read_bytes()).hexdigest()

    def wait(self) -> None:
        """Wait for what is on the way: nothing, with a library that is built."""

    def is_whole(self) -> bool:
        """False if instances are missing that another process may have."""
        return True

    def _gradient(self, tensors: Sequence[Any], geometry: Any, at: int) -> _Found | None:
        """The library's plan of one gradient; None if only PyTorch may compute it."""
        asked = self._request(tensors, geometry, at)
        try:
            gradient = Gradient(self.library, asked)
            if self.measure:
                return self._measured(gradient, asked, tensors, geometry, at)
            first = next(gradient.candidates(1, False))
            return None if first.source == "generic" and self.fallback else _Found(first.plan, None)
        except CkgenError as error:
            if self.fallback:
                return None
            if isinstance(error, UnsupportedProblem):
                raise UnsupportedProblem(error.instance, error.reason, self.help) from error
            raise

    def _measured(
        self, gradient: Gradient, asked: Request, tensors: Sequence[Any], geometry: Any, at: int
    ) -> _Found | None:
        """The plan that was fastest when the problem was first seen, now or earlier."""
        choices, key = self._choices_of(tensors[0].device), _key(asked)
        kept = choices.get(key)
        if kept is not None and kept.name:
            plan = gradient.by_name(kept.name, kept.split_k)
            if plan is not None:
                return _Found(plan, kept)
        elif kept is not None and self.fallback:
            return None
        kept, plan, all_ran = self._fastest(gradient, tensors, geometry, at)
        choices.put(key, kept, lasting=all_ran and self.is_whole())
        if plan is None and not self.fallback:
            raise UnsupportedProblem(self.library.path, "no candidate ran and computed PyTorch's gradient", self.help)
        return None if plan is None else _Found(plan, kept)

    def _fastest(
        self, gradient: Gradient, tensors: Sequence[Any], geometry: Any, at: int
    ) -> tuple[Kept, Plan | None, bool]:
        """Time PyTorch and the library's best candidates, but no candidate whose gradient is not PyTorch's. False as
        the last value if there was too little memory for some."""
        found: list[Candidate] = []
        calls: list[Any] = []
        all_ran = True
        pytorch = functools.partial(_by_pytorch, tensors, geometry, at)
        known = pytorch()
        if not tells(known):
            tensors = [random_like(tensor) for tensor in tensors]
            pytorch = functools.partial(_by_pytorch, tensors, geometry, at)
            known = pytorch()
        apart = apart_by_rounding(known, [tensor for other, tensor in enumerate(tensors) if other != 1 + at])
        begin = time.perf_counter()
        for candidate in gradient.candidates(TRIED, True):
            if calls and time.perf_counter() - begin > _PATIENCE_S:
                break
            call = functools.partial(torch.ops.ckgen.execute, *tensors, words(candidate.plan))
            try:
                poison(known)
                result = call()[at]
                if agrees(result, known, apart):
                    found.append(candidate)
                    calls.append(call)
                else:
                    _warn_of(candidate, result, known, tensors, geometry)
            except RuntimeError:  # too little memory for the workspace
                all_ran = False
        stock, number, best = fastest(pytorch, calls, tensors[0].device)
        if number < 0:
            return Kept("", 1, 0.0, stock), None, all_ran
        name, split_k, _, plan = found[number]
        return Kept(name, split_k, best, stock), plan, all_ran

    def _request(self, tensors: Sequence[Any], geometry: Any, at: int) -> Request:
        """The request for one gradient with the strides that PyTorch's own gradient has."""
        result = _by_pytorch(tensors, geometry, at)
        seen = [
            Seen(tuple(tensor.shape), tuple(tensor.stride()), tensor.data_ptr() & 15, tensor.dtype, tensor.device)
            for tensor in tensors
        ]
        seen[1 + at] = seen[1 + at]._replace(stride=tuple(result.stride()))
        device = tensors[0].device
        gpu = device.index if device.type == "cuda" and torch.cuda.device_count() > 1 else None
        return Request(seen[0], seen[1], seen[2], geometry, (at == 0, at == 1), False, gpu, self._tf32())

    def _tf32(self) -> bool:
        """True if PyTorch's own convolutions may round float32 to tf32 on this device, as cuDNN's do."""
        return self.library.platform == "nvidia" and _allows_tf32()

    def _choices_of(self, device: Any) -> Choices:
        if device not in self._choices:
            try:
                path = None if self.cache is None else choices_path(self.cache, self.identity(), device)
            except OSError:  # the library's file was removed since it was loaded
                path = None
            self._choices[device] = Choices(path)
        return self._choices[device]


def _warn_of(wrong: Candidate, found: Any, known: Any, tensors: Sequence[Any], geometry: Any) -> None:
    off = (found.float() - known.float()).abs()
    size = torch.linalg.vector_norm(known.float())
    sizes = " x ".join(str(tuple(tensor.shape)) for tensor in tensors)
    message = (
        f"ckgen: {wrong.name} with split_k {wrong.split_k} computes another gradient than PyTorch on this device; it "
        f"is not used. Output gradient, input and weight {sizes}; stride, padding, dilation and groups {geometry}; "
        f"{int(off.isnan().sum())} of {off.numel()} elements are NaN, the others differ by a norm of "
        f"{float(torch.linalg.vector_norm(off.nan_to_num()) / size):.2g} times the gradient's. Please report it with "
        "the output of `ckgen doctor`."
    )
    warnings.warn(message, RuntimeWarning, stacklevel=2)


_NOTHING = Plan(None, None, (False, False))


def _by_pytorch(tensors: Sequence[Any], geometry: Any, at: int) -> Any:
    grad_output, input, weight = tensors
    return by_pytorch(grad_output, input, weight, geometry, (at == 0, at == 1))[at]


def _allows_tf32() -> bool:
    """True if PyTorch's convolutions may round float32 to tf32. The older switch cannot be read where operators have
    different settings."""
    cudnn = torch.backends.cudnn
    return bool(cudnn.conv.fp32_precision == "tf32" if hasattr(cudnn, "conv") else cudnn.allow_tf32)


def _key(asked: Request) -> str:
    """A text of everything that the choice depends on."""
    cudnn = torch.backends.cudnn
    switches = [_allows_tf32(), cudnn.benchmark, cudnn.deterministic, torch.are_deterministic_algorithms_enabled()]
    if asked.grad_output.device.type != "cuda":
        switches.append(torch.get_num_threads())
    elif not cudnn.enabled:
        switches.append(2)
    seen = (
        (list(tensor.shape), list(tensor.stride), tensor.misaligned)
        for tensor in (asked.grad_output, asked.input, asked.weight)
    )
    parts = (
        "wei" if asked.wanted[1] else "in",
        asked.grad_output.dtype,
        *seen,
        asked.geometry,
        [int(s) for s in switches],
    )
    return " ".join(map(str, parts)).replace("torch.", "")

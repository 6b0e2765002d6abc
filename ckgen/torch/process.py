"""Compute all backward convolutions of the process by libraries: ``enable`` and ``disable``.

The binding replaces the dispatcher's kernel of aten::convolution_backward. PyTorch's autograd, autocast, torch.compile
and CUDA graphs are unchanged: they call this operator as before. The binding asks ``_plan`` here once per problem.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ckgen.errors import CkgenError
from ckgen.library.c_api import UnsupportedProblem
from ckgen.library.library import Library
from ckgen.torch.candidates import Candidate, Gradient, words
from ckgen.torch.merged import Merged
from ckgen.torch.native import binding
from ckgen.torch.operators import LIBRARY
from ckgen.torch.plan import Plan
from ckgen.torch.request import Request, Seen
from ckgen.torch.require import torch
from ckgen.torch.tuned import GAIN, Choices, Kept, agrees, apart_by_rounding, choices_path, fastest, poison, worth

TRIED = 32  # instances per gradient that are timed

_BACKWARD = torch.ops.aten.convolution_backward.default


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
        self.kept: list[Plan] = []  # the binding holds addresses of their parts
        self._choices: dict[Any, Choices] = {}
        self._lock = threading.RLock()

    def plan(self, tensors: Sequence[Any], geometry: Any, wanted: int) -> list[int]:
        """The plan in words; empty if PyTorch computes this call and the question stays open."""
        device = tensors[0].device
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return []
        if (device.type == "cuda") != self.on_gpu:
            return words(_NOTHING)
        with self._lock, torch.no_grad():
            ours = [may and wanted >> at & 1 for at, may in enumerate(self.gradients)]
            found = [self._gradient(tensors, geometry, at) if ours[at] else None for at in (0, 1)]
        if self.fallback and self.measure:
            used = worth([one.kept if one is not None else None for one in found], wanted == 0b11)
            found = [one if use else None for one, use in zip(found, used, strict=True)]
        data, weight = (one.plan if one is not None else _NOTHING for one in found)
        plan = Plan(data.data, weight.weight, (False, False))
        self.kept.append(plan)
        return words(plan)

    def choices(self) -> dict[str, Kept]:
        """The timed choices so far."""
        return {key: kept for choices in self._choices.values() for key, kept in choices.items()}

    def identity(self) -> str:
        """A text that changes with the instances and their code."""
        return hashlib.sha256(Path(self.library.path).read_bytes()).hexdigest()

    def wait(self) -> None:
        """Wait for what is on the way: nothing, with a library that is built."""

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
        if kept is not None:
            if self.fallback and not kept.name:
                return None
            plan = gradient.by_name(kept.name, kept.split_k)
            if plan is not None:
                return _Found(plan, kept)
        kept, plan = self._fastest(gradient, tensors, geometry, at)
        choices.put(key, kept)
        return None if plan is None else _Found(plan, kept)

    def _fastest(self, gradient: Gradient, tensors: Sequence[Any], geometry: Any, at: int) -> tuple[Kept, Plan | None]:
        """Time PyTorch and the library's best candidates, but no candidate whose gradient is not PyTorch's."""
        found, calls = [], []
        pytorch = functools.partial(_by_pytorch, tensors, geometry, at)
        known = pytorch()
        apart = apart_by_rounding(known, [tensor for other, tensor in enumerate(tensors) if other != 1 + at])
        for candidate in gradient.candidates(TRIED, True):
            call = functools.partial(torch.ops.ckgen.execute, *tensors, words(candidate.plan))
            with contextlib.suppress(RuntimeError):  # too little memory for the workspace
                poison(known)
                result = call()[at]
                if agrees(result, known, apart):
                    found.append(candidate)
                    calls.append(call)
                else:
                    _warn_of(candidate, result, known, tensors, geometry)
        stock, number, best = fastest(pytorch, calls, tensors[0].device)
        if number < 0:
            return Kept("", 1, 0.0, stock, False), None
        name, split_k, _, plan = found[number]
        return Kept(name, split_k, best, stock, not self.fallback or best * GAIN <= stock), plan

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
        return self.library.platform == "nvidia" and bool(torch.backends.cudnn.allow_tf32)

    def _choices_of(self, device: Any) -> Choices:
        if device not in self._choices:
            path = None if self.cache is None else choices_path(self.cache, self.identity(), device)
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
_planners: dict[int, Planner] = {}
_stack: list[int] = []
_marking: dict[bool, int] = {}  # planners of patched modules for GPUs and for the CPU, which stay registered


def register(planner: Planner, *, marks: bool = False) -> int:
    """The number by which the binding knows a planner. With ``marks``, it plans for marked outputs from now on."""
    binding()  # fails before anything is registered
    number = len(_planners) + 1
    _planners[number] = planner
    if marks:
        _marking[planner.on_gpu] = number
        _use()
    return number


class Enabled:
    """The result of ``ckgen.torch.enable``. As a context manager it ends what ``enable`` began; entered once more, it
    begins again with the choices made so far. Without a planner, PyTorch computes everything."""

    def __init__(self, planner: Planner | None) -> None:
        self.planner, self.number = planner, 0 if planner is None else register(planner)
        self.begin()

    def begin(self) -> None:
        """Let the planner plan from now on."""
        if self.number and self.number not in _stack:
            _stack.append(self.number)
            _use()

    def end(self) -> None:
        """Give the convolutions back to whoever had them before."""
        if self.number in _stack:
            _stack.remove(self.number)
            _use()

    def __enter__(self) -> Enabled:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def choices(self) -> dict[str, Kept]:
        """The timed choices so far, by gradient, type, tensors and geometry."""
        return {} if self.planner is None else self.planner.choices()

    def wait(self) -> Enabled:
        """Wait until all instances that the problems so far need are built."""
        if self.planner is not None:
            self.planner.wait()
        return self


def disable() -> None:
    """End every ``enable``: PyTorch computes all backward convolutions again, but those of patched modules."""
    _stack.clear()
    if _planners:  # else nothing was enabled, perhaps because the binding cannot be built
        _use()


def _use() -> None:
    last = _stack[-1] if _stack else 0
    binding().ckgen_torch_use(last)
    for on_gpu in (False, True):
        ours = on_gpu in _marking or bool(last) and _planners[last].on_gpu == on_gpu
        binding().ckgen_torch_replace(int(on_gpu), int(ours))


def _by_pytorch(tensors: Sequence[Any], geometry: Any, at: int) -> Any:
    stride, padding, dilation, groups = geometry
    mask = [at == 0, at == 1, False]
    return _BACKWARD(*tensors, None, stride, padding, dilation, False, (0,) * len(stride), groups, mask)[at]


def _key(asked: Request) -> str:
    """A text of everything that the choice depends on."""
    cudnn = torch.backends.cudnn
    switches = cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic, torch.are_deterministic_algorithms_enabled()
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


def _plan(grad_output: Any, input: Any, weight: Any, *rest: Any) -> list[int]:
    stride, padding, dilation, groups, wanted, number = rest
    geometry = tuple(stride), tuple(padding), tuple(dilation), groups
    return _planners[number].plan((grad_output, input, weight), geometry, wanted)


LIBRARY.define(
    "plan(Tensor grad_output, Tensor input, Tensor weight, int[] stride, int[] padding, int[] dilation, int groups, "
    "int wanted, int engine) -> int[]"
)
LIBRARY.impl("plan", _plan, "CompositeExplicitAutograd")

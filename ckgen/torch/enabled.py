"""Compute all backward convolutions of the process by libraries: ``enable`` and ``disable``.

The binding replaces the dispatcher's kernel of aten::convolution_backward. PyTorch's autograd, autocast, torch.compile
and CUDA graphs are unchanged: they call this operator as before. The binding asks ``_plan`` here once per problem.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from typing import Any

from ckgen.torch.native import binding
from ckgen.torch.operators import LIBRARY
from ckgen.torch.process import Planner
from ckgen.torch.tuned import Kept

_planners: dict[int, Planner] = {}
_numbers = itertools.count(1)
_stack: list[int] = []
_marking: dict[int, bool] = {}  # planners of patched modules, which stay registered: for GPUs or for the CPU
_alive: weakref.WeakValueDictionary[int, Enabled] = weakref.WeakValueDictionary()
# For the above. It is entered again by `_forget` when the garbage collector runs in a thread that holds it.
_lock = threading.RLock()


def register(planner: Planner) -> int:
    """The number by which the binding knows a planner that plans for marked outputs from now on."""
    binding()  # fails before anything is registered
    number = next(_numbers)
    with _lock:
        _marking[number] = planner.on_gpu
        _planners[number] = planner
        _use()
    return number


class Enabled:
    """The result of ``ckgen.torch.enable``. As a context manager it ends what ``enable`` began; entered once more, it
    begins again with the choices made so far. Without a planner, PyTorch computes everything."""

    def __init__(self, planner: Planner | None) -> None:
        self.planner, self.number = planner, 0
        if planner is not None:
            compares = binding().ckgen_torch_compares  # fails before anything is registered
            self.number = next(_numbers)
            with _lock:
                _alive[self.number] = self
                _planners[self.number] = planner
            weakref.finalize(self, _forget).atexit = False
            if planner.measure and planner.fallback:
                compares(ctypes.c_int64(self.number))
        self._entered = False  # a first `with` block is that of the call of `enable`
        self.begin()

    def begin(self) -> None:
        """Let the planner plan from now on."""
        with _lock:
            if self.number and self.number not in _stack:
                _stack.append(self.number)
                _use()

    def end(self) -> None:
        """Give the convolutions back to whoever had them before."""
        with _lock:
            if self.number in _stack:
                _stack[:] = [number for number in _stack if number != self.number]
                _use()

    def __enter__(self) -> Enabled:
        with _lock:
            if self.number:
                if not self._entered and self.number in _stack:
                    _stack.remove(self.number)
                _stack.append(self.number)
                _use()
            self._entered = True
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            if self.number in _stack:
                del _stack[len(_stack) - 1 - _stack[::-1].index(self.number)]
                _use()

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
    with _lock:
        _stack.clear()
        if _planners:  # else nothing was enabled, perhaps because the binding cannot be built
            _use()


def _use() -> None:
    last = _stack[-1] if _stack else 0
    for on_gpu in (False, True):
        if on_gpu in _marking.values() or bool(last) and _planners[last].on_gpu == on_gpu:
            binding().ckgen_torch_replace(int(on_gpu))
    binding().ckgen_torch_use(ctypes.c_int64(last))
    _forget()


def _forget() -> None:
    """Drop planners that can plan no more, with their plans."""
    with _lock:
        for number in list(_planners):
            used = number in _stack or number in _marking or number in _alive
            if not used and _planners.pop(number, None) is not None:
                binding().ckgen_torch_forget(ctypes.c_int64(number))


def _plan(grad_output: Any, input: Any, weight: Any, *rest: Any) -> list[int]:
    stride, padding, dilation, groups, wanted, number = rest
    geometry = tuple(stride), tuple(padding), tuple(dilation), groups
    planner = _planners.get(number)  # another thread may have ended it
    return [] if planner is None else planner.plan((grad_output, input, weight), geometry, wanted)


LIBRARY.define(
    "plan(Tensor grad_output, Tensor input, Tensor weight, int[] stride, int[] padding, int[] dilation, int groups, "
    "int wanted, int engine) -> int[]"
)
LIBRARY.impl("plan", _plan, "CompositeExplicitAutograd")

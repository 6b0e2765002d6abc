"""A planner without a library: what the current device needs is built on first use, and PyTorch computes until it is
ready.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ckgen.build.toolchain import find_toolchain, require
from ckgen.errors import CkgenError
from ckgen.jit.background import Background
from ckgen.jit.instances import HOST, Need, Target, target_of
from ckgen.jit.progress import Progress
from ckgen.library.c_api import LibraryError
from ckgen.paths import cache_dir
from ckgen.torch.merged import Merged
from ckgen.torch.native import binding
from ckgen.torch.plan import GRADIENTS, needs_of
from ckgen.torch.process import Planner
from ckgen.torch.request import Request, Seen
from ckgen.torch.require import torch

ON_DEMAND = ""  # the path of a library that is built on first use


class OnDemand(Planner):
    """Plans with the instances that are built for the current device. Without ``fallback`` it waits for them."""

    def __init__(
        self,
        fallback: bool,
        measure: bool,
        cache: Path | None = None,
        gradients: tuple[bool, bool] = (True, True),
        quiet: bool = False,
    ) -> None:
        tell = warn if fallback else _warn_of_error
        background = Background(cache_dir(), current_target(), not fallback, Progress(quiet), tell)
        self._background, self._merged = background, Merged(background)
        super().__init__(self._merged, fallback, measure, cache, gradients)

    def plan(self, tensors: Sequence[Any], geometry: Any, wanted: int) -> list[int]:
        """The plan in words; empty if PyTorch computes this call and the question stays open."""
        device = tensors[0].device
        capturing = device.type == "cuda" and torch.cuda.is_current_stream_capturing()
        if capturing or (device.type == "cuda") == self.on_gpu and not self._ready(tensors, geometry, wanted):
            return []
        return super().plan(tensors, geometry, wanted)

    def wait(self) -> None:
        """Wait until everything that problems needed so far is built."""
        self._background.wait()

    def is_whole(self) -> bool:
        return not self._background.failed

    def identity(self) -> str:
        return self._background.identity

    def _ready(self, tensors: Sequence[Any], geometry: Any, wanted: int) -> bool:
        """True if everything for the wanted gradients is built and loaded, or cannot be."""
        seen = [Seen(tuple(t.shape), tuple(t.stride()), 0, t.dtype, t.device) for t in tensors]
        needs: list[Need] = []
        for at, may in enumerate(self.gradients):
            if may and wanted >> at & 1:
                words = geometry, (at == 0, at == 1), False, None, self._tf32()
                asked = Request(seen[0], seen[1], seen[2], *words)
                try:
                    needs += needs_of(asked, GRADIENTS[at])
                except CkgenError:
                    continue  # a problem that no library takes; the plan says so
        found = [self._background.ask(need) for need in needs]  # all of them first: they are built together
        if not self.fallback:
            found = [self._background.ask(need, wait=True) for need in needs]
        if None in found:
            return False
        names = {name for names in found for name in names or ()}
        try:
            with self._lock:
                self._merged.hold({name: self._background.paths[name] for name in names})
        except LibraryError as error:  # an entry of the cache that was damaged, or cleared a moment ago
            warn(f"a built library cannot be used, remove it by `ckgen cache clear`: {error.sentence}")
        return True


def on_demand(
    fallback: bool,
    measure: bool,
    cache: Path | None,
    gradients: tuple[bool, bool] = (True, True),
    quiet: bool = False,
) -> OnDemand | None:
    """The planner; None, with a warning, if nothing can be built on this machine and PyTorch may compute instead. Raise
    LibraryError if it may not."""
    try:
        planner, progress = OnDemand(fallback, measure, cache, gradients, quiet), Progress(quiet)
        progress.say("ckgen: loading the binding to PyTorch, which the first process compiles")
        try:
            binding()
        finally:
            progress.end(0)
        return planner
    except CkgenError as error:
        if not fallback:
            raise LibraryError(error.diagnostics[0].message, error.diagnostics[0].help) from error
        warn(f"nothing can be built here: {error.sentence}")
        return None


def current_target() -> Target:
    """The target of the current device: a GPU, else the CPU. Raise CkgenError for a GPU that no instance is for, and if
    a tool is missing that building for it needs."""
    if not torch.cuda.is_available():
        target = HOST
    else:
        name = _device_name()
        known = target_of(name)
        if known is None:
            raise LibraryError(f"no instance is for this GPU, which reports {name}")
        target = known
    tools = find_toolchain()
    require("host", tools)  # for the binding to PyTorch too
    require(target.platform, tools)
    return target


def _device_name() -> str:
    if torch.version.hip:
        return str(torch.cuda.get_device_properties(torch.cuda.current_device()).gcnArchName)
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def _warn_of_error(message: str) -> None:
    """Say once what an exception, which follows, does not know."""
    warnings.warn(f"ckgen: {message}", RuntimeWarning, stacklevel=2)


def warn(message: str) -> None:
    """Say once that PyTorch computes what a library should."""
    warnings.warn(f"ckgen: {message}. PyTorch computes these gradients.", RuntimeWarning, stacklevel=2)

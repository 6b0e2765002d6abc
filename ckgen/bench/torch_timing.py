"""Measure on a GPU with PyTorch: its tensors are the device memory, its events the clock, and cuDNN (MIOpen on ROCm)
the reference.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ckgen.bench import job as bench_job
from ckgen.bench.job import Job, Outcome, Settings, timed
from ckgen.bench.torch_functions import fused
from ckgen.bench.torch_reference import gradient_launcher, prepare, rounding
from ckgen.bench.torch_reference import to_logical as gradient_to_logical
from ckgen.bench.torch_tensors import GuardedTensor, TorchData, judge, torch_type
from ckgen.bench.torch_timer import TorchTimer
from ckgen.conv.dtypes import element_of
from ckgen.conv.layout import CHANNELS_LAST, TensorName, to_logical
from ckgen.library.d_tensors import d_slots, function_named
from ckgen.library.library import Library
from ckgen.operations.operation import OPERATIONS
from ckgen.verify.guarded import OUTPUT_POISONS, WORKSPACE_POISONS

_MATMUL_EDGE = 8192
_COPY_BYTES = 4 * 1024**3


def find_torch() -> Any | None:
    """PyTorch if it is installed and sees a GPU, else None."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


class TorchBench:
    """Runner of the jobs of one library on PyTorch's current device. Tests use a CPU as ``device``."""

    survives_failures = False  # after an illegal access every later GPU call of the process fails

    def __init__(self, torch: Any, library: Library, settings: Settings, device: str = "cuda") -> None:
        self._torch, self._library, self._settings, self._device = torch, library, settings, device
        self.references: tuple[str, ...] = ("cudnn" if torch.version.hip is None else "miopen",)
        self._timer = TorchTimer(torch, device, settings)
        self._known: tuple[object, TorchData] | None = None
        prepare(torch)

    def origin(self) -> dict[str, str]:
        """The machine as text: device, driver, software."""
        torch = self._torch
        parts = [f"torch {torch.__version__}", f"{self.references[0]} {torch.backends.cudnn.version()}"]
        parts += [f"CUDA {torch.version.cuda}"] if torch.version.cuda else []
        name = torch.cuda.get_device_name() if self._device == "cuda" else "CPU"
        return {"device": name, "driver": _driver(), "software": ", ".join(parts)}

    def ceilings(self, dtypes: Iterable[str]) -> dict[str, float]:
        """FLOP/s of a large product of random matrices per data type, and bytes/s of a large copy. A type that PyTorch
        cannot multiply on this device is left out. On NVIDIA, f32 has a third of the rate of tf32 where that is more:
        a product is then three of tf32 (templates/include/ckgen/atom/tf32_parts.hpp)."""
        torch, small = self._torch, self._device != "cuda"
        size = 2**20 if small else _COPY_BYTES
        found: dict[str, float] = {}
        for dtype in dtypes:
            with rounding(torch, dtype), suppress(RuntimeError):
                found[dtype] = self._product_rate(dtype, 256 if small else _MATMUL_EDGE)
        if "f32" in found and not small and torch.version.hip is None:
            with rounding(torch, "f32_comp_tf32"), suppress(RuntimeError):
                found["f32"] = max(found["f32"], self._product_rate("f32", _MATMUL_EDGE) / 3)
        source = torch.ones(size, dtype=torch.uint8, device=self._device)
        target = torch.empty_like(source)
        found["bytes"] = 2 * size / self._seconds(lambda: target.copy_(source))
        return found

    def _product_rate(self, dtype: str, edge: int) -> float:
        """FLOP/s of a product of random matrices."""
        torch = self._torch
        a, b = (torch.randn(edge, edge, device=self._device) for _ in range(2))
        a, b = (matrix.to(torch_type(torch, dtype, "in")) for matrix in (a, b))
        product = torch.empty_like(a)
        return float(2 * edge**3 / self._seconds(lambda: torch.mm(a, b, out=product)))

    def _seconds(self, work: Callable[[], object]) -> float:
        for _ in range(10):  # until the clock rates settle
            work()
        return timed("", "", self._timer.times(work)).ms / 1e3  # type: ignore[operator]

    def measure(self, job: Job, limit_ms: float | None) -> Outcome:
        """Verify the job, then time it if its result is correct. Raise CkgenError or PyTorch's RuntimeError when a run
        fails."""
        key = job.problem.problem, job.dtype, job.operation, job.function
        if self._known is None or self._known[0] != key:
            self._known = None
            function = function_named(self._library.functions, job.function)
            problem, seed = job.problem.problem, self._settings.seed
            data = TorchData(self._torch, self._device, problem, job.dtype, seed, job.operation, function)
            self._known = key, data
        if job.kind == "reference":
            with rounding(self._torch, job.dtype):
                return self._reference(job, self._known[1])
        outcome = self._instance(job, self._known[1], limit_ms)
        if outcome.verdict != bench_job.OK:
            self._known = None  # the failed run may have changed the inputs
        return outcome

    def _instance(self, job: Job, data: TorchData, limit_ms: float | None) -> Outcome:
        torch, problem, split_k = self._torch, job.problem.problem, job.split_k or 1
        instance, written = self._library.instance(job.name), OPERATIONS[job.operation].written
        size = self._library.workspace_size(job.name, problem, split_k=split_k)
        scratch = GuardedTensor(torch, self._device, (-1,), torch.int16, WORKSPACE_POISONS[0], size)
        ds = data.d_tensors(d_slots(instance, data.function))
        tensors = {name: data.in_layout(name, instance.layout) for name in data.read}
        target = self._blank(job, instance.layout)
        launch = self._launcher(job, split_k, tensors, target, ds, scratch if size else None)
        launch()
        self._timer.synchronize()
        result = target.tensor
        found = judge(torch, data, result.permute(to_logical(written, instance.layout)), job.dtype)
        integer = element_of(job.dtype, written).integer  # whose every pattern is a number: the comparison finds poison
        fault = target.fault(written, whole=not integer) or scratch.fault("workspace", whole=False)
        error = {"max_error": found.max_error, "tolerance": found.tolerance}
        if fault or found.verdict != bench_job.OK:
            return Outcome(bench_job.WRONG, fault or found.message, **error)  # type: ignore[arg-type]
        before = result.clone()
        times = self._timer.times(launch, limit_ms)
        same = torch.equal(before.view(torch.uint8), result.view(torch.uint8))
        verdict, message = (bench_job.OK, "") if same else (bench_job.WRONG, "a later run gave other bits")
        return timed(verdict, message, times, workspace_bytes=size, **error)

    def _launcher(
        self,
        job: Job,
        split_k: int,
        tensors: dict[TensorName, Any],
        target: GuardedTensor,
        ds: Sequence[Any],
        scratch: GuardedTensor | None,
    ) -> Callable[[], None]:
        torch, places = self._torch, {name: int(tensor.data_ptr()) for name, tensor in tensors.items()}
        places[OPERATIONS[job.operation].written] = target.address
        return self._library.launcher(
            *(job.name, job.problem.problem, (places["in"], places["wei"], places["out"])),
            ds=[tensor.data_ptr() for tensor in ds],
            split_k=split_k,
            workspace=scratch.address if scratch else 0,
            stream=torch.cuda.current_stream().cuda_stream if self._device == "cuda" else 0,
        )

    def _reference(self, job: Job, data: TorchData) -> Outcome:
        """Time PyTorch's gradient, followed by separate element-wise operations if there is a function."""
        problem, torch = job.problem.problem, self._torch
        layout = CHANNELS_LAST[problem.ndim]
        tensors = {name: data.in_layout(name, layout) for name in data.read}
        launch = fused(torch, gradient_launcher(torch, problem, tensors, job.operation), data)
        result = gradient_to_logical(problem, launch(), job.operation)
        self._timer.synchronize()
        found = judge(torch, data, result, job.dtype)
        verdict = bench_job.OK if found.verdict == bench_job.OK else bench_job.INEXACT
        times = self._timer.times(launch)
        return timed(verdict, found.message, times, max_error=found.max_error, tolerance=found.tolerance)

    def _blank(self, job: Job, layout: str) -> GuardedTensor:
        problem, written = job.problem.problem, OPERATIONS[job.operation].written
        size = problem.elements(written) * element_of(job.dtype, written).bytes
        kind = torch_type(self._torch, job.dtype, written)
        return GuardedTensor(self._torch, self._device, problem.shape(written, layout), kind, OUTPUT_POISONS[0], size)


def _driver() -> str:
    """The version of NVIDIA's kernel driver if it is loaded, else that of the operating system's kernel."""
    for file in ("/proc/driver/nvidia/version", "/proc/sys/kernel/osrelease"):
        path = Path(file)
        if path.exists():
            words = path.read_text(encoding="utf-8").splitlines()[0].split()
            return next((word for word in words if word[:1].isdigit() and "." in word), words[0])
    return "unknown"

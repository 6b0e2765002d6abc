"""ckgen.library.tensors and .operands: memory that is used in place, and messages of refusals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ckgen.conv.dtypes import Array
from ckgen.library.library import Library, LibraryError
from ckgen.library.tensors import view
from tests.conftest import StubMaker
from tests.library.test_library import F32, PROBLEM, assert_right, random_arrays


@dataclass
class Device:
    type: str
    index: int | None = None

    def __str__(self) -> str:
        return self.type


class TorchLike:
    """The part of a PyTorch tensor's interface that the binding uses, over the memory of a numpy array."""

    def __init__(self, array: Array, gpu: int | None = None, dtype: str = "float32", device: str = "cpu") -> None:
        self._array = array
        self.is_cuda = gpu is not None
        self.device = Device("cuda", gpu) if self.is_cuda else Device(device)
        self.dtype = f"torch.{dtype}"
        self.shape = array.shape

    def data_ptr(self) -> int:
        return int(self._array.ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self._array.itemsize for step in self._array.strides)

    def element_size(self) -> int:
        return self._array.itemsize


class DLPackOnly:
    """An array that supports only DLPack; it claims to be on `device` if that is given."""

    def __init__(self, array: Array, device: tuple[int, int] = (1, 0)) -> None:
        self._array, self._device = array, device
        self.streams: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, *, stream: Any = None) -> Any:
        self.streams.append(stream)
        return self._array.__dlpack__()


def wrapped(library: Library, wrap: Any) -> tuple[dict[Any, Array], list[Any]]:
    arrays = random_arrays(library, F32, PROBLEM)
    return arrays, [wrap(arrays[tensor]) for tensor in ("in", "wei", "out")]


@pytest.mark.parametrize("wrap", [TorchLike, DLPackOnly])
def test_host_tensors_are_used_where_they_lie(stub: Library, wrap: Any) -> None:
    arrays, tensors = wrapped(stub, wrap)
    stub.run(F32, PROBLEM, *tensors)
    assert_right(stub, F32, PROBLEM, arrays)


@pytest.mark.parametrize("wrap", [lambda a: TorchLike(a, gpu=0), lambda a: DLPackOnly(a, (2, 0))])
def test_gpu_tensors_are_used_where_they_lie(make_stub: StubMaker, wrap: Any) -> None:
    """The stand-in's device memory is host memory, so only the result's address would reveal a copy."""
    library = make_stub(platform="nvidia")
    arrays, tensors = wrapped(library, wrap)
    scratch = TorchLike(np.empty(library.workspace_size(F32, PROBLEM, split_k=2), np.uint8), gpu=0, dtype="uint8")
    library.run(F32, PROBLEM, *tensors, split_k=2, workspace=scratch)
    assert_right(library, F32, PROBLEM, arrays)


def test_dlpack_hears_which_stream_reads() -> None:
    for device, stream, told in (((2, 0), 0, 1), ((2, 0), 77, 77), ((10, 0), 0, 0), ((1, 0), 5, None)):
        array = DLPackOnly(np.zeros(3, np.float32), device)
        seen = view("in", array, stream)
        assert array.streams == [told]
        assert (seen.kind, seen.itemsize, seen.shape, seen.strides) == ("float32", 4, (3,), (1,))
        assert seen.device == (None if device[0] == 1 else 0)


def test_strides_decide_whether_memory_has_gaps() -> None:
    array = np.zeros((2, 1, 3), np.float16)
    assert view("x", array).gap_free
    assert view("x", np.zeros((2, 5, 3), np.float16)[:1, ::2]).gap_free is False
    assert view("x", np.zeros((2, 5, 3), np.float16)[::2]).gap_free  # the stride of a single row is never used
    assert not view("x", array[..., ::2]).gap_free
    assert not view("x", array.transpose(2, 1, 0)).gap_free
    assert view("x", array).nbytes == 12


@pytest.mark.parametrize(
    ("platform", "wrap", "words"),
    [
        ("host", lambda a: TorchLike(a, gpu=0), "platform host takes tensors in host memory, in is on GPU 0"),
        ("nvidia", TorchLike, "in is a TorchLike in host memory"),
        ("nvidia", DLPackOnly, "in is a DLPackOnly in host memory"),
        ("host", lambda a: TorchLike(a, device="mps"), "in is on device mps"),
        ("host", lambda a: DLPackOnly(a, (8, 0)), "in is on DLPack device type 8"),
        ("host", lambda a: TorchLike(a, dtype="bfloat16"), "in has type bfloat16; f32 is stored as float32"),
        ("host", lambda a: a.tolist(), "in is of type list"),
        ("nvidia", lambda a: TorchLike(a, gpu=3), "cudaSetDevice: invalid device ordinal"),
    ],
)
def test_tensors_in_the_wrong_place_are_refused(make_stub: StubMaker, platform: str, wrap: Any, words: str) -> None:
    library = make_stub(platform=platform)
    with pytest.raises(LibraryError, match=words):
        library.run(F32, PROBLEM, *wrapped(library, wrap)[1])


def test_tensors_on_two_gpus_are_refused(make_stub: StubMaker) -> None:
    library = make_stub(platform="nvidia")
    arrays = random_arrays(library, F32, PROBLEM)
    tensors = [TorchLike(arrays[t], gpu=at) for at, t in enumerate(("in", "wei", "out"))]
    with pytest.raises(LibraryError, match=r"on GPUs \[0, 1, 2\]; all must be on one"):
        library.run(F32, PROBLEM, *tensors)

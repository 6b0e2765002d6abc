"""Place and strides of tensors: numpy arrays, PyTorch tensors (``data_ptr``) and objects with DLPack, without a copy.

This module imports no tensor library but numpy; it recognises a PyTorch tensor by its methods.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ckgen.conv.dtypes import ELEMENTS, Element, element_of
from ckgen.conv.layout import TensorName, to_logical
from ckgen.conv.problem import ConvProblem
from ckgen.library.c_api import LibraryError

_DLPACK_NAMES = {element.dlpack: element.torch for element in ELEMENTS.values()}
_DLPACK_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}  # names for messages about unsupported types
_DLPACK_CPU, _DLPACK_CUDA, _DLPACK_ROCM = 1, 2, 10
_CUDA_DEFAULT_STREAM = 1  # DLPack's number for CUDA's legacy default stream, where 0 is ambiguous


@dataclass(frozen=True, slots=True)
class View:
    """A tensor in memory. ``strides`` count elements; ``device`` is a GPU's number, None for host memory; ``owner``
    keeps the memory alive."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: str
    itemsize: int
    device: int | None
    writable: bool
    owner: object

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.itemsize

    @property
    def gap_free(self) -> bool:
        """True if the elements are contiguous, last axis fastest."""
        step = 1
        for edge, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if edge != 1 and stride != step:
                return False
            step *= edge
        return True


def view(name: str, value: object, stream: int = 0) -> View:
    """The view of the tensor ``value``; errors call it ``name``, and ``stream`` is the stream that will use it.

    Raise LibraryError for objects that are not tensors and for strides that are not a positive whole number of
    elements.
    """
    if isinstance(value, np.ndarray):
        return _of_numpy(name, value)
    if all(hasattr(value, method) for method in ("data_ptr", "stride", "is_cuda")):
        return _of_torch(name, value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        try:
            return _of_dlpack(name, value, stream)
        except LibraryError:
            raise
        except Exception as error:  # another library's __dlpack__ may raise or return anything
            message = f"{name} is a {type(value).__name__} whose __dlpack__ fails: {type(error).__name__}: {error}"
            raise LibraryError(message) from error
    raise LibraryError(
        f"{name} is of type {type(value).__name__}",
        "give a numpy array, a tensor with data_ptr() or __dlpack__(), or a device address",
    )


def require_address(name: str, value: object) -> None:
    """Raise LibraryError unless ``value`` can be an address in memory or a stream's handle; a bool cannot."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**64:
        raise LibraryError(f"{name} is {value!r:.80}, which is not an address", "give an integer of up to 64 bits")


def require(
    tensor: TensorName, given: View, problem: ConvProblem, layout: str, dtype: str, *, written: bool = False
) -> None:
    """Raise LibraryError with the expected values unless ``given`` can be the tensor of the problem."""
    require_fit(tensor, given, element_of(dtype, tensor), problem.shape(tensor, layout), layout)
    if written and not given.writable:
        raise LibraryError(f"{tensor} is read-only, the result cannot be written")


def require_fit(name: str, given: View, element: Element, shape: tuple[int, ...], layout: str) -> None:
    """Raise LibraryError unless ``given`` has this element type and shape; errors call the tensor ``name``."""
    if given.kind not in element.kinds:
        stored = " or ".join(element.kinds)
        raise LibraryError(f"{name} has type {given.kind}; {element.name} is stored as {stored}")
    if given.shape != shape:
        raise LibraryError(f"{name} has shape {given.shape}; this problem in {layout} needs {shape}")


def logical_strides(given: View, tensor: TensorName, layout: str) -> tuple[int, ...]:
    """The tensor's own strides in elements and in logical order."""
    return tuple(given.strides[axis] for axis in to_logical(tensor, layout))


def _of_numpy(name: str, array: np.ndarray[Any, Any]) -> View:
    if array.dtype.hasobject or not array.itemsize:
        raise LibraryError(f"{name} has type {array.dtype}, which is not of numbers")
    if any(step < 0 or step % array.itemsize for step in array.strides):
        message = f"{name} has strides of {array.strides} bytes; they must be whole, positive elements"
        raise LibraryError(message)
    strides = tuple(step // array.itemsize for step in array.strides)
    kind, writable = str(array.dtype), bool(array.flags.writeable)
    return View(array.ctypes.data, array.shape, strides, kind, array.itemsize, None, writable, array)


def _of_torch(name: str, tensor: Any) -> View:
    if not tensor.is_cuda and str(tensor.device) != "cpu":
        raise LibraryError(f"{name} is on device {tensor.device}, neither a GPU of CUDA or HIP nor the host")
    device = int(tensor.device.index or 0) if tensor.is_cuda else None
    kind = str(tensor.dtype).removeprefix("torch.")
    shape, strides = tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride()))
    return View(int(tensor.data_ptr()), shape, strides, kind, int(tensor.element_size()), device, True, tensor)


class _DLTensor(ctypes.Structure):
    """``DLTensor`` of dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def _of_dlpack(name: str, value: Any, stream: int) -> View:
    device_type, device = map(int, value.__dlpack_device__())
    if device_type not in (_DLPACK_CPU, _DLPACK_CUDA, _DLPACK_ROCM):
        raise LibraryError(f"{name} is on DLPack device type {device_type}, neither a GPU nor the host")
    if device_type == _DLPACK_CPU:
        capsule = value.__dlpack__()
    else:
        capsule = value.__dlpack__(stream=stream or (_CUDA_DEFAULT_STREAM if device_type == _DLPACK_CUDA else 0))
    # The capsule frees the tensor's description at its end, because this code does not rename it to "used_dltensor".
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    described = _DLTensor.from_address(pointer_of(capsule, b"dltensor"))
    shape = tuple(described.shape[: described.ndim])
    strides = tuple(described.strides[: described.ndim]) if described.strides else _packed(shape)
    if described.lanes != 1 or any(step < 0 for step in strides):
        raise LibraryError(f"{name} has {described.lanes} lanes and strides {strides}; 1 and positive are possible")
    plain = f"{_DLPACK_CODES.get(described.code, 'type')}{described.bits}"
    kind = _DLPACK_NAMES.get((described.code, described.bits), plain)
    address = (described.data or 0) + described.byte_offset
    where = None if device_type == _DLPACK_CPU else device
    return View(address, shape, strides, kind, described.bits // 8, where, True, (value, capsule))


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))

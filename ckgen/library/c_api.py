"""The C API of a generated library (``ckgen/c_api.h``) in ctypes: structures, signatures, errors."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence

from ckgen.conv.layout import TENSORS, TensorName
from ckgen.conv.problem import ConvProblem
from ckgen.errors import EXIT_USAGE, CkgenError, Diagnostic
from ckgen.operations.operation import OPERATIONS

ABI_VERSION = 8
OK, UNSUPPORTED, FAILED = 0, 1, 2

_Lengths = ctypes.c_int64 * 6
_Spatial = ctypes.c_int64 * 3


class LibraryError(CkgenError):
    """The library cannot be loaded, was used wrongly, or failed while running."""

    def __init__(self, message: str, help: str = "", *, exit_code: int = EXIT_USAGE) -> None:
        super().__init__((Diagnostic(None, "library", message, help),), exit_code)


class UnsupportedProblem(CkgenError):
    """An instance does not take the requested problem. ``reason`` is the library's own sentence."""

    def __init__(self, instance: str, reason: str, help: str = "") -> None:
        self.instance = instance
        self.reason = reason
        message = f"{instance} does not take this problem: {reason}"
        super().__init__((Diagnostic(None, "unsupported-problem", message, help),))


class CDTensor(ctypes.Structure):
    """``ckgen_d_tensor``: lengths and strides (in elements) in logical order; the stride is 0 where it is broadcast."""

    _fields_ = [("data", ctypes.c_void_p), ("lengths", _Lengths), ("strides", _Lengths)]

    @classmethod
    def make(cls, lengths: Sequence[int], strides: Sequence[int]) -> CDTensor:
        """A D tensor without an address."""
        return cls(None, _Lengths(*lengths), _Lengths(*strides))


class CProblem(ctypes.Structure):
    """``ckgen_problem``: lengths and strides (in elements) in logical order; entries past the number of dimensions are
    0."""

    _fields_ = [
        ("ndim", ctypes.c_int32),
        ("split_k", ctypes.c_int32),
        *((f"{tensor}_{what}", _Lengths) for tensor in TENSORS for what in ("lengths", "strides")),
        ("strides", _Spatial),
        ("dilations", _Spatial),
        ("left_pads", _Spatial),
        ("right_pads", _Spatial),
        ("d_count", ctypes.c_int32),
        ("scalar_count", ctypes.c_int32),
        ("d", ctypes.POINTER(CDTensor)),
        ("scalars", ctypes.POINTER(ctypes.c_float)),
    ]

    @classmethod
    def make(cls, problem: ConvProblem, layout: str, split_k: int) -> CProblem:
        """The C form of ``problem`` for gap-free tensors in ``layout``."""
        made = cls(ndim=problem.ndim, split_k=split_k)
        for tensor in TENSORS:
            setattr(made, f"{tensor}_lengths", _Lengths(*problem.lengths(tensor)))
            made.set_strides(tensor, problem.strides_of(tensor, layout))
        for field in ("strides", "dilations", "left_pads", "right_pads"):
            setattr(made, field, _Spatial(*getattr(problem, field)))
        return made

    def problem(self) -> ConvProblem:
        """The problem without its tensors' strides."""
        dims, (groups, batch, c, *image) = self.ndim, self.in_lengths
        edges = (tuple(values[:dims]) for values in (self.strides, self.dilations, self.left_pads, self.right_pads))
        sizes = tuple(self.wei_lengths[3 : 3 + dims]), tuple(image[:dims])
        return ConvProblem(groups, batch, self.wei_lengths[1], c, *sizes, *edges)

    def set_strides(self, tensor: TensorName, strides: tuple[int, ...]) -> None:
        """Set the strides of ``tensor``: in elements, in logical order."""
        setattr(self, f"{tensor}_strides", _Lengths(*strides))

    def set_ds(self, tensors: Sequence[CDTensor]) -> None:
        """Set the problem's D tensors, in the function's order."""
        self.d_count, self.d = len(tensors), (CDTensor * len(tensors))(*tensors)

    def set_scalars(self, values: Sequence[float]) -> None:
        """Set all scalars of the function in its order, or pass none to keep its defaults."""
        self.scalar_count, self.scalars = len(values), (ctypes.c_float * len(values))(*values)


class CCandidate(ctypes.Structure):
    """``ckgen_candidate``: an instance for a problem. ``source`` is an index into ``selector.SOURCES``."""

    _fields_ = [
        ("instance", ctypes.c_int32),
        ("split_k", ctypes.c_int32),
        ("source", ctypes.c_int32),
        ("microseconds", ctypes.c_float),
    ]


_INT, _TEXT, _POINTER = ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p
_PROBLEM = ctypes.POINTER(CProblem)
_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "ckgen_abi_version": (_INT, ()),
    "ckgen_platform": (_TEXT, ()),
    "ckgen_f8_codes": (_INT, ()),
    "ckgen_last_error": (_TEXT, ()),
    "ckgen_instance_count": (_INT, ()),
    "ckgen_instance_name": (_TEXT, (_INT,)),
    "ckgen_instance_type_string": (_TEXT, (_INT,)),
    "ckgen_function_count": (_INT, ()),
    "ckgen_function": (_TEXT, (_INT,)),
    "ckgen_instance_operation": (_TEXT, (_INT,)),
    "ckgen_is_supported": (_INT, (_INT, _PROBLEM, _POINTER, _POINTER, _POINTER)),
    "ckgen_workspace_size": (_INT, (_INT, _PROBLEM, ctypes.POINTER(ctypes.c_int64))),
    "ckgen_split_k": (_INT, (_INT, _PROBLEM, ctypes.POINTER(_INT))),
    "ckgen_select": (
        _INT,
        (*(_TEXT,) * 5, _PROBLEM, *(_POINTER,) * 3, _INT, ctypes.POINTER(CCandidate), ctypes.POINTER(_INT)),
    ),
    "ckgen_plan": (_INT, (_INT, _PROBLEM, *(_POINTER,) * 5, ctypes.c_int64, *(_POINTER,) * 3)),
    "ckgen_plan_weight_copy": (_INT, (_INT, _PROBLEM, *(_POINTER,) * 5, ctypes.c_int64, *(_POINTER,) * 3)),
    "ckgen_prepare": (_INT, (_INT, _PROBLEM, *(_POINTER,) * 3, ctypes.POINTER(_POINTER))),
    "ckgen_start": (_INT, (_POINTER,) * 6),
    "ckgen_release": (None, (_POINTER,)),
    "ckgen_transpose": (_INT, (_POINTER, _POINTER, *(ctypes.c_int64,) * 3, _INT, _POINTER)),
    "ckgen_run": (_INT, (_INT, _PROBLEM, *(_POINTER,) * 5, _INT, ctypes.POINTER(ctypes.c_float))),
    **{
        operation.c_reference: (_INT, (_TEXT, _PROBLEM, _POINTER, _POINTER, _POINTER))
        for operation in OPERATIONS.values()
    },
    "ckgen_device_malloc": (_INT, (ctypes.c_int64, ctypes.POINTER(_POINTER))),
    "ckgen_device_free": (_INT, (_POINTER,)),
    "ckgen_device_copy_to": (_INT, (_POINTER, _POINTER, ctypes.c_int64)),
    "ckgen_device_copy_from": (_INT, (_POINTER, _POINTER, ctypes.c_int64)),
    "ckgen_device_synchronize": (_INT, (_POINTER,)),
    "ckgen_device_use": (_INT, (_INT, ctypes.POINTER(_INT))),
    "ckgen_host_configure": (_INT, (ctypes.c_uint64, _INT)),
}


def bind(api: ctypes.CDLL) -> ctypes.CDLL:
    """Set the types of every function of the API. Raise AttributeError with the name of the first missing function."""
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(api, name)
        function.restype, function.argtypes = result, list(arguments)
    return api


def load(path: str) -> ctypes.CDLL:
    """Load a library and type its functions. Raise LibraryError when it is not a ckgen library."""
    try:
        missing = missing_bytes(path) if os.path.isfile(path) else 0
    except OSError as error:
        raise LibraryError(f"cannot read {path}: {error}") from error
    if missing:  # the loader would map pages past the end of the file, and reading them would kill the process
        raise LibraryError(f"{path} is cut off: {missing} bytes are missing at its end", "build or copy it again")
    try:
        # The loader would search for a name without a folder in the system's library folders only.
        api = ctypes.CDLL(os.path.abspath(path) if os.path.exists(path) else path)
        version = int(api.ckgen_abi_version())  # first: a library of another version may lack functions
        if version != ABI_VERSION:
            raise LibraryError(
                f"{path} speaks ABI version {version}, this ckgen speaks {ABI_VERSION}",
                "generate and build the library again",
            )
        bind(api)
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        raise LibraryError(f"cannot load {path}: {error}") from error
    except AttributeError as error:
        raise LibraryError(f"{path} is not a ckgen library: {error}") from error
    return api


def missing_bytes(path: str) -> int:
    """Number of bytes that a truncated 64-bit ELF file lacks, by its headers; 0 if it is whole or not such a file.

    Field offsets: System V ABI, ELF header and program header.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        header = file.read(64)
        if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
            return 0
        segments, sections = struct.unpack_from("<QQ", header, 32)
        segment_size, segment_count, section_size, section_count = struct.unpack_from("<HHHH", header, 54)
        ends = [segments + segment_size * segment_count, sections + section_size * section_count]
        if ends[0] <= size and segment_size >= 56:
            file.seek(segments)
            table = file.read(segment_size * segment_count)
            places = (struct.unpack_from("<8xQ16xQ", table, at * segment_size) for at in range(segment_count))
            ends += [offset + length for offset, length in places]
    return int(max(0, max(ends) - size))


def expect(api: ctypes.CDLL, what: str, status: int) -> None:
    """Raise the exception for a status other than OK, with the library's own sentence; ``what`` names the request."""
    if status == UNSUPPORTED:
        raise UnsupportedProblem(what, last_error(api))
    if status == FAILED:
        raise LibraryError(f"{what}: {last_error(api)}", exit_code=1)
    if status != OK:
        raise LibraryError(f"{what}: unknown status {status} from {api._name}", exit_code=1)


def last_error(api: ctypes.CDLL) -> str:
    """The library's message about the latest error on this thread."""
    text: bytes = api.ckgen_last_error()
    return text.decode(errors="replace")

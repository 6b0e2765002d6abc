"""Call every function of a library's C API with null pointers and garbage.

Usage: `python -m tests.support.c_api_abuse LIBRARY`.

It runs in a separate process, because the failure to find is a fatal signal. Each case is printed before it runs, so
that the last line names the one that crashed. A call must return a status and, unless it is 0, set an error message;
calls that cannot be valid must not return 0.
"""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ckgen.conv.layout import TENSORS
from ckgen.conv.problem import make_problem
from ckgen.library.c_api import ABI_VERSION, CCandidate, CDTensor, CProblem, bind, last_error
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

PROBLEM = make_problem(groups=2, batch=2, k=3, c=4, filter=(3, 2), input=(6, 5), stride=(2, 1), pad=(1, 0))
GARBAGE = (-(2**63), -(2**31), -1, 0, 1, 7, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1)
GARBAGE_32 = (-(2**31), -1, 0, 1, 3, 5, 2**16 + 1, 2**31 - 1)
STRIDES = ("in_strides", "wei_strides", "out_strides")
NULL = None
PLANS = ("ckgen_plan", "ckgen_plan_weight_copy")


class Caller:
    """Caller of the typed functions of a library, which prints and checks each call."""

    def __init__(self, path: str) -> None:
        self.api = bind(ctypes.CDLL(path))
        self.cases = 0

    def call(self, may_succeed: bool, function: str, *arguments: Any) -> int:
        """Return the status of a call. Raise AssertionError if it is not a status, or if it is 0 and the call cannot be
        valid."""
        self.cases += 1
        print(function, *("NULL" if value is None else value for value in arguments), flush=True)
        status = int(getattr(self.api, function)(*arguments))
        said = last_error(self.api)
        assert status in (0, 1, 2), f"{function} gave {status}"
        assert bool(said) == (status != 0), f"{function} gave {status} and said {said!r}"
        assert may_succeed or status != 0, f"{function} took it"
        return status


def problems(layouts: Sequence[str]) -> Iterator[CProblem]:
    """Valid problems, then each with one field at a time set to garbage, then random ones."""
    for layout in layouts:
        yield CProblem.make(PROBLEM, layout, 1)
    for layout in layouts:
        for name, kind in CProblem._fields_:
            if name in ("d", "scalars"):
                continue
            for value in GARBAGE_32 if kind is ctypes.c_int32 else GARBAGE:
                places = [None] if kind is ctypes.c_int32 else range(kind._length_)  # type: ignore[attr-defined]
                for place in places:
                    made = CProblem.make(PROBLEM, layout, 1)
                    if place is None:
                        setattr(made, name, value)
                    else:
                        getattr(made, name)[place] = value
                    yield made
    draw = random.Random(1)
    for _ in range(500):
        made = CProblem()
        ctypes.memmove(ctypes.addressof(made), draw.randbytes(ctypes.sizeof(made)), ctypes.sizeof(made) - 16)
        yield made


def no_convolutions(layout: str) -> Iterator[CProblem]:
    """Problems whose parts disagree or are too large. (Garbage that happens to be valid would access memory.)"""
    for field, place, values in (
        ("ndim", None, (-(2**31), -1, 0, 4, 2**31 - 1)),
        ("strides", 0, (-(2**63), -1, 0)),
        ("dilations", 1, (-1, 0, 2**62)),
        ("left_pads", 0, (-(2**63), -1, 2**62)),
        ("in_strides", 1, (-1, 2**62)),
        *((f"{tensor}_lengths", axis, (-(2**63), -1, 0, 7, 2**62)) for tensor in TENSORS for axis in range(5)),
    ):
        for value in values:
            made = CProblem.make(PROBLEM, layout, 1)
            if place is None:
                setattr(made, field, value)
            else:
                getattr(made, field)[place] = value
            yield made
    made = CProblem.make(PROBLEM, layout, 1)
    made.in_lengths[2] = made.wei_lengths[2] = 2**62
    yield made


def abuse(caller: Caller, instances: Sequence[int], layouts: Sequence[str]) -> None:
    memory = ctypes.create_string_buffer(1 << 16)
    at = ctypes.addressof(memory) // 256 * 256 + 256
    number, wide, real = ctypes.c_int32(), ctypes.c_int64(), ctypes.c_float()
    found = (CCandidate * 4)()
    tensors = (at, at + 4096, at + 8192)
    operation, layout = BWD_WEIGHT.encode(), layouts[0].encode()
    for index in (*instances, -1, 10**6, -(2**31), 2**31 - 1):
        bad = index not in instances
        for function in ("instance_name", "instance_type_string", "instance_operation"):
            text = getattr(caller.api, f"ckgen_{function}")(index)
            assert (text is None) == bad, function
        caller.call(False, "ckgen_is_supported", index, NULL, *tensors)
        caller.call(False, "ckgen_run", index, NULL, *tensors, NULL, NULL, 0, ctypes.byref(real))
        caller.call(False, "ckgen_workspace_size", index, NULL, ctypes.byref(wide))
        caller.call(False, "ckgen_split_k", index, NULL, ctypes.byref(number))
        for plan in PLANS:
            caller.call(False, plan, index, NULL, *(NULL,) * 5, 0, *map(ctypes.addressof, (wide, number, number)))
    for problem in problems(layouts):
        given = ctypes.byref(problem)
        for index in instances:
            caller.call(True, "ckgen_is_supported", index, given, NULL, NULL, NULL)
            caller.call(False, "ckgen_workspace_size", index, given, NULL)
            caller.call(False, "ckgen_run", index, given, NULL, NULL, NULL, NULL, NULL, 0, NULL)
        words = operation, layout, b"f32", NULL, NULL
        caller.call(True, "ckgen_select", *words, given, NULL, NULL, NULL, 4, found, ctypes.byref(number))
    for good in (CProblem.make(PROBLEM, each, 1) for each in layouts):
        given = ctypes.byref(good)
        for index in instances:
            outputs = [ctypes.addressof(value) for value in (wide, number, number)]
            for missing in range(3):
                gone = [NULL if at == missing else value for at, value in enumerate(outputs)]
                for plan in PLANS:
                    caller.call(False, plan, index, given, *(NULL,) * 5, 0, *gone)
            caller.call(False, "ckgen_workspace_size", index, given, NULL)
            caller.call(False, "ckgen_split_k", index, given, NULL)
        words = [operation, layout, b"f32"]
        for missing in range(3):
            gone = [NULL if at == missing else word for at, word in enumerate(words)]
            rest = (NULL, NULL, given, *tensors, 4, found, ctypes.byref(number))
            caller.call(False, "ckgen_select", *gone, *rest)
        query = (*words, NULL, NULL)
        caller.call(False, "ckgen_select", *query, NULL, *tensors, 4, found, ctypes.byref(number))
        caller.call(False, "ckgen_select", *query, given, *tensors, 4, NULL, ctypes.byref(number))
        caller.call(False, "ckgen_select", *query, given, *tensors, 4, found, NULL)
        for capacity in (0, -1, -(2**31)):
            caller.call(False, "ckgen_select", *query, given, *tensors, capacity, NULL, ctypes.byref(number))
        for word in (b"", b"x" * 100_000, b"\xff\xfe", b"Bilinear"):
            for place in range(5):
                strange = [word if at == place else one for at, one in enumerate(query)]
                caller.call(True, "ckgen_select", *strange, given, *tensors, 4, found, ctypes.byref(number))
        for counts in ((1, 0), (5, 0), (2**31 - 1, 0), (-1, 0), (0, 2), (0, 2**31 - 1), (0, -1)):
            for address in (NULL, 16):  # nothing is read where the counts are wrong
                good.d_count, good.scalar_count = counts
                good.d = ctypes.cast(address, ctypes.POINTER(CDTensor))
                good.scalars = ctypes.cast(address, ctypes.POINTER(ctypes.c_float))
                for index in instances:
                    if counts != (1, 0) or address is NULL:
                        caller.call(False, "ckgen_is_supported", index, given, NULL, NULL, NULL)
                if counts[0] != 1:
                    caller.call(False, "ckgen_select", *query, given, *tensors, 4, found, ctypes.byref(number))
    abuse_reference(caller, layouts, tensors)
    abuse_memory(caller, at)


def beyond_memory(layout: str) -> CProblem:
    """A problem of three numbers, repeated by strides of 0, whose weight gradient has more sums than fit in memory."""
    long, channels = 2**26, 2**31 - 1
    many = make_problem(k=1, c=1, filter=(1, long), input=(1, long))
    made = CProblem.make(many, layout, 1)
    made.in_lengths[2] = made.wei_lengths[2] = channels
    for name in STRIDES:
        for place in range(6):
            getattr(made, name)[place] = 0
    return made


def abuse_reference(caller: Caller, layouts: Sequence[str], tensors: Sequence[int]) -> None:
    """Call the references. They run every problem that they accept, so only memory as large as the strides say is
    passed."""
    for function, layout in zip(("ckgen_reference", "ckgen_reference_bwd_data"), layouts, strict=True):
        good = CProblem.make(PROBLEM, layout, 1)
        for dtype in (NULL, b"", b"x", b"f64"):
            caller.call(False, function, dtype, ctypes.byref(good), *tensors)
        caller.call(False, function, b"f32", NULL, *tensors)
        for missing in range(3):
            gone = [NULL if at == missing else address for at, address in enumerate(tensors)]
            caller.call(False, function, b"f32", ctypes.byref(good), *gone)
        caller.call(False, function, b"f32", ctypes.byref(good), *tensors[:1] * 3)  # would overwrite an operand
        for made in no_convolutions(layout):
            caller.call(False, function, b"f32", ctypes.byref(made), *tensors)
        for problem in problems((layout,)):
            if all(list(getattr(problem, name)) == list(getattr(good, name)) for name in STRIDES):
                caller.call(True, function, b"f32", ctypes.byref(problem), *tensors)
    beyond = beyond_memory(layouts[0])
    caller.call(False, "ckgen_reference", b"f32", ctypes.byref(beyond), *tensors)


def abuse_memory(caller: Caller, at: int) -> None:
    """Call the functions for device memory, waiting and the host's options."""
    made, number = ctypes.c_void_p(), ctypes.c_int32()
    for size in (-1, -(2**63), 2**63 - 1, 2**62):
        caller.call(False, "ckgen_device_malloc", size, ctypes.byref(made))
    caller.call(False, "ckgen_device_malloc", 16, NULL)
    caller.call(True, "ckgen_device_malloc", 0, ctypes.byref(made))
    caller.call(True, "ckgen_device_free", NULL)
    for function in ("ckgen_device_copy_to", "ckgen_device_copy_from"):
        for one, other in ((NULL, at), (at, NULL), (NULL, NULL)):
            caller.call(False, function, one, other, 16)
        caller.call(False, function, at, at + 64, -1)
        caller.call(False, function, at, at + 64, -(2**63))
        caller.call(True, function, NULL, NULL, 0)
    caller.call(True, "ckgen_device_synchronize", NULL)
    caller.call(False, "ckgen_device_use", 0, NULL)
    caller.call(True, "ckgen_device_use", 0, ctypes.byref(number))
    for index in (-1, 10**6, -(2**31), 2**31 - 1):
        assert caller.api.ckgen_function(index) is None
    assert caller.api.ckgen_abi_version() == ABI_VERSION
    caller.call(False, "ckgen_host_configure", 0, -1)


def main(path: str) -> None:
    library, caller = Library(path), Caller(path)
    layouts = ("NHWGC/GKYXC/NHWGK", "NHWGK/GKYXC/NHWGC")
    wanted = [
        (BWD_WEIGHT, "PassThrough", layouts[0]),
        (BWD_DATA, "PassThrough", layouts[1]),
        (BWD_DATA, "Bilinear", layouts[1]),
    ]
    instances = [
        next(
            at
            for at, one in enumerate(library.instances)
            if (one.operation, one.layout, one.dtype) == (operation, layout, "f32")
            and one.generic
            and one.function == function
        )
        for operation, function, layout in wanted
    ]
    abuse(caller, instances, layouts)
    print(f"{caller.cases} cases")


if __name__ == "__main__":
    main(sys.argv[1])

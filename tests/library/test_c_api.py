"""Test the C API and ckgen.library with the real host library.

Wrong calls get an error, runs without a workspace are correct, and a result that would overwrite an operand is refused.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckgen.conv.layout import TENSORS
from ckgen.conv.problem import make_problem
from ckgen.errors import CkgenError
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CDTensor, CProblem, LibraryError, missing_bytes
from ckgen.library.library import Library, UnsupportedProblem
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

ROOT = Path(__file__).resolve().parents[2]
PROBLEM = make_problem(groups=2, batch=4, k=8, c=8, filter=(3, 3), input=(6, 5), pad=1)

# Lets no more threads than MOST_THREADS begin.
FEW_THREADS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* data) {
    static int begun = 0;
    if(begun++ >= atoi(getenv("MOST_THREADS")))
        return EAGAIN;
    int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = dlsym(RTLD_NEXT, "pthread_create");
    return create(thread, attributes, work, data);
}
"""
CHANNELS_LAST = {BWD_WEIGHT: "NHWGC/GKYXC/NHWGK", BWD_DATA: "NHWGK/GKYXC/NHWGC"}


def generic(library: Library, operation: str, dtype: str = "f32", function: str = "PassThrough") -> Instance:
    """The channels-last 2D instance that takes every problem."""
    kind = (operation, CHANNELS_LAST[operation], dtype)
    found = [one for one in library.instances if one.generic and (one.operation, one.layout, one.dtype) == kind]
    return next(one for one in found if one.function in (function, ""))


def test_no_call_of_the_c_api_dies(host_library: Library) -> None:
    """Null pointers and garbage in every argument and field of every function; see tests/support/c_api_abuse.py."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.c_api_abuse", host_library.path], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.returncode, done.stdout[-500:], done.stderr[-2000:])
    assert int(done.stdout.split()[-2]) > 10_000


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("operation", [BWD_WEIGHT, BWD_DATA])
def test_a_run_without_a_workspace_is_the_run_with_split_k_1(host_library: Library, operation: str, dtype: str) -> None:
    instance = generic(host_library, operation, dtype)
    problem, layout = make_problem(batch=8, k=16, c=16, filter=(3, 3), input=(6, 5), pad=1), instance.layout
    kind = {"f16": np.float16, "f32": np.float32}[dtype]
    random = np.random.default_rng(1)
    arrays = {t: random.uniform(-1, 1, problem.shape(t, layout)).astype(kind) for t in ("in", "wei", "out")}  # type: ignore[arg-type]
    written = "wei" if operation == BWD_WEIGHT else "in"
    results = []
    for split_k, workspace in ((1, 0), (4, 0)):
        arrays[written] = np.full_like(arrays[written], np.nan)
        described = host_library.describe(instance.name, problem, split_k=split_k)
        start = host_library.prepare(instance.name, described)
        assert (start.workspace_bytes > 0) == (split_k > 1)
        start(*(arrays[t].ctypes.data for t in ("in", "wei", "out")), workspace, 0)
        results.append(arrays[written])
    assert not np.isnan(results[0]).any()
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize("operation", [BWD_WEIGHT, BWD_DATA])
def test_a_prepared_run_takes_other_addresses(host_library: Library, operation: str) -> None:
    """Other memory, memory with another alignment, no workspace, memory that overlaps, and none."""
    instance = generic(host_library, operation, "f16")
    problem, layout = make_problem(batch=8, k=16, c=16, filter=(3, 3), input=(6, 5), pad=1), instance.layout
    written = "wei" if operation == BWD_WEIGHT else "in"
    start = host_library.prepare(instance.name, host_library.describe(instance.name, problem, split_k=4))
    assert start.split_k == 4 and start.workspace_bytes > 0
    workspace = np.empty(start.workspace_bytes + 16, np.uint8)
    scratch = workspace.ctypes.data // 16 * 16 + 16
    random, results = np.random.default_rng(2), {}
    values = {t: random.uniform(-1, 1, problem.shape(t, layout)).astype(np.float16) for t in ("in", "wei", "out")}  # type: ignore[arg-type]
    for shift, memory in ((0, scratch), (16, scratch), (2, scratch), (0, 0)):
        held = {t: np.full(array.nbytes + 64, 0xFF, np.uint8) for t, array in values.items()}
        begins = {t: -array.ctypes.data % 16 + shift for t, array in held.items()}
        views = {t: held[t][begins[t] :][: a.nbytes].view(np.float16).reshape(a.shape) for t, a in values.items()}
        for tensor in {"in", "wei", "out"} - {written}:
            views[tensor][:] = values[tensor]
        start(*(views[t].ctypes.data for t in ("in", "wei", "out")), memory, 0)
        results[shift, memory] = views[written].copy()
        assert (held[written][: begins[written]] == 0xFF).all()
    for result in results.values():
        np.testing.assert_allclose(result, results[0, scratch], atol=0.02)
    np.testing.assert_array_equal(results[16, scratch], results[0, scratch])
    addresses = [values[t].ctypes.data for t in ("in", "wei", "out")]
    at = ("in", "wei").index(written)
    refusals: tuple[tuple[int, type[CkgenError], str], ...] = (
        (addresses[2], UnsupportedProblem, "overlap"),  # with the status of ckgen_run, which calls it unsupported
        (0, LibraryError, "null-pointer"),
        (scratch, LibraryError, "overlaps"),
    )
    for wrong, kind, words in refusals:
        refused = [*addresses]
        refused[at] = wrong
        with pytest.raises(kind, match=words):
            start(*refused, scratch, 0)


def test_a_prepared_run_with_the_result_as_d_tensor_checks_other_addresses(host_library: Library) -> None:
    """The D tensor stays where it was; a result elsewhere is right, and one that overlaps it is refused."""
    name = next(
        i.name for i in host_library.instances if (i.function, i.operation, i.dtype) == ("Bilinear", BWD_DATA, "f32")
    )
    problem, layout = make_problem(batch=2, k=8, c=8, filter=(1, 1), input=(4, 4)), host_library.instance(name).layout
    random = np.random.default_rng(3)
    out, wei = (random.uniform(-1, 1, problem.shape(t, layout)).astype(np.float32) for t in ("out", "wei"))
    size = int(np.prod(problem.shape("in", layout)))
    held = random.uniform(-1, 1, 4 * size).astype(np.float32)
    d, known = held[:size].copy(), np.empty(size, np.float32)
    described = host_library.describe(name, problem)
    described.set_ds([CDTensor.make(list(described.in_lengths), list(described.in_strides))])
    described.d[0].data = held.ctypes.data
    start = host_library.prepare(name, described, (held.ctypes.data, wei.ctypes.data, out.ctypes.data))
    read = wei.ctypes.data, out.ctypes.data
    start(known.ctypes.data, *read, 0, 0)
    assert not np.array_equal(known, d) and np.array_equal(held[:size], d)
    with pytest.raises(UnsupportedProblem, match="overlap"):
        start(held.ctypes.data + 16, *read, 0, 0)
    start(held[2 * size :].ctypes.data, *read, 0, 0)
    start(held.ctypes.data, *read, 0, 0)
    for result in (held[:size], held[2 * size : 3 * size]):
        np.testing.assert_array_equal(result, known)


def test_a_launch_without_a_workspace_has_split_k_1(host_library: Library) -> None:
    instance = generic(host_library, BWD_WEIGHT)
    problem = make_problem(batch=8, k=4, c=4, filter=(1, 1), input=(8, 8))
    arrays = [np.zeros(problem.shape(t, instance.layout), np.float32) for t in ("in", "wei", "out")]  # type: ignore[arg-type]
    at = [array.ctypes.data for array in arrays]
    launches = [
        host_library.planned(instance.name, host_library.describe(instance.name, problem, split_k=split_k), (*at, 0))
        for split_k in (1, 4)
    ]
    assert launches[0] == launches[1]


def test_runs_need_no_helper_threads(host_library: Library, tmp_path: Path) -> None:
    """If the limit of threads is reached, the calling thread does the work of those that cannot begin."""
    (tmp_path / "few.c").write_text(FEW_THREADS)
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "few.c", "-o", tmp_path / "few.so", "-ldl"], check=True)
    code = f"""
from tests.library.test_c_api import *
library = Library({str(host_library.path)!r})
library._api.ckgen_host_configure(0, 4)
name = generic(library, BWD_WEIGHT).name
tensors = [np.ones(PROBLEM.shape(t, library.instance(name).layout), np.float32) for t in ("in", "wei", "out")]
library.run(name, PROBLEM, *tensors)
print("sum", float(tensors[1].sum()))
"""
    said = []
    for most in ("0", "1", "99"):
        environment = {**os.environ, "LD_PRELOAD": str(tmp_path / "few.so"), "MOST_THREADS": most}
        environment |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        said.append(run.stdout)
    assert said[0].startswith("sum") and len(set(said)) == 1


def test_results_that_overlap_an_input_are_refused(host_library: Library) -> None:
    for operation, written in ((BWD_WEIGHT, "wei"), (BWD_DATA, "in")):
        instance = generic(host_library, operation)
        shapes = {t: PROBLEM.shape(t, instance.layout) for t in ("in", "wei", "out")}  # type: ignore[arg-type]
        for other in {"in", "wei", "out"} - {written}:
            sizes = {t: int(np.prod(shape)) for t, shape in shapes.items()}
            memory = np.ones(sizes[written] + sizes[other], np.float32)
            arrays: dict[str, Any] = {t: np.ones(shape, np.float32) for t, shape in shapes.items()}
            arrays[other] = memory[: sizes[other]].reshape(shapes[other])
            for begin, fits in ((0, False), (sizes[other] - 1, False), (sizes[other], True)):
                arrays[written] = memory[begin : begin + sizes[written]].reshape(shapes[written])
                call = lambda: host_library.run(instance.name, PROBLEM, *arrays.values())  # noqa: B023, E731
                arrays = {t: arrays[t] for t in ("in", "wei", "out")}
                if fits:
                    call()
                else:
                    with pytest.raises(UnsupportedProblem, match=r"\[overlap\].* which is written, overlaps"):
                        call()


def test_a_workspace_may_not_overlap_a_tensor(host_library: Library) -> None:
    instance = generic(host_library, BWD_WEIGHT)
    arrays = [np.ones(PROBLEM.shape(t, instance.layout), np.float32) for t in ("in", "wei", "out")]  # type: ignore[arg-type]
    size = host_library.workspace_size(instance.name, PROBLEM, split_k=2)
    memory = np.zeros(size // 4 + arrays[0].size, np.float32)
    arrays[0] = memory[size // 4 - 4 : size // 4 - 4 + arrays[0].size].reshape(arrays[0].shape)
    with pytest.raises(LibraryError, match=r"\[overlap\] the workspace overlaps the input"):
        host_library.run(instance.name, PROBLEM, *arrays, split_k=2, workspace=memory[: size // 4].view(np.uint8))


def test_slices_of_one_tensor_do_not_overlap(host_library: Library) -> None:
    """The gradient of a part of a concatenation is written next to memory that the run reads."""
    instance = generic(host_library, BWD_DATA)
    problem = make_problem(groups=2, batch=2, k=8, c=8, filter=(1, 1), input=(5, 4))
    wide = np.zeros((2, 5, 4, 2, 16), np.float32)
    out, target = wide[..., :8], wide[..., 8:]
    out[...] = 1
    wei = np.ones(problem.shape("wei", instance.layout), np.float32)
    host_library.run(instance.name, problem, target, wei, out)
    assert (target == 8).all() and (out == 1).all()
    with pytest.raises(UnsupportedProblem, match=r"\[overlap\]"):
        host_library.run(instance.name, problem, wide[..., 4:12], wei, out)


def test_a_d_tensor_may_be_the_result_and_not_overlap_it(host_library: Library) -> None:
    instance = generic(host_library, BWD_DATA, function="Bilinear")
    shapes = {t: PROBLEM.shape(t, instance.layout) for t in ("in", "wei", "out")}  # type: ignore[arg-type]
    count = int(np.prod(shapes["in"]))
    memory = np.ones(count + 16, np.float32)
    target, beside = (memory[at : at + count].reshape(shapes["in"]) for at in (0, 8))
    rest = (np.ones(shapes["wei"], np.float32), np.ones(shapes["out"], np.float32))
    host_library.run(instance.name, PROBLEM, target, *rest, ds=[target])
    with pytest.raises(UnsupportedProblem, match=r"\[overlap\].*the D tensor"):
        host_library.run(instance.name, PROBLEM, target, *rest, ds=[beside])


@pytest.mark.parametrize("count", [0, 2, 5, 2000])
def test_a_launcher_takes_the_d_tensors_of_the_function(host_library: Library, count: int) -> None:
    fused, plain = generic(host_library, BWD_DATA, function="Bilinear"), generic(host_library, BWD_WEIGHT)
    with pytest.raises(LibraryError, match=f"takes 1 D tensors, these are {count}"):
        host_library.launcher(fused.name, PROBLEM, (16, 16, 16), ds=[16] * count)
    if count:
        with pytest.raises(LibraryError, match=f"takes 0 D tensors, these are {count}"):
            host_library.launcher(plain.name, PROBLEM, (16, 16, 16), ds=[16] * count)


class Broken:
    """A tensor whose memory cannot be allocated."""

    def __init__(self, device: Any, capsule: Any) -> None:
        self._device, self._capsule = device, capsule

    def __dlpack_device__(self) -> Any:
        return self._device

    def __dlpack__(self, **_: Any) -> Any:
        if isinstance(self._capsule, Exception):
            raise self._capsule
        return self._capsule


def tensors() -> list[Any]:
    """In, wei and out of the problem, f32 and channels last."""
    layout = CHANNELS_LAST[BWD_WEIGHT]
    return [np.ones(PROBLEM.shape(tensor, layout), np.float32) for tensor in TENSORS]


@pytest.mark.parametrize(
    "call",
    [
        lambda library, name: library.instance(None),
        lambda library, name: library.unsupported_reason(name, None),
        lambda library, name: library.workspace_size(5, PROBLEM),
        lambda library, name: library.split_k(name, PROBLEM, "1"),
        lambda library, name: library.split_k(name, PROBLEM, 1.5),
        lambda library, name: library.split_k(name, PROBLEM, None),
        lambda library, name: library.split_k(name, PROBLEM, True),
        lambda library, name: library.select(None),
        lambda library, name: library.select(PROBLEM, 5),
        lambda library, name: library.select(PROBLEM, layout="x"),
        lambda library, name: library.select(PROBLEM, layout=7),
        lambda library, name: library.select(PROBLEM, layout="NWGC/GKXC/NWGK"),
        lambda library, name: library.select(PROBLEM, arch=5),
        lambda library, name: library.candidates(PROBLEM, most=-1),
        lambda library, name: library.candidates(PROBLEM, most=0),
        lambda library, name: library.candidates(PROBLEM, most="2"),
        lambda library, name: library.run(name, None, None, None, None),
        lambda library, name: library.run(name, PROBLEM, None, None, None),
        lambda library, name: library.run(name, PROBLEM, *[Broken((1, 0), ValueError("no"))] * 3),
        lambda library, name: library.run(name, PROBLEM, *[Broken((1, 0), object())] * 3),
        lambda library, name: library.run(name, PROBLEM, *[Broken(None, object())] * 3),
        lambda library, name: library.reference("f32", "x", PROBLEM, None, None, None),
        lambda library, name: library.reference("zz", "NHWGC/GKYXC/NHWGK", PROBLEM, *tensors()),
        lambda library, name: library.reference(None, "NHWGC/GKYXC/NHWGK", PROBLEM, *tensors()),
        lambda library, name: library.reference("f32", "NHWGC/GKYXC/NHWGK", PROBLEM, *tensors(), operation="zz"),
        lambda library, name: library.select(PROBLEM, layout=""),
        lambda library, name: library.select(PROBLEM, layout=[]),
        lambda library, name: library.run(name, PROBLEM, *tensors(), scalars=5),
        lambda library, name: library.run(name, PROBLEM, *tensors(), ds=None),
        lambda library, name: library.run(name, PROBLEM, *tensors(), stream="x"),
        lambda library, name: library.run(name, PROBLEM, *tensors(), stream=-1),
        lambda library, name: library.run(
            name,
            PROBLEM,
            *tensors(),
            split_k=2,
            workspace=np.empty(library.workspace_size(name, PROBLEM, split_k=2), "O"),
        ),
        lambda library, name: library.run(name, PROBLEM, *[np.empty(4, "V0")] * 3),
        lambda library, name: library.workspace_size(name, PROBLEM, tensors=None),
        lambda library, name: library.workspace_size(name, PROBLEM, tensors=tensors()[:2]),
        lambda library, name: library.workspace_size(name, PROBLEM, tensors=[np.zeros(3, np.float32)] * 3),
        lambda library, name: library.workspace_size(name, PROBLEM, tensors=[a.astype("f8") for a in tensors()]),
        lambda library, name: library.launcher(name, PROBLEM, 16),
        lambda library, name: library.launcher(name, PROBLEM, (16, 16)),
        lambda library, name: library.launcher(name, PROBLEM, (16, 16, None)),
        lambda library, name: library.launcher(name, PROBLEM, ("a", "b", "c")),
        lambda library, name: library.launcher(name, PROBLEM, (16, 16, 2**64)),
        lambda library, name: library.launcher(name, PROBLEM, (16, 16, -16)),
        lambda library, name: library.launcher(name, PROBLEM, (16, 16, True)),
        lambda library, name: library.launcher(name, PROBLEM, (16, 16, 16), workspace="x"),
        lambda library, name: library.launcher(name, PROBLEM, (16, 16, 16), stream="x"),
        lambda library, name: library.launcher(name, PROBLEM, (16, 16, 16), ds=None),
        lambda library, name: library.prepare(name, None),
        lambda library, name: library.prepare(name, PROBLEM),
        lambda library, name: library.check(name, PROBLEM),
        lambda library, name: library.configure_host(seed="x"),
        lambda library, name: library.configure_host(seed=-1),
        lambda library, name: library.configure_host(seed=2**64),
        lambda library, name: library.configure_host(threads=1.5),
        lambda library, name: Library(None),
        lambda library, name: Library(5),
        lambda library, name: Library("a\0b"),
        lambda library, name: library.reference("f32", "NHWGC/GKYXC/NHWGK", None, None, None, None),
    ],
)
def test_wrong_arguments_are_refused_in_words(host_library: Library, call: Callable[[Library, str], object]) -> None:
    name = generic(host_library, BWD_WEIGHT).name
    with pytest.raises(LibraryError):
        call(host_library, name)


@pytest.mark.parametrize("value", ["x", None, [1], 1e300, 10**400])
def test_scalars_are_numbers_that_f32_holds(host_library: Library, value: Any) -> None:
    name = generic(host_library, BWD_DATA, function="Bilinear").name
    with pytest.raises(LibraryError, match="scalar alpha is .*"):
        host_library.run(name, PROBLEM, *tensors(), ds=tensors()[:1], scalars={"alpha": value})


def test_more_candidates_than_there_are_can_be_asked_for(host_library: Library) -> None:
    assert host_library.candidates(PROBLEM, most=2**62) == host_library.candidates(PROBLEM)


def test_an_architecture_without_a_name_is_unknown(host_library: Library) -> None:
    with pytest.raises(CkgenError, match="there is no architecture ``"):
        host_library.select(PROBLEM, arch="")


def test_a_reference_does_not_overwrite_what_it_reads(host_library: Library) -> None:
    in_, wei, out = tensors()
    with pytest.raises(LibraryError, match="overlap"):
        host_library.reference(
            "f32", CHANNELS_LAST[BWD_WEIGHT], PROBLEM, in_, in_.ravel()[: wei.size].reshape(wei.shape), out
        )


@pytest.mark.parametrize("part", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_library_that_is_cut_off_is_refused(host_library: Library, part: float, tmp_path: Path) -> None:
    """The loader would be killed by a signal, so it runs in a separate process."""
    whole = Path(os.path.realpath(host_library.path)).read_bytes()
    assert missing_bytes(host_library.path) == 0
    path = tmp_path / "libckgen_conv.so"
    path.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(LibraryError, match="bytes are missing at its end"):
        Library(path)


def test_strides_of_dimensions_of_length_one_do_not_matter(host_library: Library) -> None:
    """PyTorch sets these strides arbitrarily: an image of one position is channels-last with strides of 1."""
    problem = make_problem(groups=2, batch=3, k=8, c=8, filter=(3, 3), input=(1, 1), pad=1)
    names = [
        one.name
        for one in host_library.instances
        if one.layout == CHANNELS_LAST[one.operation] and one.function in ("", "PassThrough")
    ]
    takers = host_library.supporting(problem, names)
    assert len(takers) > 10
    for name in takers:
        for stride in (0, 1, 1000):
            described = CProblem.make(problem, host_library.instance(name).layout, 1)
            described.set_strides("in", (problem.c, 2 * problem.c, 1, stride, stride))
            described.set_strides("out", (problem.k, 2 * problem.k, 1, stride, stride))
            assert host_library.check(name, described) is None

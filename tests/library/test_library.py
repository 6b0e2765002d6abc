"""ckgen.library.library against the stand-in library: lists, refusals, runs, and errors on misuse."""

from __future__ import annotations

import ctypes
import ctypes.util
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ckgen.conv.dtypes import Array, element_of
from ckgen.conv.encoding import decode, encode
from ckgen.conv.layout import TensorName, to_logical, to_physical
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.errors import CkgenError
from ckgen.library.c_api import CDTensor, CProblem
from ckgen.library.library import Library, LibraryError, UnsupportedProblem
from ckgen.operations.bwd_weight import backward_weight
from ckgen.verify.reference import tolerance
from tests.conftest import StubMaker
from tests.support.stub_library import compile_old, compile_stub

F32 = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f32_default_64x64x16_w0x4_xdl32_v1x1x1_s1_generic"
F16_POINTWISE = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f16_1x1s1p0_128x128x32_w0x4_xdl32_v8x8x8_s1"
PROBLEM = make_problem(groups=2, batch=2, k=3, c=4, filter=(3, 2), input=(6, 5), stride=(2, 1), pad=(1, 0))


def random_arrays(library: Library, name: str, problem: ConvProblem) -> dict[TensorName, Array]:
    """Random input and gradient and a NaN-like weight array in the layout's order."""
    instance, random = library.instance(name), np.random.default_rng(0)
    arrays: dict[TensorName, Array] = {}
    for tensor in ("in", "out"):
        values = random.uniform(-1, 1, problem.shape(tensor, instance.layout))
        arrays[tensor] = encode(values, element_of(instance.dtype, tensor))
    wei = element_of(instance.dtype, "wei")
    arrays["wei"] = encode(np.full(problem.shape("wei", instance.layout), np.nan), wei)
    return arrays


def assert_right(library: Library, name: str, problem: ConvProblem, arrays: dict[TensorName, Array]) -> None:
    instance = library.instance(name)
    values = {
        tensor: decode(array.transpose(to_logical(tensor, instance.layout)), element_of(instance.dtype, tensor))
        for tensor, array in arrays.items()
    }
    expected = backward_weight(problem, values["in"], values["out"])
    limit = tolerance(instance.dtype, problem.gemm[2], 1.0, expected)
    assert (np.abs(values["wei"] - expected) <= limit).all()


def run(library: Library, name: str, problem: ConvProblem, split_k: int = 1) -> dict[TensorName, Array]:
    arrays = random_arrays(library, name, problem)
    library.run(name, problem, arrays["in"], arrays["wei"], arrays["out"], split_k=split_k)
    return arrays


def test_a_file_of_the_current_folder_needs_no_folder_in_its_name(
    stub_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = compile_stub(stub_folder)
    monkeypatch.chdir(stub_folder)
    assert Library(path.name).names


def test_lists_instances_with_their_fields(stub: Library) -> None:
    assert stub.platform == "host"
    assert len(stub.names) == len(stub.instances) == 9
    assert [instance.name for instance in stub.instances] == list(stub.names)
    assert stub.instance(F16_POINTWISE).pointwise
    assert stub.instance(F32).layout == "NHWGC/GKYXC/NHWGK"
    assert stub.type_string(F32) == "Stub<64, 64>"


@pytest.mark.parametrize("split_k", [-1, 1, 2, 7])
def test_every_instance_computes_what_the_reference_does(stub: Library, split_k: int) -> None:
    shapes = {
        1: make_problem(batch=3, k=8, c=8, filter=(3,), input=(9,), pad=1),
        2: make_problem(groups=2, k=8, c=8, filter=(1, 1), input=(5, 4)),
        3: make_problem(groups=2, k=2, c=3, filter=(2, 1, 3), input=(4, 3, 5), dilation=(2, 1, 1)),
    }
    for instance in stub.instances:
        problem = shapes[instance.ndim]
        assert_right(stub, instance.name, problem, run(stub, instance.name, problem, split_k))


def test_reports_split_k_workspace_and_time(stub: Library) -> None:
    arrays = random_arrays(stub, F32, PROBLEM)
    result = stub.run(F32, PROBLEM, arrays["in"], arrays["wei"], arrays["out"], split_k=-1, time_kernel=True)
    assert (result.split_k, result.workspace_bytes, result.milliseconds) == (3, 3 * 4 * 2 * 3 * 4 * 6, 0.25)
    assert stub.split_k(F32, PROBLEM) == 3
    assert stub.split_k(F32, PROBLEM, 7) == 7
    assert stub.workspace_size(F32, PROBLEM) == 0
    assert stub.run(F32, PROBLEM, arrays["in"], arrays["wei"], arrays["out"]).milliseconds is None


def test_says_why_an_instance_refuses_a_problem(stub: Library) -> None:
    assert stub.unsupported_reason(F32, PROBLEM) is None
    assert "only 1x1 filters" in (stub.unsupported_reason(F16_POINTWISE, PROBLEM) or "")
    odd = make_problem(k=129, c=8, filter=(1, 1), input=(4, 4))
    assert stub.unsupported_reason(F16_POINTWISE, odd) == "a-vector: K 129 and C 8 must be multiples of 8"
    line = make_problem(k=1, c=1, filter=(1,), input=(4,))
    assert stub.unsupported_reason(F32, line) == "ndim: the instance is for 2D, the problem is 1D"
    assert "split-k: 0" in (stub.unsupported_reason(F32, PROBLEM, split_k=0) or "")
    assert stub.supporting(line) == tuple(name for name in stub.names if "conv1d" in name)
    assert stub.supporting(PROBLEM, [F32, F16_POINTWISE]) == (F32,)


def test_a_problem_that_is_not_taken_raises_with_the_reason(stub: Library) -> None:
    arrays = random_arrays(stub, F16_POINTWISE, PROBLEM)
    with pytest.raises(UnsupportedProblem) as raised:
        stub.run(F16_POINTWISE, PROBLEM, arrays["in"], arrays["wei"], arrays["out"])
    assert raised.value.instance == F16_POINTWISE
    assert raised.value.reason.startswith("conv-spec:")
    assert isinstance(raised.value, CkgenError)
    assert raised.value.exit_code == 2
    for ask in (stub.workspace_size, stub.split_k):
        with pytest.raises(UnsupportedProblem):
            ask(F16_POINTWISE, PROBLEM)


def test_lengths_that_contradict_each_other_reach_the_library_and_are_refused(stub: Library) -> None:
    described = stub.describe(F32, PROBLEM)
    assert stub.check(F32, described) is None
    described.out_lengths[3] += 1
    assert stub.check(F32, described) == "output-length: dimension 0 is 4"


def test_arrays_with_gaps_are_run_where_they_lie(stub: Library) -> None:
    arrays = random_arrays(stub, F32, PROBLEM)
    wide: dict[TensorName, Array] = {}
    for tensor, array in arrays.items():
        room: NDArray[np.float32] = np.full([2 * edge for edge in array.shape], np.nan, np.float32)
        wide[tensor] = room[tuple(slice(0, None, 2) for _ in array.shape)]
        wide[tensor][...] = array
    stub.run(F32, PROBLEM, wide["in"], wide["wei"], wide["out"])
    assert_right(stub, F32, PROBLEM, wide)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"in": lambda a: a.astype(np.float64)}, "in has type float64; f32 is stored as float32"),
        ({"out": lambda a: a[:1]}, r"out has shape \(1, 3, 4, 2, 3\)"),
        ({"wei": lambda a: a[..., ::-1]}, "strides"),
        ({"wei": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape)}, "wei is read-only"),
        ({"in": lambda a: a.ctypes.data}, "platform host takes numpy arrays, in is of type int"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(stub: Library, change: dict[TensorName, object], words: str) -> None:
    arrays = random_arrays(stub, F32, PROBLEM)
    for tensor, function in change.items():
        arrays[tensor] = function(arrays[tensor])  # type: ignore[operator]
    with pytest.raises(LibraryError, match=words):
        stub.run(F32, PROBLEM, arrays["in"], arrays["wei"], arrays["out"])


def test_a_workspace_of_ones_own_must_be_large_enough(stub: Library) -> None:
    arrays = random_arrays(stub, F32, PROBLEM)
    size = stub.workspace_size(F32, PROBLEM, split_k=2)
    for workspace in (np.empty(size - 1, np.uint8), np.empty(2 * size, np.uint8)[::2], 4096):
        with pytest.raises(LibraryError, match="workspace"):
            stub.run(F32, PROBLEM, arrays["in"], arrays["wei"], arrays["out"], split_k=2, workspace=workspace)
    own = np.empty(size, np.uint8)
    stub.run(F32, PROBLEM, arrays["in"], arrays["wei"], arrays["out"], split_k=2, workspace=own)
    assert_right(stub, F32, PROBLEM, arrays)


def test_the_librarys_own_reference(stub: Library) -> None:
    arrays = random_arrays(stub, F32, PROBLEM)
    layout = stub.instance(F32).layout
    stub.reference("f32", layout, PROBLEM, arrays["in"], arrays["wei"], arrays["out"])
    assert_right(stub, F32, PROBLEM, arrays)
    half = {tensor: array.astype(np.float16) for tensor, array in arrays.items()}
    with pytest.raises(LibraryError, match="knows f32 only, not f16"):
        stub.reference("f16", layout, PROBLEM, half["in"], half["wei"], half["out"])


def test_failures_while_running_carry_the_librarys_message(make_stub: StubMaker) -> None:
    with pytest.raises(LibraryError, match="barrier mismatch: wave 3") as raised:
        run(make_stub("RUN_FAILS"), F32, PROBLEM)
    assert raised.value.exit_code == 1
    with pytest.raises(LibraryError, match="threads -1 is negative"):
        make_stub().configure_host(threads=-1)


def test_device_platforms_take_addresses_as_they_are(make_stub: StubMaker) -> None:
    library = make_stub(platform="amd")
    arrays = random_arrays(library, F32, PROBLEM)
    addresses = [arrays[tensor].ctypes.data for tensor in ("in", "wei", "out")]
    assert library.run(F32, PROBLEM, *addresses, split_k=2).split_k == 1  # without a workspace
    assert_right(library, F32, PROBLEM, arrays)
    arrays["wei"][...] = np.nan
    scratch = np.empty(library.workspace_size(F32, PROBLEM, split_k=2), np.uint8)
    library.run(F32, PROBLEM, *addresses, split_k=2, workspace=scratch.ctypes.data)
    assert_right(library, F32, PROBLEM, arrays)
    with pytest.raises(LibraryError, match="workspace of a run on platform amd must be on the GPU"):
        library.run(F32, PROBLEM, *addresses, split_k=2, workspace=scratch)


def test_device_platforms_copy_numpy_arrays(make_stub: StubMaker) -> None:
    """Tensors with gaps and read-only tensors are copied too; a workspace is allocated with the copies."""
    library = make_stub(platform="nvidia")
    arrays = random_arrays(library, F32, PROBLEM)
    room = np.full([2 * edge for edge in arrays["wei"].shape], np.nan, np.float32)
    wei = room[tuple(slice(0, None, 2) for _ in room.shape)]
    arrays["in"].flags.writeable = False
    library.run(F32, PROBLEM, arrays["in"], wei, arrays["out"], split_k=2)
    assert_right(library, F32, PROBLEM, {**arrays, "wei": wei})


def test_a_fault_of_the_kernel_is_raised_by_whoever_waits(make_stub: StubMaker) -> None:
    library = make_stub("KERNEL_FAULT", platform="nvidia")
    arrays = random_arrays(library, F32, PROBLEM)
    addresses = [arrays[tensor].ctypes.data for tensor in ("in", "wei", "out")]
    library.run(F32, PROBLEM, *addresses)
    with pytest.raises(LibraryError, match="kernel: an illegal memory access") as raised:
        library.run(F32, PROBLEM, *addresses, synchronize=True)
    assert raised.value.exit_code == 1
    with pytest.raises(LibraryError, match="cudaMalloc: an illegal memory access"):
        library.run(F32, PROBLEM, arrays["in"], arrays["wei"], arrays["out"])


def test_unknown_names_get_the_nearest_known_one(stub: Library) -> None:
    with pytest.raises(LibraryError, match="holds no instance grouped_conv2d") as raised:
        stub.instance(F32.replace("_s1_", "_s2_"))
    assert F32 in raised.value.diagnostics[0].help


def test_files_that_are_no_library_are_refused(tmp_path: Path, stub_folder: Path) -> None:
    with pytest.raises(LibraryError, match="cannot load .*absent.so"):
        Library(tmp_path / "absent.so")
    with pytest.raises(LibraryError, match="path is empty"):
        Library("")
    (tmp_path / "text.so").write_text("not a library")
    with pytest.raises(LibraryError, match="cannot load"):
        Library(tmp_path / "text.so")
    with pytest.raises(LibraryError, match="is not a ckgen library: .*ckgen_abi_version"):
        Library(ctypes.util.find_library("m") or "libm.so.6")
    with pytest.raises(LibraryError, match="speaks ABI version 99, this ckgen speaks 8"):
        Library(compile_stub(stub_folder, "WRONG_ABI"))
    with pytest.raises(LibraryError, match="speaks ABI version 6, .*\n.*generate and build the library again"):
        Library(compile_old(stub_folder))
    with pytest.raises(LibraryError, match="holds no instance"):
        Library(compile_stub(stub_folder, "NO_INSTANCES"))
    with pytest.raises(LibraryError, match="made by another ckgen"):
        Library(compile_stub(stub_folder, "FOREIGN_NAMES"))


def test_a_split_k_that_does_not_fit_is_refused(stub: Library) -> None:
    with pytest.raises(LibraryError, match="does not fit into 32 bits"):
        stub.unsupported_reason(F32, PROBLEM, split_k=2**31)


def test_a_split_k_of_numpy_is_an_integer(stub: Library) -> None:
    assert stub.split_k(F32, PROBLEM, np.int32(7)) == 7  # type: ignore[arg-type]
    for wrong in (True, 2.0, "2"):
        with pytest.raises(LibraryError, match="give -1 or a factor"):
            stub.split_k(F32, PROBLEM, wrong)  # type: ignore[arg-type]


def test_the_structure_is_as_large_as_in_c(stub: Library) -> None:
    assert ctypes.sizeof(CProblem) == 2 * 4 + 6 * 6 * 8 + 4 * 3 * 8 + 2 * 4 + 2 * 8
    assert ctypes.sizeof(CDTensor) == 8 + 2 * 6 * 8
    made = CProblem.make(PROBLEM, "NHWGC/GKYXC/NHWGK", -1)
    assert list(made.wei_lengths) == [2, 3, 4, 3, 2, 0]
    assert list(made.in_strides)[:5] == list(PROBLEM.strides_of("in", "NHWGC/GKYXC/NHWGK"))
    assert list(made.left_pads) == [1, 0, 0]
    assert to_physical("in", "NHWGC/GKYXC/NHWGK") == (1, 3, 4, 0, 2)

"""Test the types in which operands are multiplied: conversions agree with ml_dtypes to the bit, and kernels with
float64, in both encodings of 8-bit floating point.
"""

from __future__ import annotations

import ctypes
import random
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from ckgen.conv.dtypes import DTYPES, ELEMENTS
from ckgen.conv.encoding import as_multiplied, decode, encode
from ckgen.conv.layout import CHANNELS_LAST, to_physical
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.hardware.archs import ARCHES
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from ckgen.paths import templates_dir
from ckgen.problems.sets import NamedProblem
from ckgen.verify.plan import Case
from ckgen.verify.run_tensors import make_data
from ckgen.verify.smoke import run_case
from tests.support.cxx import CHECKED, ROOT, link, shared_library, write_tree

Floats = npt.NDArray[np.float32]
SHIM = ROOT / "tests/data/compute_types/shim.cpp"
FORMATS = {
    "f8": (3, False, ml_dtypes.float8_e4m3fn),
    "f8_fnuz": (3, True, ml_dtypes.float8_e4m3fnuz),
    "bf8": (2, False, ml_dtypes.float8_e5m2),
    "bf8_fnuz": (2, True, ml_dtypes.float8_e5m2fnuz),
}
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
CODES = np.arange(256, dtype=np.uint8)


def as_type(values: npt.ArrayLike, kind: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(kind)


def interesting(name: str) -> Floats:
    """Every f16, every number of the type, the middle between neighbours, and the f32 next to these on both sides."""
    numbers = decode(CODES, ELEMENTS[name])
    numbers = np.sort(numbers[np.isfinite(numbers)])
    beyond = numbers[-1] + (numbers[-1] - numbers[-2]) * np.array([0.25, 0.5, 0.75, 1.0, 2.0, 1e30 / numbers[-1]])
    middles = (numbers[1:] + numbers[:-1]) / 2
    points = np.concatenate([numbers, middles, middles / 2, beyond, -beyond]).astype(np.float32)
    beside = [np.nextafter(points, np.float32(limit)) for limit in (-np.inf, np.inf)]
    rng = np.random.default_rng(1)
    wild = rng.integers(0, 1 << 32, 20000, dtype=np.uint32).view(np.float32)  # any pattern of f32, also NaN
    return np.concatenate([HALVES.astype(np.float32), points, *beside, wild])


def same_bits(found: npt.NDArray[np.uint8], wanted: Any) -> bool:
    """True if the codes are those of ml_dtypes; any NaN is as good as another of its sign or none."""
    nan = np.isnan(wanted.astype(np.float32))
    return bool(
        np.array_equal(found[~nan], wanted.view(np.uint8)[~nan])
        and np.isnan(found.view(wanted.dtype)[nan].astype(np.float32)).all()
    )


def saturated(values: Floats, name: str) -> Floats:
    numbers = decode(CODES, ELEMENTS[name])
    largest = numbers[np.isfinite(numbers)].max()
    return np.where(np.isfinite(values), np.clip(values, -largest, largest), values).astype(np.float32)


@pytest.mark.parametrize("name", FORMATS)
def test_python_encodes_and_decodes_as_ml_dtypes_does(name: str) -> None:
    kind = FORMATS[name][2]
    assert np.array_equal(decode(CODES, ELEMENTS[name]), CODES.view(kind).astype(np.float64), equal_nan=True)
    values = interesting(name)
    with np.errstate(invalid="ignore"):
        assert same_bits(encode(values, ELEMENTS[name]), as_type(values, kind))


@pytest.mark.parametrize("codes", ["ocp", "fnuz"])
def test_python_multiplies_what_ml_dtypes_rounds_to(codes: str) -> None:
    dtype = DTYPES["f16_comp_bf8_f8"]
    for operand, plain in (("a", "bf8"), ("b", "f8")):
        name = f"{plain}_fnuz" if codes == "fnuz" else plain
        with np.errstate(invalid="ignore"):
            found = as_multiplied(HALVES.astype(np.float64), dtype, operand, codes)
        wanted = as_type(saturated(HALVES.astype(np.float32), name), FORMATS[name][2]).astype(np.float64)
        assert np.array_equal(found, wanted, equal_nan=True)


def test_the_architectures_of_each_encoding_are_those_of_the_header() -> None:
    texts = {
        "compute_types.hpp": "#if defined(__gfx942__) || defined(__gfx90a__) || (defined(CKGEN_HOST_F8_FNUZ)",
        "library/device_arch.hpp": 'arch == "gfx90a" || arch == "gfx942" ? F8Codes::Fnuz',
    }
    for file, text in texts.items():
        assert text in (templates_dir() / "include/ckgen" / file).read_text(encoding="utf-8")
    assert {arch.name for arch in ARCHES.values() if arch.f8_codes == "fnuz"} == {"gfx90a", "gfx942"}


@pytest.fixture(scope="module", params=[0, 1], ids=["ocp", "fnuz"])
def shim(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("shim")
    flags = (*CHECKED, f"-DCKGEN_HOST_F8_FNUZ={request.param}")
    loaded = ctypes.CDLL(str(shared_library(folder / "shim.so", [SHIM], [templates_dir() / "include"], flags)))
    assert loaded.own_codes() == request.param
    return loaded


def filled(function: Any, values: Any, kind: Any, *first: int) -> Any:
    result = np.empty(values.size, kind)
    function(*first, *(ctypes.c_void_p(a.ctypes.data) for a in (values, result)), ctypes.c_int64(values.size))
    return result


@pytest.mark.compiles
@pytest.mark.parametrize("name", FORMATS)
def test_every_code_has_the_value_of_ml_dtypes(shim: ctypes.CDLL, name: str) -> None:
    fraction, fnuz, kind = FORMATS[name]
    found = filled(shim.numbers, CODES, np.float32, fraction, fnuz)
    wanted = CODES.view(kind).astype(np.float32)
    assert np.array_equal(found, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(found)[wanted == 0], np.signbit(wanted)[wanted == 0])


@pytest.mark.compiles
@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("name", FORMATS)
def test_every_value_has_the_code_of_ml_dtypes(shim: ctypes.CDLL, name: str, saturate: bool) -> None:
    fraction, fnuz, kind = FORMATS[name]
    values = interesting(name)
    found = filled(shim.codes, values, np.uint8, fraction, fnuz, saturate)
    assert same_bits(found, as_type(saturated(values, name) if saturate else values, kind))


@pytest.mark.compiles
def test_kernels_and_references_multiply_what_ml_dtypes_rounds_to(shim: ctypes.CDLL) -> None:
    own = shim.own_codes()
    for fnuz in (0, 1):
        found = np.empty((2, HALVES.size), np.float32)
        places = [ctypes.c_void_p(a.ctypes.data) for a in (HALVES, *found)]
        shim.referenced(fnuz, *places, ctypes.c_int64(HALVES.size))
        for row, plain in zip(found, ("f8", "bf8"), strict=True):
            name = f"{plain}_fnuz" if fnuz else plain
            wanted = as_type(saturated(HALVES.astype(np.float32), name), FORMATS[name][2]).astype(np.float32)
            assert np.array_equal(row, wanted, equal_nan=True)
        if fnuz == own:
            multiplied = np.empty_like(found)
            places = [ctypes.c_void_p(a.ctypes.data) for a in (HALVES, *multiplied)]
            shim.multiplied(*places, ctypes.c_int64(HALVES.size))
            assert np.array_equal(multiplied, found, equal_nan=True)


@pytest.mark.compiles
def test_tf32_has_ten_fraction_bits_and_ties_go_away_from_zero(shim: ctypes.CDLL) -> None:
    rng = np.random.default_rng(2)
    patterns = rng.integers(0, 1 << 32, 100_000, dtype=np.uint32)
    patterns[:50_000] = patterns[:50_000] & ~np.uint32(0x1FFF) | np.uint32(0x1000)  # ties
    patterns[:10] = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F7FFFFF, 1, 0x1000, 0x7F800001]
    values = patterns.view(np.float32)
    found = filled(shim.tf32, values, np.float32)
    assert np.array_equal(np.isnan(found), np.isnan(values))
    assert not (found.view(np.uint32) & 0x1FFF).any()
    fine = np.isfinite(values) & (np.abs(values) >= 2.0**-126) & (np.abs(values) < 2.0**127)
    exact = values[fine].astype(np.float64)
    unit = np.ldexp(1.0, np.frexp(exact)[1] - 11)
    assert np.array_equal(found[fine], np.sign(exact) * np.floor(np.abs(exact) / unit + 0.5) * unit)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(encode(values, ELEMENTS["tf32"]), found, equal_nan=True)
    assert np.isinf(found[[2, 3, 6]]).all() and found[7] == 0 and found[8] == np.float32(2.0**-136)


@pytest.mark.compiles
def test_int8_saturates_and_rounds_to_even(shim: ctypes.CDLL) -> None:
    floats = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.4, 127.5, 1e30, -128.5, -129, np.nan, np.inf], np.float32)
    expected = [0, 2, 2, 0, -2, 126, 127, 127, 127, -128, -128, 0, 127]
    assert filled(shim.int8_of_floats, floats, np.int8).tolist() == expected
    assert encode(floats, ELEMENTS["i8"]).tolist()[:-2] == expected[:-2]
    ints = np.array([0, 127, 128, -128, -129, 2**31 - 1, -(2**31), 1 << 24], np.int32)
    assert filled(shim.int8_of_ints, ints, np.int8).tolist() == [0, 127, 127, -128, -128, 127, -128, 127]


# Kernels.
TYPES = ("i8", "f32_comp_tf32", "f16_comp_bf8_f8")
LAYOUTS = {
    BWD_WEIGHT: tuple(CHANNELS_LAST.values()),
    BWD_DATA: ("NWGK/GKXC/NWGC", "NHWGK/GKYXC/NHWGC", "NDHWGK/GKZYXC/NDHWGC"),
}


def instances() -> list[Instance]:
    """Per type and operation the generic kernel, of another number of dimensions for each type, and two others."""
    made = []
    for ndim, dtype in enumerate(TYPES):
        k_per_block, wide = 64 // DTYPES[dtype].compute_bytes, 16 // DTYPES[dtype].elem_bytes
        narrow, rest = min(2, wide), (dtype, "Default", 64, 64, k_per_block)
        for operation, layouts in LAYOUTS.items():
            made += [
                Instance("xdl", layouts[ndim], *rest, 32, 0, 4, 1, 1, 1, 1, generic=True, operation=operation),
                Instance("xdl", layouts[2], *rest, 32, 0, 1, wide, wide, wide, 1, operation=operation),
                Instance("xdl", layouts[1], *rest, 16, 0, 1, narrow, narrow, narrow, 2, operation=operation),
            ]
    return made


ALL = instances()
ROUNDS = 8


def draw(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem whose channels fill the instance's vectors."""
    few = [rng.choice([1, 2, 3]) for _ in range(instance.ndim)]
    dilation = [rng.choice([1, 1, 2, 3]) for _ in few]
    pad = [rng.randint(0, (edge - 1) * step) for edge, step in zip(few, dilation, strict=True)]
    edges = zip(few, dilation, pad, strict=True)
    vector = max(instance.a_vector, instance.b_vector, instance.c_vector)
    return make_problem(
        groups=rng.choice([1, 2, 3]),
        batch=rng.randint(1, 3),
        k=vector * rng.choice([1, 2, 3, 5]),
        c=vector * rng.choice([1, 2, 3, 5]),
        filter=few,
        input=[max(rng.randint(1, 9), (edge - 1) * step + 1 - 2 * before) for edge, step, before in edges],
        stride=[rng.choice([1, 1, 2, 3]) for _ in few],
        dilation=dilation,
        pad=pad,
    )


@pytest.fixture(scope="module", params=[0, pytest.param(1, marks=pytest.mark.sweep)], ids=["ocp", "fnuz"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The kernels of every type, or in the other encoding those that it concerns."""
    folder: Path = tmp_path_factory.mktemp("types")
    chosen = [made for made in ALL if not request.param or DTYPES[made.dtype].compute("a").name == "bf8"]
    tree = write_tree(folder, chosen)
    return Library(link(folder, tree, [f"-DCKGEN_HOST_F8_FNUZ={request.param}"]))


@pytest.mark.compiles
def test_random_problems_are_right(library: Library) -> None:
    rng = random.Random(5)
    runs = 0
    for name in library.names:
        instance = library.instance(name)
        for turn in range(ROUNDS):
            problem = NamedProblem(f"random.{turn}", draw(instance, rng))
            split_k = rng.choice([1, 2, 3, -1])
            if library.unsupported_reason(name, problem.problem, split_k=split_k):
                split_k = 1  # backward data with several sub-GEMMs
            data = make_data(problem.problem, instance.dtype, turn, instance.operation, codes=library.f8_codes)
            row = run_case(library, Case(name, problem, split_k, True), data, seed=turn)
            assert row.ok, row
            runs += 1
    assert runs == ROUNDS * len(library.names)


@pytest.mark.compiles
def test_int8_sums_past_the_range_of_f32_are_exact(library: Library) -> None:
    """Partial sums of more than 2^24, which f32 does not hold, come back to a small number."""
    names = [name for name in library.names if library.instance(name).dtype == "i8" and "bwd_data" in name]
    problem = make_problem(k=4096, c=16, filter=(1, 1), input=(3, 2))
    out = np.full(problem.lengths("out"), 127, np.int8)
    wei = np.full(problem.lengths("wei"), 127, np.int8)
    wei[:, 2048:] = -127
    wei[:, 4095] = -126  # the sum is 127
    for name in names:
        instance = library.instance(name)
        if instance.ndim != 2:
            continue
        arrays = {"out": out, "wei": wei}
        given = {t: np.ascontiguousarray(a.transpose(to_physical(t, instance.layout))) for t, a in arrays.items()}  # type: ignore[arg-type]
        result = np.zeros(problem.shape("in", instance.layout), np.int8)
        library.run(name, problem, result, given["wei"], given["out"], split_k=1)
        assert (result == 127).all(), name
    assert names or library.f8_codes == "fnuz"

"""Test the selector in a library and in Python: both find the same candidates, and one of them always runs."""

from __future__ import annotations

import random
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ckgen
from ckgen.conv.layout import CHANNELS_LAST
from ckgen.conv.notation import problem_fields
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.errors import CkgenError
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CProblem, LibraryError, UnsupportedProblem
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA, OPERATIONS, Operation
from ckgen.problems.sets import load_problems
from ckgen.selection.candidates import Choice, chain
from ckgen.selection.measured import MeasuredProblem, Table, load_tables
from ckgen.selection.takes import takes
from ckgen.spec.expand import expand_document
from ckgen.text import source
from tests.conftest import StubMaker
from tests.support.strategies import problems as any_problems

ROOT = Path(__file__).resolve().parents[2]
RETINANET = [item.problem for item in load_problems("retinanet")]
DTYPES = ("f16", "bf16", "f32", "bf16_f32_bf16")
ARCHS = ("sm_90a", "sm_90", "sm_80", "gfx90a", "gfx1100", "host")
TABLES = load_tables()
MEASURED = [table for table in TABLES if not table.predicted]
SPEC = {instance.name: instance for instance in expand_document(source.load(ROOT / "instances.yaml")).instances}


@st.composite
def near_measured(draw: st.DrawFn) -> ConvProblem:
    """Measured problems with some sizes changed."""
    near = draw(st.sampled_from(RETINANET))
    edge = draw(st.sampled_from((near.input[0], near.input[0] * 3 // 2, 9)))
    channels = {"k": draw(st.sampled_from((near.k, near.k * 2, 24, 7))), "batch": draw(st.sampled_from((32, 8, 1)))}
    return replace(near, input=(edge, near.input[1]), **channels)


problems = st.one_of(near_measured(), any_problems(max_channels=400))


def moves_vectors(made: Instance) -> bool:
    """True for instances that the selector prefers to the generic one: not tiles of a matrix product of single elements
    that merge groups, or are rows of CK."""
    single = made.a_vector == made.b_vector == made.c_vector == 1
    return not made.generic and not (single and (made.groups_to_merge > 1 or made.given_copy))


def in_python(library: Library, problem: ConvProblem, dtype: str, layout: str, arch: str) -> list[Choice]:
    """Python's candidates among the library's instances, without those that the library refuses."""
    instances = [SPEC[name] for name in library.names]
    found = chain(problem, dtype, layout, arch, instances, TABLES)
    own = [one for one in found if library.unsupported_reason(one.name, problem, split_k=one.split_k) is None]
    return own


def assert_same(library: Library, problem: ConvProblem, dtype: str, layout: str, arch: str) -> None:
    expected = in_python(library, problem, dtype, layout, arch)
    if not expected:
        with pytest.raises(UnsupportedProblem):
            library.candidates(problem, dtype, layout=layout, arch=arch)
        return
    found = list(library.candidates(problem, dtype, layout=layout, arch=arch))
    assert [replace(one, microseconds=None) for one in found] == [replace(one, microseconds=None) for one in expected]
    assert [one.microseconds for one in found] == pytest.approx([one.microseconds for one in expected], abs=0.11)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cpp_and_python_agree_on_retinanet(host_library: Library, dtype: str, arch: str) -> None:
    for problem in RETINANET:
        assert_same(host_library, problem, dtype, CHANNELS_LAST[2], arch)


@pytest.mark.parametrize("c", [203, 232, 240, 256])
@pytest.mark.parametrize("dtype", ["f16", "f32_comp_tf32"])
def test_cpp_and_python_agree_where_a_weight_may_be_copied(host_library: Library, dtype: str, c: int) -> None:
    for k in (16, 128, 928):
        for filter_ in (1, 3):
            problem = make_problem(batch=32, k=k, c=c, filter=[filter_, filter_], input=[28, 28], pad=filter_ // 2)
            assert_same(host_library, problem, dtype, OPERATIONS[BWD_DATA].layouts[1], "sm_90a")


@settings(max_examples=100)
@given(
    problem=problems,
    dtype=st.sampled_from(DTYPES),
    arch=st.sampled_from((*ARCHS, "gfx942")),
    last=st.booleans(),
    operation=st.sampled_from(tuple(OPERATIONS.values())),
)
def test_cpp_and_python_agree(
    host_library: Library, problem: ConvProblem, dtype: str, arch: str, last: bool, operation: Operation
) -> None:
    layout = operation.layouts[problem.ndim - 1 + (0 if last else 3)]
    assert_same(host_library, problem, dtype, layout, arch)


@settings(max_examples=200)
@given(problem=problems)
def test_without_a_library_no_instance_is_left_out_that_it_would_run(
    host_library: Library, problem: ConvProblem
) -> None:
    for name in host_library.names:
        if SPEC[name].ndim == problem.ndim and host_library.unsupported_reason(name, problem) is None:
            assert takes(SPEC[name], problem), name


@settings(max_examples=100)
@given(problem=problems, dtype=st.sampled_from(DTYPES), arch=st.sampled_from(ARCHS))
def test_what_is_selected_is_supported(host_library: Library, problem: ConvProblem, dtype: str, arch: str) -> None:
    """The library has a generic instance for each problem, so there is always a candidate, and none that moves vectors
    comes after the generic one."""
    found = host_library.candidates(problem, dtype, arch=arch)
    for choice in found:
        assert host_library.unsupported_reason(choice.name, problem, split_k=choice.split_k) is None
    assert len({choice.name for choice in found}) == len(found)
    generic = next(choice for choice in found if host_library.instance(choice.name).generic)
    assert generic.source in ("generic", "measured")
    if generic.source == "generic":
        after = found[found.index(generic) + 1 :]
        assert not [choice.name for choice in after if moves_vectors(host_library.instance(choice.name))]
    assert host_library.select(problem, dtype, arch=arch) == found[0]


def test_most_cuts_the_list(host_library: Library) -> None:
    every = host_library.candidates(RETINANET[0], arch="sm_90a")
    assert len(every) > 3
    assert host_library.candidates(RETINANET[0], arch="sm_90a", most=2) == every[:2]


def problem_of(row: MeasuredProblem) -> ConvProblem:
    return ConvProblem(**problem_fields(row.problem))


@pytest.mark.parametrize("table", MEASURED, ids=lambda table: table.operation)
def test_a_measured_problem_gets_its_fastest_instance(host_library: Library, table: Table) -> None:
    """Only instances of the library are chosen; the tables contain others."""
    layers = {str(problem) for problem in RETINANET}
    asked = 0
    for row in table.rows:
        held = [c for c in row.candidates if c.name in host_library.names]
        if not held:
            continue
        asked += row.problem in layers
        choice = host_library.select(problem_of(row), row.dtype, layout=row.layout, arch="sm_90a")
        assert (choice.name, choice.split_k, choice.source) == (held[0].name, held[0].split_k, "measured")
    of_layers = [row for row in table.rows if row.problem in layers]
    assert asked >= 0.8 * len(of_layers) > 0, "set ci has something that was measured on nearly every layer"


def test_nothing_is_measured_on_the_host(host_library: Library) -> None:
    assert {choice.source for choice in host_library.candidates(RETINANET[0])} == {"rule", "generic"}


def test_alignment_of_addresses_counts(host_library: Library) -> None:
    problem = make_problem(batch=2, k=32, c=32, filter=(3, 3), input=(9, 9), pad=1)
    layout = CHANNELS_LAST[2]
    free = host_library.candidates(problem, "f16")
    name = free[0].name
    assert host_library.instance(name).a_vector > 1
    described = host_library.describe(name, problem)
    odd = host_library.candidates_for(described, "f16", layout, None, ((1 << 20) + 2, 2 << 20, 3 << 20))
    assert odd and all(host_library.instance(choice.name).b_vector == 1 for choice in odd)


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942", "host"])
def test_a_filter_that_is_larger_than_the_image_is_refused(host_library: Library, arch: str) -> None:
    """The C API accepts any lengths; these give an empty output, and sums of no term."""
    problem = make_problem(batch=2, k=32, c=32, filter=(3, 3), input=(9, 9))
    for operation in OPERATIONS.values():
        described = CProblem.make(problem, operation.home(2), 1)
        described.in_lengths[3] = described.in_lengths[4] = 2
        with pytest.raises(UnsupportedProblem):
            host_library.candidates_for(described, "f16", operation.home(2), arch, (0, 0, 0))


def test_a_dtype_that_no_instance_has_is_refused_in_words(host_library: Library) -> None:
    with pytest.raises(UnsupportedProblem, match="there is none for NGCHW/GKYXC/NGKHW bf16_f32_bf16 on host"):
        host_library.select(RETINANET[0], "bf16_f32_bf16", layout="NGKHW/GKYXC/NGCHW")
    with pytest.raises(LibraryError, match="(?s)there is no dtype `float16`.*did you mean `f16`"):
        host_library.select(RETINANET[0], "float16")
    with pytest.raises(CkgenError, match="(?s)no architecture `gfx90`.*did you mean .*`gfx90a`"):
        host_library.select(RETINANET[0], arch="gfx90")


@pytest.mark.parametrize("table", MEASURED, ids=lambda table: table.operation)
def test_ckgen_select_without_a_library_reads_the_table(table: Table) -> None:
    for row in random.Random(table.operation).sample(table.rows, 200):
        choice = ckgen.select(problem_of(row), row.dtype, layout=row.layout)
        best = row.candidates[0]
        assert choice == Choice(best.name, best.split_k, "measured", best.microseconds)


def test_ckgen_select_takes_a_library_or_its_path(host_library: Library) -> None:
    problem = RETINANET[5]
    expected = host_library.select(problem, "bf16", arch="sm_90a")
    for library in (host_library, host_library.path):
        assert ckgen.select(problem, "bf16", library=library, arch="sm_90a") == expected


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_architecture_without_measurements_goes_by_the_cost_model(host_library: Library, operation: str) -> None:
    (table,) = (table for table in TABLES if (table.arch, table.operation) == ("gfx942", operation))
    for row in table.rows:
        problem = next((p for p in RETINANET if str(p) == row.problem), None)
        held = [c for c in row.candidates if c.name in host_library.names]
        if problem is None or not held:
            continue
        choice = host_library.select(problem, row.dtype, layout=row.layout, arch="gfx942")
        assert (choice.name, choice.split_k, choice.source) == (held[0].name, held[0].split_k, "predicted")


def test_ckgen_select_says_when_there_is_nothing() -> None:
    with pytest.raises(CkgenError, match="no known instance for NWGC/GKXC/NWGK f16 on sm_90a takes G1 N1 K8 C8 3 on 9"):
        ckgen.select(make_problem(k=8, c=8, filter=(3,), input=(9,)))
    with pytest.raises(CkgenError, match="on gfx1100 takes"):
        ckgen.select(RETINANET[0], arch="gfx1100")
    with pytest.raises(CkgenError, match="there are tables for no architecture"):
        ckgen.select(RETINANET[0], tables=())
    with pytest.raises(CkgenError, match="there is no dtype `fp16`"):
        ckgen.select(RETINANET[0], "fp16")


def channels(groups: int, k: int, c: int) -> dict[str, int]:
    return {"groups": groups, "k": k // groups, "c": c // groups}


# Convolutions of other models than the measured one: stems, depthwise, squeeze and excite, dilated, large filters.
OTHERS = [
    make_problem(batch=32, **channels(1, 64, 3), filter=(7, 7), input=(224, 224), stride=2, pad=3),
    make_problem(batch=32, **channels(1, 96, 3), filter=(4, 4), input=(224, 224), stride=4),
    make_problem(batch=32, **channels(96, 96, 96), filter=(7, 7), input=(56, 56), pad=3),
    make_problem(batch=32, **channels(144, 144, 144), filter=(3, 3), input=(56, 56), stride=2, pad=1),
    make_problem(batch=32, **channels(672, 672, 672), filter=(5, 5), input=(14, 14), pad=2),
    make_problem(batch=32, **channels(1, 8, 32), filter=(1, 1), input=(1, 1)),
    make_problem(batch=32, **channels(1, 1000, 1280), filter=(1, 1), input=(1, 1)),
    make_problem(batch=8, **channels(1, 256, 2048), filter=(3, 3), input=(33, 33), pad=18, dilation=18),
    make_problem(batch=32, **channels(2, 58, 58), filter=(3, 3), input=(28, 28), pad=1),
    make_problem(batch=32, **channels(16, 528, 528), filter=(3, 3), input=(14, 14), pad=1),
    make_problem(batch=32, **channels(32, 256, 256), filter=(3, 3), input=(57, 55), stride=2, pad=1),
    make_problem(batch=32, **channels(1, 512, 512), filter=(3, 3), input=(14, 14), pad=1),
    make_problem(batch=2, **channels(1, 21, 255), filter=(1, 1), input=(65, 65)),
    make_problem(batch=32, **channels(1, 192, 192), filter=(1, 7), input=(17, 17), pad=(0, 3)),
    make_problem(batch=32, **channels(1, 1280, 320), filter=(1, 1), input=(7, 7)),
    make_problem(batch=2, k=64, c=3, filter=(3, 7, 7), input=(16, 112, 112), stride=(1, 2, 2), pad=(1, 3, 3)),
    make_problem(batch=4, k=512, c=1, filter=(10,), input=(16000,), stride=5),
]


@pytest.mark.parametrize("problem", OTHERS, ids=str)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_library_takes_what_is_predicted_without_one(
    host_library: Library, problem: ConvProblem, operation: str
) -> None:
    """Every instance that Python chooses is supported by the library, on every architecture."""
    held = [SPEC[name] for name in host_library.names]
    layout = OPERATIONS[operation].layouts[problem.ndim - 1]
    for dtype in sorted({made.dtype for made in held if made.generic and made.operation == operation}):
        for arch in ARCHS:
            choice = ckgen.select(problem, dtype, layout=layout, arch=arch, tables=(), instances=held)
            assert host_library.unsupported_reason(choice.name, problem, split_k=choice.split_k) is None
            others = host_library.candidates(problem, dtype, layout=layout, arch=arch)
            if host_library.instance(choice.name).generic:
                assert not [other.name for other in others if moves_vectors(host_library.instance(other.name))]


@pytest.mark.parametrize("arch", ["sm_90a", "gfx90a", "gfx1100"])
def test_every_convolution_gets_a_prediction_without_a_library(host_library: Library, arch: str) -> None:
    """Every problem gets a choice: by the model of time where the architecture has one, else by rule."""
    for problem in OTHERS:
        choice = ckgen.select(problem, arch=arch, instances=SPEC.values())
        assert choice.answer == "predicted" and (choice.microseconds is None) == (arch == "gfx1100")
        if choice.name in host_library.names:
            assert host_library.unsupported_reason(choice.name, problem, split_k=choice.split_k) is None


PROGRAM = """
#include <cstdio>

#include "ckgen/instance/grouped_convolution_backward_weight.hpp"
#include "ckgen/instance/selector.hpp"

using namespace ckgen::tensor_operation::device;
using Op = BwdWeightOperator<ckgen::layout::NHWGC_GKYXC_NHWGK, ckgen::dtype::f16>;

int main() {
    ckgen::conv::Problem p;
    p.ndim = 2;
    p.in.lengths = {1, 2, 64, 9, 9}, p.in.strides = {64, 5184, 1, 576, 64};
    p.wei.lengths = {1, 64, 64, 3, 3}, p.wei.strides = {36864, 576, 1, 192, 64};
    p.out.lengths = {1, 2, 64, 9, 9}, p.out.strides = {64, 5184, 1, 576, 64};
    p.strides = {1, 1}, p.dilations = {1, 1}, p.left_pads = {1, 1}, p.right_pads = {1, 1};
    const auto best = instance::SelectInstance<ckgen::layout::NHWGC_GKYXC_NHWGK, ckgen::dtype::f16>(p);
    for(const auto& op : instance::DeviceOperationInstanceFactory<Op>::GetInstances())
        if(op->GetIdentity() == best.identity)
            std::printf("%s %d\\n", best.identity.c_str(), static_cast<int>(best.split_k));
    p.in.lengths[2] = 0;
    try {
        instance::SelectInstance<ckgen::layout::NHWGC_GKYXC_NHWGK, ckgen::dtype::f16>(p);
    } catch(const std::invalid_argument& error) {
        std::puts(error.what());
    }
}
"""


def test_cpp_users_select_an_operator_of_the_factory(host_library: Library, tmp_path: Path) -> None:
    built = Path(host_library.path).parent
    (tmp_path / "main.cpp").write_text(PROGRAM)
    includes = [f"-I{built.parent / 'tree' / 'include'}", f"-I{built / 'include'}"]
    command = ["g++", "-std=c++17", *includes, "main.cpp", host_library.path, f"-Wl,-rpath,{built}", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True)
    problem = make_problem(batch=2, k=64, c=64, filter=(3, 3), input=(9, 9), pad=1)
    best = host_library.select(problem, "f16")
    assert done.stdout.splitlines()[0] == f"{best.name} {best.split_k}"
    assert done.stdout.splitlines()[1].startswith("[lengths] ")


def test_the_stand_in_library_selects_too(make_stub: StubMaker) -> None:
    library = make_stub()
    choice = library.select(make_problem(k=8, c=8, filter=(1, 1), input=(9, 9)))
    assert choice.source == "rule" and isinstance(library.instance(choice.name), Instance)
    assert library.select(make_problem(k=7, c=8, filter=(1, 1), input=(9, 9))).source == "generic"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"problem": 5}, "problem is 5 of type int"),
        ({"arch": 90}, "arch is 90 of type int"),
        ({"dtype": np.float16}, "dtype is <class 'numpy.float16'>"),
        ({"layout": ("N", "C")}, "layout is \\('N', 'C'\\) of type tuple"),
    ],
)
def test_values_of_a_wrong_type_get_a_sentence(words: dict[str, object], sentence: str) -> None:
    given = {"problem": make_problem(batch=1, k=8, c=8, filter=[3, 3], input=[5, 5]), **words}
    with pytest.raises(CkgenError, match=sentence):
        ckgen.select(**given)  # type: ignore[arg-type]

"""Test that instances take tensors whose channels are slices of more, as the parts of a concatenation are: what lies
between their rows is neither used nor written. Positions of channels-first layouts have no gaps between them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.conv.layout import LAYOUTS
from ckgen.conv.problem import ConvProblem
from ckgen.library.c_api import UnsupportedProblem
from ckgen.library.library import Library
from tests.support.cxx import run_instance
from tests.support.strategies import problems


@settings(max_examples=60)
@given(
    problem=st.one_of(problems(max_channels=48, max_groups=1), problems(max_channels=48)),
    gap=st.sampled_from((1, 4, 8, 24, "32", "64")),
    data=st.data(),
)
def test_elements_between_rows_are_neither_used_nor_written(
    host_library: Library, problem: ConvProblem, gap: int | str, data: st.DataObject
) -> None:
    """``gap`` is a number of elements, or in quotes the length of the wider rows of out."""
    own = [i for i in host_library.instances if i.ndim == problem.ndim and LAYOUTS[i.layout].channels_last]
    taken = [i for i in own if host_library.unsupported_reason(i.name, problem) is None]
    for instance in data.draw(st.lists(st.sampled_from(taken), min_size=8, max_size=24, unique=True)):
        length = problem.shape("out", instance.layout)[-1]
        apart = int(gap) - length % int(gap) if isinstance(gap, str) else gap
        try:
            run_instance(host_library, instance.name, problem, gap=apart)
        except UnsupportedProblem as refused:
            assert not instance.generic, refused

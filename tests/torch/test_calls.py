"""Test arguments of ckgen.torch's functions other than tensors, and the view that PyTorch's tools have of the
functions.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckgen.library.c_api import LibraryError
from ckgen.library.library import Library
from tests.support.torch_cases import BY_PYTORCH, SHAPES, assert_close, expected, leaves, make, torch, uniform

import ckgen.torch as ct  # isort: skip

flop_counter: Any = pytest.importorskip("torch.utils.flop_counter")


@pytest.mark.parametrize("number", [np.int64, torch.tensor], ids=["numpy", "tensor"])
def test_settings_in_other_integers(torch_library: Library, number: Any) -> None:
    """Pass a single value, and one per dimension."""
    input, weight, gradient, settings = make(SHAPES[2])
    groups = {"groups": settings.pop("groups")}
    given = {name: tuple(map(number, edges)) for name, edges in settings.items()} | groups
    own, known = leaves(input, weight), expected(input, weight, gradient, settings | groups)
    ct.conv(*own, **given, library=torch_library, input_gradient=True).backward(gradient)
    assert_close(own[1].grad, known)
    size = tuple(map(number, weight.shape))
    assert_close(ct.conv_backward_weight(gradient, input, size, **given, library=torch_library), known)
    (one,) = leaves(weight)
    out = ct.conv(input, one, stride=number(2), **groups, library=torch_library)
    out.sum().backward()
    assert_close(one.grad, expected(input, weight, torch.ones_like(out), {"stride": 2, **groups}))


@pytest.mark.parametrize("wrong", [{"padding": "same"}, {"stride": 1.0}, {"dilation": (1, 1.5)}], ids=str)
def test_settings_that_are_no_integers(torch_library: Library, wrong: dict[str, Any]) -> None:
    input, weight, gradient, _ = make(SHAPES[0])
    with pytest.raises(TypeError, match="integer"):
        ct.conv_backward_weight(gradient, input, weight.shape, **wrong, library=torch_library)


@pytest.mark.parametrize("entries", [0, 4])
def test_too_many_or_few_settings(torch_library: Library, entries: int) -> None:
    input, weight, _, _ = make(SHAPES[0])
    with pytest.raises(RuntimeError, match="expected stride to be a single integer value or a list of 2"):
        ct.conv(input, weight, stride=(1,) * entries, library=torch_library)


@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
@pytest.mark.parametrize("shape", [SHAPES[0], SHAPES[1], SHAPES[5]], ids=str)
def test_operations_are_counted_as_pytorchs(torch_library: Library, shape: tuple[Any, ...], both: bool) -> None:
    """FlopCounterMode counts functions and operators like PyTorch's."""
    input, weight, _, settings = make(shape)
    policy, ndim = (torch_library.path, both, False), weight.dim() - 2
    geometry = [[edges] * ndim if isinstance(edges, int) else [*edges] for edges in shape[5:]]
    counted = []
    for run in (
        functools.partial(BY_PYTORCH[ndim], **settings),
        functools.partial(ct.conv, **settings, library=torch_library, input_gradient=both),
        lambda *pair: torch.ops.ckgen.conv(*pair, None, *geometry, shape[2], *policy),
    ):
        with flop_counter.FlopCounterMode(display=False) as counter:
            run(*leaves(input, weight)).sum().backward()
        counted.append(counter.get_total_flops())
    assert counted[0] and counted == [counted[0]] * 3


def test_a_relative_path_is_of_the_directory_where_it_was_given(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path stays valid if the working directory changes before the backward pass to one where it names another
    file."""
    path, tensors = Path(torch_library.path).resolve(), leaves(uniform(2, 3, 5, 5), uniform(4, 3, 3, 3))
    monkeypatch.chdir(path.parent)
    given = (path.name, Path(path.name), f"./{path.name}", f"../{path.parent.name}/{path.name}")
    outs = [ct.conv(*tensors, library=name) for name in given]
    (tmp_path / path.name).write_text("no library")
    monkeypatch.chdir(tmp_path)
    for out in outs:
        (slope,) = torch.autograd.grad(out.sum(), tensors[1])
        assert_close(slope, expected(*tensors, torch.ones_like(out), {}))
    with pytest.raises(LibraryError, match="cannot load"):
        ct.conv(*tensors, library=path.name).sum().backward()

"""Tests that tensors in PyTorch's default memory format are read and written in place where the library has a tuned
instance for them, and through copies elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from ckgen.library.library import Library
from tests.support.torch_cases import DEVICE, NVIDIA, expected, make, torch

from ckgen.torch.engines import Engine  # isort: skip
from ckgen.torch.strides import contiguous, packed, same  # isort: skip

# Channels in and out, groups, filter, input, stride, padding, dilation.
SHAPES = [
    (16, 32, 1, (3, 3), (8, 8), 1, 1, 1),
    (16, 32, 2, (1, 1), (8, 10), 1, 0, 1),
    (16, 10, 2, (3, 2), (7, 9), (2, 1), 1, 1),
]


def called(library: Library, tensors: tuple[Any, Any, Any], settings: dict[str, Any]) -> tuple[Any, Any, list[str]]:
    """Both gradients and the names of the instances that computed them."""
    engine, names = Engine(library), []
    prepare = library.prepare

    def noted(name: str, *rest: Any) -> Any:
        names.append(name)
        return prepare(name, *rest)

    spread = [(value,) * 2 if isinstance(value, int) else value for value in list(settings.values())[:3]]
    geometry = (*spread, settings["groups"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "prepare", noted)
        data, weight = engine.gradients(*tensors, geometry, (True, True), False)
    return data, weight, names


@pytest.mark.skipif(bool(NVIDIA), reason="on NVIDIA only the generic instances have these layouts")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_contiguous_tensors_are_not_copied(torch_library: Library, shape: tuple[Any, ...]) -> None:
    input, weight, gradient, settings = make(shape, torch.float16)
    tensors = gradient.contiguous(), input.contiguous(), weight.contiguous()
    data, step, names = called(torch_library, tensors, settings)
    own = [torch_library.instance(name) for name in names[-2:]]
    assert [i.layout for i in own] == ["NGKHW/GKCYX/NGCHW", "NGCHW/GKCYX/NGKHW"]
    assert not any(i.generic for i in own)
    for found, of_input in ((data, True), (step, False)):
        known = expected(input, weight, gradient, settings, of_input=of_input)
        assert torch.allclose(found.double().cpu(), known, rtol=2e-3, atol=2e-2)
        assert same(found.shape, found.stride(), contiguous(found.shape))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_where_only_the_generic_instance_takes_them_they_are_copied(
    torch_library: Library, shape: tuple[Any, ...]
) -> None:
    """Set `ci` has no tuned instance of these layouts for bf16 in two dimensions."""
    input, weight, gradient, settings = make(shape, torch.bfloat16)
    tensors = gradient.contiguous(), input.contiguous(), weight.contiguous()
    data, step, names = called(torch_library, tensors, settings)
    assert all(torch_library.instance(name).layout.startswith("NHWG") for name in names[-2:])
    for found, of_input in ((data, True), (step, False)):
        known = expected(input, weight, gradient, settings, of_input=of_input)
        assert torch.allclose(found.double().cpu(), known, rtol=2e-2, atol=1e-1)
        assert same(found.shape, found.stride(), contiguous(found.shape))


def test_the_strides_of_the_two_formats() -> None:
    like = torch.empty(2, 3, 4, 5, device=DEVICE)
    assert contiguous(like.shape) == like.stride()
    assert packed(like.shape) == like.contiguous(memory_format=torch.channels_last).stride()
    assert same((2, 1, 4, 1), (4, 99, 1, 7), (4, 1, 1, 1)) and not same((2, 2), (2, 1), (1, 2))

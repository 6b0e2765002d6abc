"""Test the forms in which ckgen.torch.enable asks for a gradient: channels last, PyTorch's default memory format with
and without copies, and float32 that may be rounded to tf32."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import pytest

from ckgen.library.c_api import LibraryError
from ckgen.library.library import Library
from ckgen.selection.candidates import Choice
from tests.support.torch_cases import DEVICE, NVIDIA, expected, make, torch

from ckgen.torch.candidates import Gradient, words  # isort: skip
from ckgen.torch.native import binding  # isort: skip
from ckgen.torch.plan import GRADIENTS, Described, forms_of, needs_of  # isort: skip
from ckgen.torch.request import Request, Seen  # isort: skip
from ckgen.torch.tuned import poison  # isort: skip

pytestmark = pytest.mark.compiles
# Channels in and out, groups, filter, input, stride, padding, dilation.
SHAPES = [
    (16, 32, 1, (3, 3), (8, 8), 1, 1, 1),
    (32, 32, 2, (3, 2), (13, 9), (2, 1), 1, 1),
    (3, 16, 1, (3, 3), (9, 7), 1, 1, 1),
    (3, 8, 1, (2, 4), (9, 12), (3, 4), (1, 0), 1),
]


@pytest.fixture(autouse=True, scope="module")
def execute() -> None:
    """Load the operator that executes plans."""
    binding()


def request(tensors: tuple[Any, Any, Any], settings: dict[str, Any], at: int, tf32: bool = False) -> Request:
    spread = [(value,) * 2 if isinstance(value, int) else value for value in list(settings.values())[:3]]
    seen = [Seen(tuple(t.shape), tuple(t.stride()), t.data_ptr() & 15, t.dtype, t.device) for t in tensors]
    geometry = (spread[0], spread[1], spread[2], settings["groups"])
    return Request(seen[0], seen[1], seen[2], geometry, (at == 0, at == 1), False, None, tf32)


@pytest.mark.parametrize("at", [0, 1], ids=GRADIENTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_candidate_of_contiguous_tensors_is_right(
    torch_library: Library, shape: tuple[Any, ...], dtype: Any, at: int
) -> None:
    input, weight, gradient, settings = make(shape, dtype)
    tensors = gradient.contiguous(), input.contiguous(), weight.contiguous()
    known = expected(input, weight, gradient, settings, of_input=at == 0)
    layouts = set()
    for one in Gradient(torch_library, request(tensors, settings, at)).candidates(6, False):
        layouts.add(torch_library.instance(one.name).layout)
        poison(tensors[1 + at])
        found = torch.ops.ckgen.execute(*tensors, words(one.plan))[at]
        assert found.is_contiguous()
        assert torch.allclose(found.double().cpu(), known, rtol=2e-3, atol=2e-2), one.name
    assert NVIDIA or dtype is torch.float32 or len(layouts) == 2


def test_candidates_that_are_probably_far_slower_are_not_tried(
    torch_library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    input, weight, gradient, settings = make(SHAPES[0])
    found: list[str] = []
    choices_of = Described.choices

    def choices(form: Described, most: int) -> tuple[Choice, ...]:
        times = 10.0, 101.0, 99.0, None
        chosen = tuple(replace(one, microseconds=us) for one, us in zip(choices_of(form, most), times, strict=False))
        found.extend(one.name for one in chosen if one.microseconds != 101.0)
        return chosen

    monkeypatch.setattr(Described, "choices", choices)
    asked = Gradient(torch_library, request((gradient, input, weight), settings, 1))
    assert [one.name for one in asked.candidates(4, False)] == found and len(found) > 1


def test_a_run_that_the_binding_gets_is_released_by_it(torch_library: Library) -> None:
    input, weight, gradient, settings = make(SHAPES[0])
    tensors = gradient, input, weight
    known = expected(input, weight, gradient, settings, of_input=True)
    one = next(Gradient(torch_library, request(tensors, settings, 0)).candidates(1, False))
    released: list[int] = []
    note = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(released.append)
    given = words(one.plan, give=True)
    release, run = given[-4:-2]  # before the bytes of workspace and the weight's gradient
    given[-4] = ctypes.cast(note, ctypes.c_void_p).value or 0
    for times in (1, 2):
        found = torch.ops.ckgen.execute(*tensors, given)[0]
        assert torch.allclose(found.double().cpu(), known, rtol=1e-5, atol=1e-4)
        assert released == [run] * times, "when the binding drops what it read"
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(release)(run)
    with pytest.raises(LibraryError, match="prepared"):
        one.plan.data.start(0, 0, 0, 0, 0)


@pytest.mark.parametrize(("shape", "copies"), [(SHAPES[0], 0), (SHAPES[1], 0), (SHAPES[2], 1)], ids=str)
def test_the_library_changes_the_memory_format_of_many_channels(
    torch_library: Library, shape: tuple[Any, ...], copies: int
) -> None:
    """PyTorch's copy is slower but for few channels: of a weight, which is copied back. The first candidates read
    channels last."""
    input, weight, gradient, settings = make(shape, torch.float16)
    tensors = gradient.contiguous(), input.contiguous(), weight.contiguous()
    first = next(Gradient(torch_library, request(tensors, settings, 1)).candidates(1, False))
    with torch.profiler.profile() as seen:
        torch.ops.ckgen.execute(*tensors, words(first.plan))
    assert sum(event.count for event in seen.key_averages() if event.key == "aten::copy_") == copies


@pytest.mark.parametrize("at", [0, 1], ids=GRADIENTS)
@pytest.mark.parametrize("gap", [0, 2, 3])
def test_positions_that_no_two_taps_share_become_channels(torch_library: Library, gap: int, at: int) -> None:
    """A 4x4 filter with stride 4 and 3 channels becomes a 4x1 filter with 12, unless a view's rows have gaps."""
    input, weight, gradient, settings = make((3, 8, 1, (4, 4), (8, 12), 4, 0, 1))
    view = torch.zeros(2, 3 + (gap == 3), 8, 12 + (gap == 2)).to(DEVICE, memory_format=torch.channels_last)
    view = view[:, :3, :, :12].copy_(input)
    asked = request((gradient, view, weight), settings, at)
    one = next(Gradient(torch_library, asked).candidates(1, False))
    needs = {tuple(need.problem.filter) for need in needs_of(asked, GRADIENTS[at])}
    assert needs == {(4, 1) if at == 0 or gap < 3 else (4, 4)}
    poison((view, weight)[at])
    found = torch.ops.ckgen.execute(gradient, view, weight, words(one.plan))[at]
    known = expected(input, weight, gradient, settings, of_input=at == 0)
    assert torch.allclose(found.double().cpu(), known, rtol=1e-5, atol=1e-4), one.name


def test_tf32_is_a_form_where_it_is_allowed() -> None:
    for dtype, names in ((torch.float32, ["f32", "f32_comp_tf32"]), (torch.bfloat16, ["bf16"])):
        tensors = tuple(torch.zeros(2, 16, 4, 4, dtype=dtype, device=DEVICE) for _ in range(3))
        settings = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
        for at, written in enumerate(GRADIENTS):
            for tf32 in (False, True):
                forms = forms_of(request(tensors, settings, at, tf32), written)
                assert [form.dtype for form in forms] == [name for name in names[: 1 + tf32] for _ in range(2)]
                assert len({form.layout for form in forms}) == 2

"""Test ckgen_transpose on random shapes: all tile edges, any alignment of rows, two sizes of elements."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ckgen.library.library import Library

LENGTHS = st.one_of(
    st.integers(1, 20), st.integers(56, 72), st.integers(88, 200), st.integers(20, 170).map(lambda n: 4 * n)
)


def aligned(count: int, kind: Any) -> Any:
    """An array whose first element is at a multiple of 16 bytes."""
    memory = np.zeros(count + 16, kind)
    first = -memory.ctypes.data % 16 // memory.itemsize
    return memory[first : first + count]


def transpose(library: Library, source: Any, target: Any, shape: tuple[int, int, int], size: int) -> int:
    pointers = [None if one is None else ctypes.c_void_p(one.ctypes.data) for one in (source, target)]
    return int(library._api.ckgen_transpose(*pointers, *shape, size, None))


@settings(max_examples=60)
@given(images=st.integers(1, 3), rows=LENGTHS, columns=LENGTHS, kind=st.sampled_from((np.uint16, np.uint32)))
@example(images=2, rows=64, columns=49, kind=np.uint16)
@example(images=1, rows=65, columns=129, kind=np.uint32)
@example(images=1, rows=1001, columns=3, kind=np.uint16)
@example(images=1, rows=5, columns=5001, kind=np.uint16)
@example(images=401, rows=96, columns=97, kind=np.uint16)
def test_every_element_is_moved(quick_library: Library, images: int, rows: int, columns: int, kind: Any) -> None:
    generator = np.random.default_rng(rows * columns)
    source, target = (aligned(images * rows * columns, kind) for _ in range(2))
    source[:] = generator.integers(1, 1 << 16, source.size)
    status = transpose(quick_library, source, target, (images, rows, columns), source.itemsize)
    assert status == 0, quick_library._api.ckgen_last_error()
    expected = source.reshape(images, rows, columns).transpose(0, 2, 1)
    assert (target.reshape(images, columns, rows) == expected).all()


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("null-pointer", {"source": None}),
        ("alignment", {"offset": 1}),
        ("element_bytes", {"size": 1}),
        ("lengths", {"shape": (0, 4, 4)}),
        ("lengths", {"shape": (1 << 40, 1 << 40, 1 << 40)}),
    ],
)
def test_wrong_arguments_are_refused(quick_library: Library, rule: str, change: dict[str, Any]) -> None:
    source, target = aligned(64, np.uint16), aligned(64, np.uint16)
    given = {"source": source, "offset": 0, "size": 2, "shape": (1, 4, 4)} | change
    found = transpose(quick_library, given["source"], target[given["offset"] :], given["shape"], given["size"])
    assert found == 2 and quick_library._api.ckgen_last_error().decode().startswith(f"[{rule}] ")
    assert not target.any()


@pytest.mark.parametrize("shift", [0, 8, -8, 24, -24])
def test_images_that_overlap_are_refused(quick_library: Library, shift: int) -> None:
    """Images in place were written over before they were read. Images side by side are right."""
    memory = aligned(3 * 32, np.uint16)
    memory[:] = np.arange(memory.size)
    before, source, target = memory.copy(), memory[32:], memory[32 + shift :]
    assert transpose(quick_library, source, target, (1, 4, 8), 2) == 2
    assert quick_library._api.ckgen_last_error().decode().startswith("[overlap] ")
    np.testing.assert_array_equal(memory, before)
    for begin in (0, 64):
        assert transpose(quick_library, source, memory[begin:], (1, 4, 8), 2) == 0

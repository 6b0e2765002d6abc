"""Test ckgen.torch.enable where the sizes of images vary from step to step."""

from __future__ import annotations

import importlib
import subprocess
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckgen.library.library import Library
from tests.support.torch_cases import assert_close, torch, uniform

import ckgen.torch as ct  # isort: skip
from ckgen.torch import process  # isort: skip
from ckgen.torch.enabled import _planners as enabled_planners  # isort: skip

pytestmark = pytest.mark.compiles
extension: Any = importlib.import_module("torch.utils.cpp_extension")
AT_ONCE = 16  # kAtOnce of ckgen/torch/problems.hpp
LATE = """
#include "problems.hpp"
#include <cstdio>
int main() {
    using namespace std::chrono_literals;
    ckgen_torch::Problems problems;
    const auto start = ckgen_torch::Problems::Clock::now();
    const auto admit = [&](int64_t size, std::chrono::milliseconds at) {
        return static_cast<int>(problems.admit({7, size}, 1, start + at));
    };
    int early = 1;
    for(int64_t size = 0; size < 16; ++size)
        early &= admit(size, 0ms);
    problems.count(1h);  // before any problem had to wait
    const int first = admit(16, 0ms), again = admit(16, 1ms);
    problems.count(100ms);
    const int fresh = admit(17, 5000ms), soon = admit(16, 1999ms), late = admit(17, 2000ms);
    problems.count(1ms);
    std::printf("%d %d %d %d %d %d %d\\n", early, first, again, fresh, soon, late, admit(16, 2019ms));
}
"""


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    yield
    ct.disable()


@pytest.fixture
def library_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "fastest", lambda pytorch, calls, device: (10.0, 0, 5.0))


class Layer:
    """A convolution, and how often its problems were planned."""

    def __init__(self, enabled: ct.Enabled, channels: int = 2) -> None:
        self.weight, self.planner = uniform(channels, channels, 1, 1), enabled.planner

    def planned(self, edge: int) -> int:
        """The problems that are planned in a step with an image of this edge, whose gradient must be right."""
        before = self.planner.planned.total()
        input, weight = uniform(1, self.weight.shape[1], edge, 3), self.weight.clone().requires_grad_()
        torch.conv2d(input, weight).sum().backward()
        assert_close(weight.grad[0, :, 0, 0], input.sum((0, 2, 3)))
        return int(self.planner.planned.total() - before)


@pytest.mark.usefixtures("library_is_faster")
def test_problems_after_the_first_of_a_layer_wait_until_they_come_again(torch_library: Library, tmp_path: Path) -> None:
    with ct.enable(torch_library, cache=tmp_path) as enabled:
        layer = Layer(enabled)
        assert [layer.planned(edge) for edge in range(1, 21)] == [1] * AT_ONCE + [0] * 4
        assert [layer.planned(edge) for edge in (1, 18, 18, 25)] == [0, 1, 0, 0], "the 18th comes again"
        assert Layer(enabled, 3).planned(1) == 1, "another layer"


def test_late_plans_take_a_small_share_of_the_time(tmp_path: Path) -> None:
    """With a clock of its own."""
    source = tmp_path / "late.cpp"
    source.write_text(LATE)
    folders = [f"-I{folder}" for folder in (*extension.include_paths(), Path(ct.__file__).parent)]
    subprocess.run(["g++", "-std=c++20", *folders, source, "-o", tmp_path / "late"], check=True)
    done = subprocess.run([tmp_path / "late"], check=True, capture_output=True, text=True)
    assert done.stdout == "1 0 1 0 0 1 0\n"


@pytest.mark.parametrize("settings", [{"fallback": "error"}, {"tune": "off"}], ids=str)
@pytest.mark.usefixtures("library_is_faster")
def test_without_a_comparison_all_problems_are_planned_at_once(
    torch_library: Library, tmp_path: Path, settings: dict[str, Any]
) -> None:
    with ct.enable(torch_library, cache=tmp_path, **settings) as enabled:
        layer = Layer(enabled)
        assert [layer.planned(edge) for edge in range(1, 21)] == [1] * 20


def test_planners_end_with_what_enabled_them(torch_library: Library, tmp_path: Path) -> None:
    known = len(enabled_planners)
    for _ in range(3):
        with ct.enable(torch_library, tune="off", cache=tmp_path) as enabled:
            assert Layer(enabled).planned(5) == 1
        assert Layer(enabled).planned(5) == 0
        with enabled:
            assert Layer(enabled).planned(5) == 0, "the plan is kept"
    planner = weakref.ref(enabled.planner)
    del enabled
    assert planner() is None and len(enabled_planners) == known
    ct.enable(torch_library, tune="off", cache=tmp_path)
    assert len(enabled_planners) == known + 1, "it holds without its result"
    ct.disable()
    assert len(enabled_planners) == known

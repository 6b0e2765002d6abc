"""ckgen.conv.classes: one problem of each class, at its borders."""

from __future__ import annotations

import pytest

from ckgen.conv.classes import CLASSES, class_of
from ckgen.conv.notation import problem_fields
from ckgen.conv.problem import ConvProblem

EXAMPLES = {
    "G32 N2 K1 C1 3x3 on 9x9 p1": "depthwise",
    "N2 K1 C1 3x3 on 9x9 p1": "few_channels",  # one group is dense
    "G32 N2 K2 C1 3x3 on 9x9 p1": "depthwise_multiplier",
    "G32 N2 K1 C2 3x3 on 9x9 p1": "grouped_tiny",
    "G32 N2 K4 C4 3x3 on 9x9 p1": "grouped_tiny",
    "G32 N2 K8 C4 1x1 on 9x9": "grouped_tiny",
    "G32 N2 K6 C8 3x3 on 9x9 p1": "grouped_odd",
    "G32 N2 K8 C8 3x3 on 9x9 p1": "grouped",
    "G2 N2 K64 C64 1x1 on 9x9": "grouped",
    "N2 K64 C3 7x7 on 99x99 s2 p3": "few_channels",
    "N2 K15 C64 1x1 on 9x9": "few_channels",
    "N2 K16 C20 1x1 on 9x9": "odd_channels",
    "N2 K24 C16 1x1 on 16x16": "point_small",
    "N2 K24 C16 1x1 on 17x16": "point_large",
    "N2 K24 C16 1x1 on 32x32 s2": "point_small",
    "N2 K24 C16 1 on 16000": "point_large",
    "N2 K24 C16 1x7 on 17x17 p0x3": "long_filter",
    "N2 K24 C16 9x9 on 17x17 p4": "long_filter",
    "N2 K24 C16 1x3x3 on 8x17x17": "long_filter",
    "N2 K24 C16 10 on 16000 s5": "long_filter",
    "N2 K24 C16 3 on 16000 d512 p512": "dense_1d",
    "N2 K24 C16 7x7 on 17x17 p3": "dense_2d",
    "N2 K24 C16 3x3x3 on 8x17x17 p1": "dense_3d",
}


@pytest.mark.parametrize(("text", "name"), EXAMPLES.items())
def test_a_problem_has_its_class(text: str, name: str) -> None:
    assert class_of(ConvProblem(**problem_fields(text))) == name


def test_the_examples_have_every_class() -> None:
    assert set(EXAMPLES.values()) == set(CLASSES)
    assert all(name == row.name and row.meaning for name, row in CLASSES.items())

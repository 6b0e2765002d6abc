"""All single instructions that have a meaning in numpy."""

from __future__ import annotations

from tests.machine_code.emulator import memory_semantics, scalar_semantics, semantics, vector_semantics
from tests.machine_code.emulator.semantics import Semantics

CASES: list[Semantics] = [
    *semantics.CASES,
    *vector_semantics.cases(),
    *scalar_semantics.cases(),
    *memory_semantics.cases(),
]

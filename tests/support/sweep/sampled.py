"""Mark some cases of a test as `sweep`: `make test-gate` leaves them out, `make test-all` runs them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def every_third(cases: Iterable[Any]) -> list[Any]:
    """Cases of a test with one argument; all but the first of three are marked."""
    return _marked((case, number % 3 == 0) for number, case in enumerate(cases))


def chosen(cases: Iterable[Any], gate: Collection[Any]) -> list[Any]:
    """Cases of a test with one argument; those that are not in ``gate`` are marked. Raise AssertionError if ``gate``
    has another."""
    cases = list(cases)
    assert all(case in cases for case in gate), gate
    return _marked((case, case in gate) for case in cases)


def _marked(cases: Iterable[tuple[Any, bool]]) -> list[Any]:
    return [pytest.param(case, marks=() if kept else pytest.mark.sweep) for case, kept in cases]

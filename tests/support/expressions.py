"""Random texts of the expression language and their values in Python, for tests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

INPUTS = ("e", "d0", "skip_1", "alpha")
NAN = float("nan")


def random_text(rng: random.Random, depth: int = 4, inputs: Sequence[str] = INPUTS) -> str:
    """An expression with redundant parentheses in some places and only the necessary ones in others. Its numbers are
    exact in f32, so that Python evaluates the same expression, and not 0, which nothing may be divided by."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*inputs, *inputs, str(rng.randint(1, 9)), f"{rng.randint(1, 99) / 8}"])
    part = [random_text(rng, depth - 1, inputs) for _ in range(4)]
    kind = rng.random()
    if kind < 0.5:
        return f"{_open(rng, part[0])} {rng.choice('+-**/')} {_open(rng, part[1])}"
    if kind < 0.6:
        return f"-{_open(rng, part[0])}"
    if kind < 0.75:
        comparison = rng.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"({part[0]} if {_value(part[1])} {comparison} {_value(part[2])} else {part[3]})"
    function, count = rng.choice(
        [("min", 2), ("max", 2), ("abs", 1), ("sqrt", 1), ("exp", 1), ("clamp", 3)]
        + [("relu", 1), ("sigmoid", 1), ("tanh", 1)]
    )
    return f"{function}({', '.join(part[:count])})"


def _open(rng: random.Random, text: str) -> str:
    return f"({text})" if rng.random() < 0.4 else text


def _value(text: str) -> str:
    return f"({text})"


def clamp(x: Any, lo: Any, hi: Any) -> Any:
    """Clamp in CK's and PyTorch's order: the upper limit wins."""
    return np.minimum(np.maximum(x, lo), hi)


PYTHON: dict[str, Any] = {
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "clamp": clamp,
    "relu": lambda x: np.maximum(x, 0.0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-np.float64(x))),
    "tanh": np.tanh,
}


def python_value(text: str, inputs: dict[str, float]) -> float:
    """The value of a text in Python, for one element."""
    with np.errstate(all="ignore"):
        values = {name: np.float64(value) for name, value in inputs.items()}
        # Division by an integer 0 raises an exception in Python; numpy's numbers give infinity as C++ does.
        try:
            return float(eval(text, {"__builtins__": {}}, PYTHON | values))
        except ZeroDivisionError:
            return NAN

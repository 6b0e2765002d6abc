"""Built-in functions are written twice, in C++ by hand and in ckgen.elementwise.function.BUILTINS.

The struct gives the bits that the generator's C++ for the entry gives, and Python's value, whatever the inputs are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ckgen.elementwise.error_bounds import bounded, exact
from ckgen.elementwise.function import BUILTINS, Function
from ckgen.generate.render import render_tree
from tests.support.cxx import ROOT, compile_with
from tests.support.trees import SAMPLE, context

pytestmark = pytest.mark.compiles

F32 = np.finfo(np.float32)
VALUES = np.array(
    [*(0.0, 1.0, 0.75, 3.5, 1e-20, F32.tiny, F32.smallest_subnormal, F32.tiny * 0.625, F32.max), np.inf, np.nan],
    dtype=np.float32,
)
SPECIAL = np.concatenate((VALUES, -VALUES))
PAIRS = np.array(list(product(SPECIAL, SPECIAL)), dtype=np.float32).T.copy()
# Values of each scalar, one scalar at a time; the others keep their defaults.
SCALARS = (0.0, -0.0, -2.5, 1e30, float(F32.smallest_subnormal), np.inf, np.nan)
# The language's functions in Python; they keep NaN and the sign of zeros.
RULES = {
    "relu": lambda x: np.float32(0) if x < 0 else x,
    "clamp": lambda x, lo, hi: lower(higher(x, lo), hi),
}
Apply = Callable[[Function, bool, tuple[float, ...] | None], np.ndarray]


def lower(a: np.float32, b: np.float32) -> np.float32:
    return a if a < b or a != a else b


def higher(a: np.float32, b: np.float32) -> np.float32:
    return a if a > b or a != a else b


PROGRAM = """#include <cstring>
#include "ckgen/device/element_wise_operation.hpp"
#include "ckgen/instance/functions.hpp"

template <class Function, class Call>
void each(const float* scalars, int count, const Call& call) {{
    Function function;  // as a caller makes it who sets nothing
    if(scalars != nullptr)
        std::memcpy(static_cast<void*>(&function), scalars, sizeof(Function));  // as operators do
    for(int i = 0; i < count; ++i)
        call(function, i);
}}

extern "C" int apply(int which, const float* scalars, int count, const float* e, const float* d0, float* y) {{
    switch(which) {{
{cases}
    }}
    return 0;
}}
"""


def twin(function: Function) -> Function:
    """The same function, defined as in a spec."""
    return replace(function, name=f"{function.name}Twin")


def case_of(number: int, function: Function) -> str:
    """One case of the switch: applies the struct, or returns its number of scalars on request."""
    name, given = f"ckgen::functions::{function.name}", ", d0[i]" if function.tensors else ""
    call = f"[&](const {name}& f, int i) {{ (void)d0; f(y[i], e[i]{given}); }}"
    size = f"std::is_empty_v<{name}> ? 0 : sizeof({name}) / sizeof(float)"
    return f"    case {number}: each<{name}>(scalars, count, {call}); return {size};"


@pytest.fixture(scope="module")
def apply(tmp_path_factory: pytest.TempPathFactory) -> Apply:
    """Applies a built-in function or its twin to all pairs, with its defaults or with scalars."""
    folder = tmp_path_factory.mktemp("functions")
    functions = [*BUILTINS.values(), *map(twin, BUILTINS.values())]
    tree = render_tree(SAMPLE, replace(context(), functions=functions[len(BUILTINS) :]))
    (folder / "ckgen/op").mkdir(parents=True)
    (folder / "ckgen/config.h").write_text("#pragma once\n#define CKGEN_PLATFORM_HOST 1\n")
    (folder / "ckgen/op/functions.hpp").write_text(tree["include/ckgen/op/functions.hpp"])
    cases = "\n".join(case_of(number, function) for number, function in enumerate(functions))
    (folder / "program.cpp").write_text("#include <type_traits>\n" + PROGRAM.format(cases=cases))
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{folder}", f"-I{ROOT / 'templates/include'}", "-shared"]
    compile_with(folder, [*flags, "program.cpp", "-o", "functions.so"])
    library = ctypes.CDLL(str(folder / "functions.so"))
    names = [function.name for function in functions]

    def run(function: Function, as_twin: bool, scalars: tuple[float, ...] | None) -> np.ndarray:
        y = np.zeros(PAIRS.shape[1], np.float32)
        given = None if scalars is None else (ctypes.c_float * max(1, len(scalars)))(*scalars)
        e, d0, out = (ctypes.c_void_p(array.ctypes.data) for array in (*PAIRS, y))
        which = names.index(twin(function).name if as_twin else function.name)
        assert library.apply(which, given, y.size, e, d0, out) == len(function.scalars), "its members are its scalars"
        return y

    return run


def settings(function: Function) -> list[tuple[float, ...]]:
    """Values for the scalars: the defaults, and each with special values."""
    defaults = tuple(value for _, value in function.scalars)
    changed = [(*defaults[:at], value, *defaults[at + 1 :]) for at in range(len(defaults)) for value in SCALARS]
    return [defaults, *changed]


@pytest.mark.parametrize("name", BUILTINS)
def test_a_built_in_struct_is_what_its_entry_renders_to(apply: Apply, name: str) -> None:
    function = BUILTINS[name]
    assert_same(apply(function, False, None), apply(function, False, settings(function)[0]), "defaults")
    for scalars in settings(function):
        assert_same(apply(function, False, scalars), apply(function, True, scalars), str(scalars))


def assert_same(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Equal to the bit, except for the payload of a NaN."""
    alike = (found.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(found) & np.isnan(expected))
    assert alike.all(), (what, PAIRS[:, ~alike].T[:5], found[~alike][:5], expected[~alike][:5])


@pytest.mark.parametrize("name", BUILTINS)
def test_a_built_in_struct_gives_pythons_values(apply: Apply, name: str) -> None:
    """Those of the entry's text, to Python an expression of f32 numbers, to the bit; those of the reference, which are
    float64, within its bound for f32, with NaN and the signs of zeros."""
    function = BUILTINS[name]
    code = compile(function.text, name, "eval")
    for scalars in settings(function):
        inputs = {one: np.float32(value) for (one, _), value in zip(function.scalars, scalars, strict=True)}
        found = apply(function, False, scalars)
        with np.errstate(all="ignore"):
            pairs = ({"e": e, **dict.fromkeys(function.tensors, d0)} for e, d0 in PAIRS.T)
            assert_same(
                found, np.array([eval(code, RULES | inputs | pair) for pair in pairs], np.float32), str(scalars)
            )
        known = bounded(
            function.tree,
            {one: exact(value) for one, value in inputs.items()}
            | {"e": exact(PAIRS[0]), **dict.fromkeys(function.tensors, exact(PAIRS[1]))},
        )
        sure = np.isfinite(known.error) & np.isfinite(known.value)
        assert sure.sum() > 200 or not np.isfinite(scalars).all()
        assert np.isnan(found[np.isnan(known.value)]).all()
        assert (abs(found[sure] - known.value[sure]) <= known.error[sure]).all()
        zero = sure & (known.value == 0) & (found == 0)
        assert (np.signbit(found[zero]) == np.signbit(known.value[zero])).all()

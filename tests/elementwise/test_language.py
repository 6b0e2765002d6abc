"""The language of element-wise functions: errors with their places, and the same meaning in Python, numpy and C++."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.elementwise.cpp import MATH_FUNCTIONS, cpp_expression, cpp_name, cpp_number
from ckgen.elementwise.error_bounds import Bounded, bounded, evaluate, exact
from ckgen.elementwise.function import BUILTINS
from ckgen.elementwise.language import (
    FUNCTIONS,
    MAX_CHARACTERS,
    Binary,
    Call,
    Choose,
    Compare,
    Expr,
    ExpressionError,
    Name,
    Negate,
    Number,
    names_in,
    parse_expression,
)
from tests.support.cxx import compile_with
from tests.support.expressions import INPUTS, NAN, python_value, random_text

E, D0 = Name("e"), Name("d0")


def test_trees_follow_pythons_precedence() -> None:
    assert parse_expression("e - d0 - 1", INPUTS) == Binary("-", Binary("-", E, D0), Number(1.0))
    assert parse_expression("-e * d0", INPUTS) == Binary("*", Negate(E), D0)
    assert parse_expression("e + d0 / 2", INPUTS) == Binary("+", E, Binary("/", D0, Number(2.0)))
    assert parse_expression("clamp(e, -1, 1)", INPUTS) == Call("clamp", (E, Negate(Number(1.0)), Number(1.0)))
    chosen = Choose(Compare(">", D0, Number(0.0)), E, Number(0.0))
    assert parse_expression("  e if d0 > 0\n else 0 ", INPUTS) == chosen
    assert list(names_in(parse_expression("e if d0 > e else -max(alpha, 1)", INPUTS))) == ["d0", "e", "e", "alpha"]


def test_numbers_are_those_that_f32_has() -> None:
    assert parse_expression("0.1", ()) == Number(float(np.float32(0.1)))
    assert parse_expression("16777217", ()) == Number(16777216.0)
    assert parse_expression("1e-45", ()) == Number(2.0**-149)


@pytest.mark.parametrize(
    ("text", "offset", "length", "message"),
    [
        ("", 0, 1, "an expression is missing"),
        ("   ", 0, 1, "an expression is missing"),
        ("e +", 2, 1, "something is missing after this"),
        ("e + * d0", 4, 1, "the expression is wrong from here on"),
        ("e d0", 2, 1, "the expression is wrong from here on"),
        ("1if e < 2 else 3", 0, 1, "the expression is wrong from here on"),
        ("0x10 * e", 0, 4, "numbers are decimal"),
        ("1_000 * e", 0, 5, "numbers are decimal"),
        ("e + (d0", 4, 1, "this `(` is never closed"),
        ("e + d0)", 6, 1, "`)` closes nothing"),
        ("e + d1", 4, 2, "`d1` is not an input of this function"),
        ("  e + d1", 6, 2, "`d1` is not an input of this function"),
        ("e +\n d1", 5, 2, "`d1` is not an input of this function"),
        ("min + e", 0, 3, "`min` is a function"),
        ("mim(e, d0)", 0, 3, "there is no function `mim`"),
        ("min(e)", 0, 6, "`min` takes 2 arguments, this gives 1"),
        ("exp(e, d0)", 0, 10, "`exp` takes 1 argument, this gives 2"),
        ("min(e, a=d0)", 9, 2, "arguments have no names here"),
        ("exp(e)(e)", 0, 6, "only the language's functions can be called"),
        ("e.real", 0, 6, "this is not part of the language"),
        ("e[0]", 1, 1, "`[` has no meaning"),
        ("e; d0", 1, 1, "`;` has no meaning"),
        ("e # the gradient", 2, 1, "`#` has no meaning"),
        ("'e'", 0, 1, "`'` has no meaning"),
        ("e × d0", 2, 1, "`×` has no meaning"),
        ("e % 2", 2, 1, "`%` has no meaning"),
        ("e ** 2", 0, 6, "there are no powers"),
        ("e // 2", 0, 6, "this is not part of the language"),
        ("e / 0", 4, 1, "this divides by 0"),
        ("e / (-0.0)", 5, 4, "this divides by 0"),
        ("+e", 0, 2, "this is not part of the language"),
        ("e < d0", 0, 6, "a comparison is possible between `if` and `else` only"),
        ("e + (e < d0)", 5, 6, "a comparison is possible between `if` and `else` only"),
        ("e if d0 else 0", 5, 2, "the condition between `if` and `else` must be one comparison"),
        ("e if 0 < d0 < 1 else 0", 5, 10, "the condition between `if` and `else` must be one comparison"),
        ("e if d0 is e else 0", 5, 7, "the condition between `if` and `else` must be one comparison"),
        ("e if e < 1 and d0 < 1 else 0", 5, 16, "the condition between `if` and `else` must be one comparison"),
        ("e and d0", 0, 8, "there is no `and`, `or` or `not`"),
        ("not e", 0, 5, "there is no `and`, `or` or `not`"),
        ("e, d0", 0, 5, "this is not part of the language"),
        ("True * e", 0, 4, "this is not part of the language"),
        ("min(*e)", 0, 7, "`min` takes 2 arguments, this gives 1"),
        ("abs(*e)", 4, 2, "this is not part of the language"),
        ("lambda", 5, 1, "something is missing after this"),
        ("1e99 * e", 0, 4, "f32 has no number like this"),
        ("1e-60 * e", 0, 5, "f32 has no number like this"),
        ("1" * 400 + " * e", 0, 400, "f32 has no number like this"),
        ("e + 1j", 4, 2, "this is not part of the language"),
        ("-" * 120 + "e", 101, 20, "nested more than 100 deep"),
        ("(" * 120 + "e" + ")" * 120, 100, 1, "nested more than 100 deep"),
        ("e" + " + e" * 300, 1000, 1, "at most 1000 characters"),
        ("__import__(e)", 0, 10, "there is no function `__import__`"),
    ],
)
def test_everything_else_is_refused_where_it_stands(text: str, offset: int, length: int, message: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse_expression(text, INPUTS)
    error = raised.value
    assert message in error.message
    assert (error.offset, error.length) == (offset, length)


def test_help_names_the_nearest_word_and_the_way_to_write_it() -> None:
    def help_of(text: str) -> str:
        with pytest.raises(ExpressionError) as raised:
            parse_expression(text, INPUTS)
        return raised.value.help

    assert help_of("skip1 + e") == "did you mean `skip_1`?"
    assert help_of("mim(e, d0)") == "did you mean `min`?"
    assert help_of("clamp(e)") == "write clamp(x, lo, hi)"
    assert help_of("e ** 2") == "write x * x"
    assert help_of("beta * e") == "known: e, d0, skip_1, alpha"
    assert help_of("e // 2").startswith("write numbers, inputs, + - * /")


@given(st.text(alphabet="ed0 .+-*/(),<>=!if\n1elsmnabcpx_", max_size=60))
def test_any_text_is_read_or_refused_with_a_place_inside_it(text: str) -> None:
    try:
        tree = parse_expression(text, INPUTS)
    except ExpressionError as error:
        assert 0 <= error.offset <= min(len(text), MAX_CHARACTERS)
        assert error.length >= 1
        assert error.message
    else:
        assert set(names_in(tree)) <= set(INPUTS)


@given(st.integers(0, 2**32))
def test_a_tree_means_what_its_text_means_to_python(seed: int) -> None:
    rng = random.Random(seed)
    text = random_text(rng)
    inputs = {name: rng.uniform(-3, 3) for name in INPUTS}
    expected = python_value(text, inputs)
    value = float(evaluate(parse_expression(text, INPUTS), inputs))
    assert np.isclose(value, expected, rtol=1e-12, atol=0, equal_nan=True) or np.isnan(expected), text


def test_values_broadcast_like_numpy() -> None:
    tree = parse_expression("alpha * e if d0 > 0 else 2", INPUTS)
    e, d0 = np.array([[1.0, 2, 3]]), np.array([[1.0], [-1]])
    value = evaluate(tree, {"e": e, "d0": d0, "alpha": 10.0})
    assert value.tolist() == [[10.0, 20, 30], [2.0, 2, 2]]


def cpp_program(trees: list[Expr], rows: np.ndarray) -> str:
    """A program that prints every tree's value for every row of inputs, one line per tree."""
    parameters = ", ".join(f"float {cpp_name(name)}" for name in INPUTS)
    used = " ".join(f"(void){cpp_name(name)};" for name in INPUTS)
    lines = ["#include <cmath>\n#include <cstdio>\n#include <iterator>", '#include "ckgen/math.hpp"']
    lines += [
        f"static float f{at}({parameters}) {{ {used} return {cpp_expression(tree)}; }}" for at, tree in enumerate(trees)
    ]
    table = ", ".join("{" + ", ".join(map(cpp_literal, row)) + "}" for row in rows)
    pointers = ", ".join(f"f{at}" for at in range(len(trees)))
    lines += [
        f"static const float rows[][{len(INPUTS)}] = {{{table}}};",
        f"static float (*const functions[])({', '.join(['float'] * len(INPUTS))}) = {{{pointers}}};",
        "static void print(const float (&r)[4], float (*f)(float, float, float, float), char end)",
        '{ std::printf("%.17g%c", f(r[0], r[1], r[2], r[3]), end); }',
        "int main() { for(auto f : functions) for(auto& r : rows)",
        "print(r, f, &r == std::end(rows) - 1 ? '\\n' : ' '); }",
    ]
    return "\n".join(lines) + "\n"


def cpp_literal(value: float) -> str:
    return "NAN" if np.isnan(value) else cpp_number(value)


def run_cpp(folder: Path, trees: list[Expr], rows: np.ndarray) -> np.ndarray:
    (folder / "program.cpp").write_text(cpp_program(trees, rows))
    (folder / "ckgen").mkdir()
    (folder / "ckgen" / "config.h").write_text("#define CKGEN_PLATFORM_HOST 1\n")
    include = ["-I", str(folder), "-I", str(Path(__file__).resolve().parents[2] / "templates" / "include")]
    compile_with(folder, ["-O0", "-Wall", "-Wextra", "-Werror", *include, "program.cpp", "-o", "program"])
    printed = subprocess.run([folder / "program"], capture_output=True, text=True, check=True).stdout
    return np.array([[float(word) for word in line.split()] for line in printed.splitlines()])


@pytest.mark.compiles
@pytest.mark.quick
def test_rendered_cpp_gives_numpys_values(tmp_path: Path) -> None:
    """300 random trees on 20 rows of inputs, and each function of the language by itself, in one program."""
    rng = random.Random(20261121)
    texts = [random_text(rng) for _ in range(300)]
    texts += [f"{name}({', '.join(INPUTS[:count])})" for name, count in FUNCTIONS.items()]
    trees = [parse_expression(text, INPUTS) for text in texts]
    rows = np.array([[rng.uniform(-3, 3) for _ in INPUTS] for _ in range(20)], dtype=np.float32)
    rows[0, :] = 0
    extremes = (0.0, 1.0, -1.0, 1e-45, -1e-38, 2e-38, 1e-20, 1e20, -3.4e38, 3.4e38)
    rows[-8:] = [[rng.choice(extremes) for _ in INPUTS] for _ in range(8)]
    found = run_cpp(tmp_path, trees, rows)
    checked = 0
    for text, tree, values in zip(texts, trees, found, strict=True):
        expected = bounded(tree, {name: exact(rows[:, at]) for at, name in enumerate(INPUTS)})
        sure = np.isfinite(expected.error)
        off = ~(abs(values[sure] - expected.value[sure]) <= expected.error[sure])  # NaN is off
        assert not off.any(), (text, values[sure][off], expected.value[sure][off])
        tight = sure & (expected.error <= 1e-4 * abs(expected.value) + 1e-30)
        checked += int(tight.sum())
    assert checked > 0.6 * found.size  # the bounds must not excuse most values


@pytest.mark.compiles
@pytest.mark.quick
def test_nan_stays_nan_in_cpp_as_in_numpy(tmp_path: Path) -> None:
    """NaN in any argument is kept: a clipped NaN would look like a valid gradient."""
    texts = ["min(e, d0)", "max(e, d0)", "clamp(e, d0, alpha)", "relu(e)", "abs(e)", "clamp(d0, e, alpha)", "-e"]
    texts += ["sqrt(d0 - 5)", "clamp(d0, alpha, e)", "e if e < d0 else d0"]
    trees = [parse_expression(text, INPUTS) for text in texts]
    rows = np.array([[NAN, 1, 2, 3], [1, NAN, 2, 3], [1, 2, 2, NAN]])
    expected = [evaluate(tree, {name: rows[:, at] for at, name in enumerate(INPUTS)}) for tree in trees]
    assert np.array_equal(run_cpp(tmp_path, trees, rows), np.array(expected), equal_nan=True)
    assert np.isnan(np.array(expected)[:3, 0]).all()


def test_cpp_is_made_from_the_tree() -> None:
    def cpp(text: str) -> str:
        return cpp_expression(parse_expression(text, INPUTS))

    assert cpp("e - -d0*2") == "(e_ - ((-d0_) * 2.0f))"
    assert cpp("0.1 * e") == "(0.1f * e_)"
    assert cpp("1e-20 if e == 3 else exp(e)") == "((e_ == 3.0f) ? 1e-20f : ckgen::math::exp(e_))"
    assert cpp_number(-0.5) == "-0.5f"
    assert set(MATH_FUNCTIONS) == set(FUNCTIONS)
    names = {cpp_name(name) for name in ("float", "int", "NULL", "std", "e", "e1")}
    assert len(names) == 6
    assert not names & {"float", "int", "NULL", "std"}


def test_bounds_grow_with_the_function_and_not_without_reason() -> None:
    def bound(text: str, e: float, error: float) -> float:
        inputs = {name: exact(2.0) for name in INPUTS} | {"e": Bounded(np.array(e), np.array(error))}
        return float(bounded(parse_expression(text, INPUTS), inputs).error)

    assert bound("e", 1, 0.5) == 0.5
    assert bound("100 * e", 1, 0.5) == pytest.approx(50, rel=1e-4)
    assert bound("1 / e", 2, 1) == pytest.approx(0.5, rel=1e-4)
    assert bound("1 / e", 2, 3) == np.inf
    assert bound("exp(e)", 0, 1) == pytest.approx(np.e - 1, rel=1e-4)
    assert bound("d0 if e > 0 else -d0", 1, 0.5) == 0
    assert bound("d0 if e > 0 else -d0", 0.25, 0.5) == 4  # a kernel may take the other branch
    assert bound("exp(100 * e)", 1, 0) == np.inf  # f32 overflows
    assert bound("d0 + alpha", 1, 0.5) == pytest.approx(4 * 2.0**-24, rel=1e-4)


def test_where_a_kernel_may_find_nan_there_is_no_bound() -> None:
    """0 / 0 after an underflow, and the root of a value that rounding made negative: bounded functions hide neither."""

    def bound(text: str, e: float, error: float = 0) -> float:
        inputs = {name: exact(2.0) for name in INPUTS} | {"e": Bounded(np.array(e), np.array(error))}
        return float(bounded(parse_expression(text, INPUTS), inputs).error)

    quotient = "(e - e) / (e / 3.4e38 / d0)"
    for text in ("tanh({})", "sigmoid({})", "exp(-abs({}))", "clamp({}, 0, 1)", "1 if {} > 0 else sigmoid({})"):
        assert bound(text.replace("{}", quotient), 1e-3) == np.inf, text
    assert bound(f"1 if {quotient} > 0 else 0", 1e-3) == 1  # either branch
    for text in ("sqrt(e)", "sqrt(e + d0 - 2)", "tanh(sqrt(e * alpha))"):
        assert bound(text, 0.25, 0.125) < 1 and bound(text, 0.125, 0.25) == np.inf, text
    for text in ("sqrt(abs(e))", "sqrt(e * e)", "sqrt(max(e, 0) + 1)", "sqrt(clamp(e, 0, 1) * exp(e))"):
        assert bound(text, 0, 0.25) < 1, text


@given(st.integers(0, 2**32), st.floats(0, 0.01))
def test_a_result_from_wrong_inputs_keeps_the_bound(seed: int, error: float) -> None:
    rng = random.Random(seed)
    text = random_text(rng)
    tree = parse_expression(text, INPUTS)
    right = {name: rng.uniform(-3, 3) for name in INPUTS}
    wrong = {name: value + rng.uniform(-error, error) for name, value in right.items()}
    allowed = bounded(tree, {name: Bounded(np.array(value), np.array(error)) for name, value in right.items()})
    if np.isfinite(allowed.error):
        moved = abs(evaluate(tree, wrong) - allowed.value)
        assert np.isnan(moved) or moved <= allowed.error * (1 + 1e-9), text


def test_builtins_are_in_the_language_and_have_cpp_names_of_their_own() -> None:
    assert {"PassThrough", "AddResidual", "Bilinear", "Scale", "Clip", "ScaleAdd", "AddRelu"} <= set(BUILTINS)
    e, d0 = np.array([-2.0, 0.5, 3]), np.array([1.0, -1, 2])

    def value(name: str, **scalars: float) -> list[float]:
        function = BUILTINS[name]
        inputs = {"e": e, **dict.fromkeys(function.tensors, d0), **dict(function.scalars), **scalars}
        return list(evaluate(function.tree, inputs))

    assert value("PassThrough") == [-2, 0.5, 3]
    assert value("AddResidual") == [-1, -0.5, 5]
    assert value("Bilinear") == [-1, -0.5, 5]
    assert value("Bilinear", alpha=2.0, beta=-1.0) == [-5, 2, 4]
    assert value("Scale", scale=3.0) == [-6, 1.5, 9]
    assert value("ScaleAdd", scale=3.0) == [-5, 0.5, 11]
    assert value("AddRelu") == [0, 0, 5]
    assert value("ReluGradient") == [-2, 0, 3]
    assert value("Clip") == [-1, 0.5, 1]

"""Tests of element-wise functions in YAML: the message and the place of each error."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ckgen.elementwise.function import BUILTINS, Function, make_function
from ckgen.errors import CkgenError, Diagnostic, format_diagnostics
from ckgen.spec.functions import FunctionEntry, check_functions
from ckgen.spec.translate import translate
from ckgen.spec.types import ListOf, Model
from ckgen.text.source import loads
from ckgen.text.span import place_inside


class File(Model):
    """The part of a spec that these tests need."""

    functions: ListOf[FunctionEntry]


def read(text: str) -> tuple[tuple[Function, ...], list[Diagnostic]]:
    """The functions and problems of a file, problems of form first, in the order in which a spec is read."""
    document = loads(text, "mine.yaml")
    try:
        file = File.model_validate(document.root.plain())
    except ValidationError as error:
        return (), translate(error, document, {"": File, "functions": FunctionEntry})
    return check_functions(document, file.functions, ("functions",))


GOOD = """functions:
  - name: ScaledResidual
    tensors: [skip]
    scalars: {scale: 0.5, bias: 1}
    expression: e + scale * skip + bias # e is the result of the convolution
  - {name: Twice, expression: 2 * e}
"""


def test_entries_become_functions() -> None:
    functions, problems = read(GOOD)
    assert not problems
    assert [function.name for function in functions] == ["ScaledResidual", "Twice"]
    assert functions[0].tensors == ("skip",)
    assert functions[0].scalars == (("scale", 0.5), ("bias", 1.0))
    assert functions[0].text == "e + scale * skip + bias"
    assert functions[0] == make_function(
        "ScaledResidual", "e + scale * skip + bias", ["skip"], {"scale": 0.5, "bias": 1.0}
    )


def test_a_wrong_name_is_shown_inside_the_expression() -> None:
    text = "functions:\n  - name: Mine\n    tensors: [skip]\n    expression: e + skp * skip\n"
    _, problems = read(text)
    assert format_diagnostics(problems, {"mine.yaml": text}) == (
        "mine.yaml:4:21: error[expression]: `skp` is not an input of this function\n"
        "  |\n"
        "4 |     expression: e + skp * skip\n"
        "  |                     ^^^\n"
        "  = help: did you mean `skip`?\n"
    )


ENTRY = "functions:\n  - {name: Mine, tensors: [d0], scalars: {alpha: 1.5}, expression: alpha * e + d0}\n"


@pytest.mark.parametrize(
    ("old", "new", "rule", "where", "words"),
    [
        ("Mine", "mine", "function-name", "2:12", "`mine` is not a valid name of a function"),
        ("Mine", "Bilinear", "duplicate-function", "2:12", "`Bilinear` is built in: alpha * e + beta * d0"),
        ("[d0]", "[d0, d0]", "input-name", "2:32", "there are two inputs called `d0`"),
        ("[d0]", "[d0, d1]", "unused-input", "2:32", "the expression does not use `d1`"),
        ("[d0]", "[d0, e]", "input-name", "2:32", "`e` is the result of the convolution"),
        ("[d0]", "[d0, min]", "input-name", "2:32", "`min` has a meaning in expressions"),
        ("[d0]", '[d0, "a-b"]', "input-name", "2:32", "`a-b` is not a valid name of an input"),
        ("[d0]", "[d0, a__b]", "input-name", "2:32", "`a__b` is not a valid name of an input"),
        ("alpha: 1.5", "alpha: 1.5, d0: 1", "input-name", "2:55", "there are two inputs called `d0`"),
        ("alpha: 1.5", "alpha: 1.5, else: 1", "input-name", "2:55", "`else` has a meaning in expressions"),
        ("1.5", "1" + "0" * 39 + ".0", "scalar-range", "2:50", "f32 has no number like 1e+39"),
        ("1.5", "many", "wrong-type", "2:50", "`alpha` must be a number, this is text"),
        ("1.5", "true", "wrong-type", "2:50", "`alpha` must be a number, this is true or false"),
        (", expression: alpha * e + d0", "", "missing-field", "2:5", "`expression` is missing"),
        ("tensors", "tensor", "unknown-key", "2:18", "unknown key `tensor` in `functions`"),
        (
            "alpha * e + d0",
            "alpha * d0",
            "unused-input",
            "2:68",
            "the expression does not use `e`, the result of the convolution",
        ),
        ("alpha * e + d0", "alpha * e + d0 +", "expression", "2:83", "something is missing after this"),
        ("alpha * e + d0", '"alpha * e + d1"', "expression", "2:81", "`d1` is not an input of this function"),
        ("alpha * e + d0", "'alpha *  e + d1'", "expression", "2:82", "`d1` is not an input of this function"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(old: str, new: str, rule: str, where: str, words: str) -> None:
    assert ENTRY.count(old) == 1
    _, problems = read(ENTRY.replace(old, new))
    assert (problems[0].rule, problems[0].message) == (rule, words)
    assert str(problems[0].place) == f"mine.yaml:{where}"


def test_all_problems_of_all_entries_are_told_at_once() -> None:
    text = (
        "functions:\n"
        "  - {name: First, tensors: [d0, d1], expression: e}\n"
        "  - {name: First, expression: e}\n"
        "  - {name: Third, expression: e ** 2}\n"
        "  - {name: Fourth, expression: -e}\n"
    )
    functions, problems = read(text)
    assert [function.name for function in functions] == ["First", "Fourth"]
    found = [(problem.place.line if problem.place else 0, problem.rule) for problem in problems]
    assert found == [(2, "unused-input"), (2, "unused-input"), (3, "duplicate-function"), (4, "expression")]
    assert problems[2].notes == ("the first is at mine.yaml:2:12",)


@pytest.mark.parametrize(
    ("value", "line", "column", "length"),
    [
        ("e + wrong", 1, 8, 5),
        ('"e + wrong"', 1, 9, 5),
        ("'e + wrong'", 1, 9, 5),
        ("e\n    + wrong", 2, 7, 5),
        ("|\n    e\n    + wrong", 3, 7, 5),
        (">-\n    e\n\n    + wrong", 4, 7, 5),
        ('"e\n    + wrong"', 2, 7, 5),
    ],
)
def test_a_place_inside_a_text_is_found_however_it_is_written(value: str, line: int, column: int, length: int) -> None:
    document = loads(f"a: {value}\nb: 1\n")
    node = document.node("a")
    assert node is not None
    assert isinstance(node.value, str)
    place = place_inside(document, ("a",), node.value.index("wrong"), 5)
    assert place is not None
    assert (place.line, place.column, place.length) == (line, column, length)


def test_where_the_text_is_not_in_the_file_the_character_is_counted() -> None:
    _, problems = read('functions:\n  - {name: Mine, expression: "e +\\x20d1"}\n')
    assert str(problems[0].place) == "mine.yaml:2:30"
    assert problems[0].notes == ("at character 5 of the expression",)
    document = loads("a: &x e + d1\nb: *x\n")
    assert place_inside(document, ("b",), 4, 2) is None
    assert place_inside(document, ("c",), 0, 1) is None


def test_a_function_made_in_python_is_refused_in_the_same_words() -> None:
    with pytest.raises(CkgenError, match="Mine: `d0` is not an input of this function"):
        make_function("Mine", "e + d0")
    with pytest.raises(CkgenError, match=r"error\[unused-input\]: Mine: the expression does not use `lo`"):
        make_function("Mine", "e", scalars={"lo": 1.0})


def test_builtins_go_by_their_names() -> None:
    assert all(name == function.name for name, function in BUILTINS.items())
    assert BUILTINS["Clip"].scalars == (("lo", -1.0), ("hi", 1.0))


def test_a_name_that_would_read_as_a_family_is_refused() -> None:
    functions, problems = read("functions:\n  - {name: TmaScale, expression: 2 * e}\n  - {name: Tmax, expression: e}\n")
    assert [problem.rule for problem in problems] == ["function-name"]
    assert "reads as a part of a family" in problems[0].message and problems[0].place is not None
    assert [function.name for function in functions][-1] == "Tmax"

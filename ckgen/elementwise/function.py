"""Element-wise functions of the convolution's result and of D tensors, with names and checks.

A function has up to three kinds of input: `e`, the f32 result of the convolution; D tensors by name, in the order in
which operators take them; and scalars with default values, which callers may set. An input that the expression does
not use is an error.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ckgen.elementwise.language import FUNCTIONS, Expr, ExpressionError, names_in, nearest_f32, parse_expression
from ckgen.errors import CkgenError, Diagnostic

RESULT = "e"
PASS_THROUGH = "PassThrough"  # the function of operators that are not fused
FUNCTION_NAME = r"[A-Z][A-Za-z0-9]*"
# Headers define macros in capitals, and the C standard reserves names such as PRId64 for <inttypes.h> (7.31.5).
_MACRO_NAME = re.compile(r"[A-Z0-9]+|(PRI|SCN)[a-zX].*", re.ASCII)
MAX_INPUTS = 64  # tensors and scalars together
_INPUT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """Element type and layout of a D tensor; None means those of the result."""

    dtype: str | None = None
    layout: str | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """An element-wise function, built and checked by ``make_function``. ``scalars`` are pairs of name and default
    value; ``kinds`` has one entry per tensor."""

    name: str
    tensors: tuple[str, ...]
    scalars: tuple[tuple[str, float], ...]
    text: str
    tree: Expr
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """An error in a function: the path of the wrong key inside its entry and, if the key is the expression, the wrong
    part of it (offset and length in characters)."""

    path: tuple[str | int, ...]
    rule: str
    message: str
    help: str
    span: tuple[int, int] | None = None


def make_function(
    name: str,
    expression: str,
    tensors: Sequence[str] = (),
    scalars: Mapping[str, float] | None = None,
    kinds: Sequence[Kind] = (),
) -> Function:
    """Make a function of `e`, ``tensors`` (of ``kinds``, default: the result's) and ``scalars`` (name -> default).
    Raises CkgenError with every error found."""
    made, findings = check_function(name, expression, tensors, scalars or {}, kinds)
    if made is None:
        diagnostics = (Diagnostic(None, one.rule, f"{name}: {one.message}", one.help) for one in findings)
        raise CkgenError(diagnostics)
    return made


def check_function(
    name: str, expression: str, tensors: Sequence[str], scalars: Mapping[str, float], kinds: Sequence[Kind] = ()
) -> tuple[Function | None, list[Finding]]:
    """Return the function, or None and the errors."""
    findings: list[Finding] = []
    if len(tensors) + len(scalars) > MAX_INPUTS:
        message = f"this function has {len(tensors)} tensors and {len(scalars)} scalars"
        key = "tensors" if tensors else "scalars"
        return None, [Finding((key,), "function-inputs", message, f"at most {MAX_INPUTS} are allowed")]
    findings += _function_name_findings(name)
    paths: list[tuple[str, tuple[str | int, ...]]] = [(tensor, ("tensors", at)) for at, tensor in enumerate(tensors)]
    paths += [(scalar, ("scalars", scalar)) for scalar in scalars]
    for at, (given, path) in enumerate(paths):
        message = _name_fault(given, [other for other, _ in paths[:at]])
        if message:
            help_text = "begin with a letter, use letters, digits and single underscores inside"
            findings.append(Finding(path, "input-name", message, help_text))
    values: dict[str, float] = {}
    for scalar, value in scalars.items():
        rounded = nearest_f32(value)
        if rounded is None:
            message, help_text = f"f32 has no number like {value!r}", "f32 numbers lie between 1e-45 and 3.4e38"
            findings.append(Finding(("scalars", scalar), "scalar-range", message, help_text))
        else:
            values[scalar] = rounded
    try:
        tree = parse_expression(expression, (RESULT, *tensors, *scalars))
    except ExpressionError as error:
        span = (error.offset, error.length)
        findings.append(Finding(("expression",), "expression", error.message, error.help, span))
        return None, findings
    findings += _unused(tree, paths)
    if findings:
        return None, findings
    kinds = tuple(kinds) or (Kind(),) * len(tensors)
    return Function(name, tuple(tensors), tuple(values.items()), expression, tree, kinds), []


def _function_name_findings(name: str) -> Iterator[Finding]:
    if not re.fullmatch(FUNCTION_NAME, name, re.ASCII):
        help_text = "begin with a capital and use letters and digits, for example ScaledResidual"
        yield Finding(("name",), "function-name", f"`{name}` is not a valid name of a function", help_text)
    elif _MACRO_NAME.fullmatch(name):
        message = f"`{name}` reads as a macro, such as headers define"
        other = name.capitalize()
        help_text = f"use small letters too, for example {'MyFunction' if _MACRO_NAME.fullmatch(other) else other}"
        yield Finding(("name",), "function-name", message, help_text)


def _name_fault(name: str, earlier: Sequence[str]) -> str:
    if not _INPUT_NAME.fullmatch(name):
        return f"`{name}` is not a valid name of an input"
    if name == RESULT:
        return f"`{RESULT}` is the result of the convolution"
    if name in FUNCTIONS or keyword.iskeyword(name):
        return f"`{name}` has a meaning in expressions"
    return f"there are two inputs called `{name}`" if name in earlier else ""


def _unused(tree: Expr, paths: Sequence[tuple[str, tuple[str | int, ...]]]) -> list[Finding]:
    """Find inputs without effect: the kernel would read such a tensor, or compute the sum, in vain."""
    used = set(names_in(tree))
    found = [
        Finding(path, "unused-input", f"the expression does not use `{name}`", "use it or remove it")
        for name, path in paths
        if name not in used
    ]
    if RESULT not in used:
        message = f"the expression does not use `{RESULT}`, the result of the convolution"
        found.append(Finding(("expression",), "unused-input", message, "without it there is nothing to convolve"))
    return found


# CK's instances have PassThrough, Scale and Bilinear with these defaults (element_wise_operation.hpp). Its ConvScale is
# for scaled operands (unary_element_wise_operation.hpp).
# Its example 38 (grouped_conv_bwd_data_bias_relu) has AddRelu with one value per channel. The others are ckgen's own.
BUILTINS: dict[str, Function] = {
    function.name: function
    for function in (
        make_function(PASS_THROUGH, "e"),
        make_function("Scale", "scale * e", scalars={"scale": 1.0}),
        make_function(
            "ConvScale",
            "e * scale_in * scale_wei * scale_out",
            scalars={"scale_in": 1.0, "scale_wei": 1.0, "scale_out": 1.0},
        ),
        make_function("Bilinear", "alpha * e + beta * d0", ("d0",), {"alpha": 1.0, "beta": 1.0}),
        make_function("AddResidual", "e + d0", ("d0",)),
        make_function("ScaleAdd", "scale * e + d0", ("d0",), {"scale": 1.0}),
        make_function("AddRelu", "relu(e + d0)", ("d0",)),
        make_function("ReluGradient", "e if d0 > 0 else 0", ("d0",)),
        make_function("Clip", "clamp(e, lo, hi)", scalars={"lo": -1.0, "hi": 1.0}),
    )
}

"""Conversions between real values and the storage arrays of element types, and the rounding of operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckgen.conv.dtypes import DType, Element

if TYPE_CHECKING:
    from ckgen.conv.dtypes import Array, Float64


def encode(values: Array, element: Element) -> Array:
    """Round real ``values`` to ``element`` (nearest, ties to even, for tf32 away from zero) and return its storage
    array of the same shape.

    Values too large for the type become infinity, or NaN if it has none; NaN stays NaN. Integers saturate; NaN becomes
    zero.
    """
    import numpy as np

    if element.integer:
        whole: Array = element.in_range(np.nan_to_num(np.rint(values))).astype(element.storage)
        return whole
    with np.errstate(over="ignore"):
        wide: Array = np.asarray(values, dtype=element.wide)
    if element.storage == element.wide:
        cut_off = np.finfo(element.wide).nmant + 1 - element.precision
        return _shortened(wide, cut_off) if cut_off else wide
    if element.specials != "ieee":
        return _encode_by_table(wide, element)
    unit = np.dtype(f"u{wide.itemsize}").type
    bits, cut = wide.view(unit), unit(8 * (wide.itemsize - element.bytes))
    half = (unit(1) << (cut - unit(1))) - unit(1)
    rounded = (bits + (half + ((bits >> cut) & unit(1)))) >> cut
    quiet = (bits >> cut) | unit(1 << (element.precision - 2))
    result: Array = np.where(np.isnan(wide), quiet, rounded).astype(element.storage)
    return result


def as_multiplied(values: Array, dtype: DType, operand: str, codes: str) -> Array:
    """The values of operand ``a`` or ``b``, which its tensor's type holds, as a kernel multiplies them. 8-bit types
    have the encoding ``codes`` (``ocp`` or ``fnuz``); finite values past their largest number become that number."""
    import numpy as np

    element = dtype.compute(operand, codes)
    if element.name == dtype.operand_type:
        return values
    if element.bytes > 1:
        return decode(encode(values, element), element)
    numbers = _codes(element)
    largest = numbers[np.isfinite(numbers)].max()
    inside = np.where(np.isinf(values), values, np.clip(values, -largest, largest))
    return decode(encode(inside, element), element)


def _shortened(values: Array, bits: int) -> Array:
    """Values of float32 without the lowest ``bits`` of the significand, rounded to nearest, ties away from zero."""
    import numpy as np

    code = values.view(np.uint32)
    rounded = np.where(np.isnan(values), code | np.uint32(1 << 22), code + np.uint32(1 << (bits - 1)))
    result: Array = (rounded & ~np.uint32((1 << bits) - 1)).astype(np.uint32).view(np.float32)
    return result


def decode(stored: Array, element: Element) -> Float64:
    """The exact values of a storage array, as float64. Raises TypeError if the array has another storage type."""
    import numpy as np

    if stored.dtype != element.storage:
        raise TypeError(f"{element.name} is stored as {element.storage}, this array is {stored.dtype}")
    if element.storage == element.wide:
        return stored.astype(np.float64)
    if element.specials != "ieee":
        by_code: Float64 = _codes(element)[stored]
        return by_code
    unit = np.dtype(f"u{element.wide.itemsize}")
    cut = unit.type(8 * (unit.itemsize - element.bytes))
    wide: Array = (stored.astype(unit) << cut).view(element.wide)
    exact: Float64 = wide.astype(np.float64)
    return exact


def _codes(element: Element) -> Float64:
    """The values of all 256 codes of a type of 8 bits."""
    import numpy as np

    code, hidden = np.arange(256), 1 << (element.precision - 1)
    exponent, fraction = (code & 0x7F) // hidden, code % hidden
    steps = np.where(exponent > 0, fraction + hidden, fraction)  # of the spacing at this exponent
    values: Float64 = np.where(code < 128, 1.0, -1.0) * element.least * np.ldexp(steps, np.maximum(exponent - 1, 0))
    if element.specials == "inf":
        first = 128 - hidden
        values[[first, 128 + first]] = np.inf, -np.inf
        values[[code for code in range(256) if code % 128 > first]] = np.nan
    else:
        values[[0x80] if element.specials == "fnuz" else [0x7F, 0xFF]] = np.nan
    return values


def _encode_by_table(values: Array, element: Element) -> Array:
    """The nearest code of each value. A tie goes to the even code, which has the even significand."""
    import numpy as np

    numbers = _codes(element)[:128]
    numbers = numbers[np.isfinite(numbers)]
    size = np.abs(values.astype(np.float64))
    beyond = numbers.size  # where the code after the last would be
    middles = (numbers + np.append(numbers[1:], 2 * numbers[-1] - numbers[-2])) / 2
    above = np.searchsorted(middles, size)  # a tie is not above the middle
    tie = (above < beyond) & (size == middles[np.minimum(above, beyond - 1)])
    code = above + (tie & (above % 2 == 1))
    negative = np.signbit(values) & ((code > 0) | (element.specials != "fnuz"))
    nan = np.isnan(values) | ((code >= beyond) & (element.specials != "inf"))
    code = np.minimum(code, beyond) + 128 * negative  # the code after the last number is infinity, where there is one
    result: Array = np.where(nan, {"fnuz": 0x80, "fn": 0x7F, "inf": 0x7E}[element.specials], code)
    return result.astype(element.storage)

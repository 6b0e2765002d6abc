"""The rows of element types and data types: bits of 16-bit storage, names elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from ckgen.cli.select import select_command
from ckgen.conv.dtypes import DTYPES, ELEMENTS, Element
from ckgen.conv.encoding import decode, encode

E5M2 = Element("e5m2", "u1", "f2", 3, 2.0**-16, "f8_t", "float8_e5m2", (12, 8))
E4M3 = Element("e4m3", "u1", "f4", 4, 2.0**-9, "f8_t", "float8_e4m3fn", (10, 8), "fn")
E4M3_FNUZ = Element("e4m3_fnuz", "u1", "f4", 4, 2.0**-10, "f8_t", "float8_e4m3fnuz", (11, 8), "fnuz")


def test_an_element_of_eight_bits_is_the_upper_half_of_a_float16() -> None:
    values = np.array([1.0, 1.125, 1.375, 1.25, -0.0, np.inf, np.nan, 2.0**-16, 57344.0])
    stored = encode(values, E5M2)
    assert [f"{value:02x}" for value in stored] == ["3c", "3c", "3e", "3d", "80", "7c", "7e", "01", "7b"]
    assert np.array_equal(decode(stored, E5M2)[:6], [1.0, 1.0, 1.5, 1.25, -0.0, np.inf])
    assert np.isnan(decode(stored, E5M2)[6]) and decode(stored, E5M2)[7] == E5M2.least


def test_an_element_that_is_the_half_of_no_type_is_rounded_to_its_nearest_code() -> None:
    """Largest numbers and NaN: OCP's 8-bit floating point specification, table 1; FNUZ: arXiv 2206.02915."""
    values = np.array([448.0, 464.0, -1e9, np.nan, 1.0625, 1.1875, -(2.0**-9), 2.0**-10, -0.0])
    assert [f"{code:02x}" for code in encode(values, E4M3)] == ["7e", "7e", "7f", "7f", "38", "3a", "81", "00", "80"]
    values = np.array([240.0, 247.0, 248.0, np.nan, 1.0625, 1.1875, -(2.0**-10), 2.0**-11, -0.0])
    assert [f"{code:02x}" for code in encode(values, E4M3_FNUZ)] == [
        *("7f", "7f", "80", "80", "40", "42", "81", "00", "00")
    ]
    for element, nans in ((E4M3, 2), (E4M3_FNUZ, 1)):
        codes = np.arange(256, dtype=np.uint8)
        numbers = ~np.isnan(decode(codes, element))
        assert np.count_nonzero(~numbers) == nans
        assert np.array_equal(encode(decode(codes, element), element)[numbers], codes[numbers])


@pytest.mark.parametrize("element", [*ELEMENTS.values(), E5M2, E4M3, E4M3_FNUZ], ids=lambda element: element.name)
def test_a_row_says_of_its_numbers_what_its_storage_holds(element: Element) -> None:
    unused = 13 if element.name == "tf32" else 0  # bits of a float32 that tf32 leaves zero
    unit = np.array([1 << unused], f"u{element.bytes}")
    assert decode(unit.view(element.storage), element)[0] == element.least
    one = encode(np.array([1.0]), element).view(f"u{element.bytes}")
    after = decode((one + unit).view(element.storage), element)[0]
    assert after - 1.0 == (1 if element.integer else 2 * element.unit_roundoff)


def test_an_array_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="bf16 is stored as uint16"):
        decode(np.ones(1, np.float16), ELEMENTS["bf16"])
    with pytest.raises(AssertionError, match="kept as"):
        Element("bf16", "i2", "f4", 8, 2.0**-133, "bhalf_t", "bfloat16", (4, 16))
    with pytest.raises(AssertionError, match="a table of 2 bytes"):
        Element("bf16", "u2", "f4", 8, 2.0**-133, "bhalf_t", "bfloat16", (4, 16), "fn")


def test_the_command_line_names_every_data_type() -> None:
    [option] = [option for option in select_command.params if option.name == "dtype"]
    assert all(dtype in str(getattr(option, "help", "")) for dtype in DTYPES)

"""Parts of the emulator that need no compiler: pseudocode, waits, widths, debug lines."""

from __future__ import annotations

import struct

import pytest

from ckgen.machine_code.emulator.accesses import signed, width_of
from ckgen.machine_code.emulator.control import _limits
from ckgen.machine_code.emulator.decode import pseudocode_of
from ckgen.machine_code.emulator.lines import SourceLines
from ckgen.machine_code.emulator.program import Decoder, instruction
from ckgen.machine_code.emulator.pseudocode import translate
from ckgen.machine_code.emulator.unsupported import Unsupported


def test_pseudocode_becomes_statements() -> None:
    made = translate("tmp = 64'U(S0.u32) + 64'U(S1.u32);\nSCC = tmp >= 0x100000000ULL ? 1'1U : 1'0U", zero_high=False)
    assert made.lines[0] == "auto tmp = (u64(as<u32>(S0)) + u64(as<u32>(S1)));"
    assert made.reads >= {"S0", "S1"} and made.writes == {"tmp", "SCC"}


def test_a_single_bit_is_set() -> None:
    (line,) = translate("D0.u32[S0.u32[4 : 0]] = 1'1U", zero_high=False).lines
    assert line.count("field(as<u32>(S0), 4, 0)") == 2


def test_a_branch_that_is_not_taken_does_not_jump() -> None:
    text = pseudocode_of("cdna")["S_CBRANCH_SCC1"]["SOPPOp"]
    lines = translate(text, zero_high=False).lines
    assert sum("w.jumped" in line for line in lines) == 1 and lines[-1] == "}"


def test_results_of_sixteen_bits_keep_or_clear_the_high_half() -> None:
    text = "D0.u16 = S0.u16 + S1.u16"
    assert "set_field(D0, 15, 0" in translate(text, zero_high=False).lines[0]
    assert translate(text, zero_high=True).lines[0].startswith("D0 = stored<u16>")


@pytest.mark.parametrize(
    "text",
    [
        "D0 = MEM[addr].b32",
        "x = unheard_of(S0)",
        "if SCC then y = 1 endif; D0.u32 = y",
        "D0.b32 = { S0[3 : 0], S1.u8 }",
    ],
)
def test_other_pseudocode_is_refused(text: str) -> None:
    with pytest.raises(Unsupported):
        translate(text, zero_high=False)


@pytest.mark.parametrize(
    ("name", "size", "flags"),
    [
        ("BUFFER_LOAD_DWORDX4", 16, 0),
        ("BUFFER_LOAD_SHORT_D16_HI", 2, 8),
        ("BUFFER_LOAD_D16_B16", 2, 4),
        ("GLOBAL_LOAD_SBYTE", 1, 2),
        ("DS_WRITE2ST64_B64", 8, 1),
        ("DS_LOAD_2ADDR_B32", 4, 0),
        ("DS_READ_B64_TR_B16", 8, 0),
    ],
)
def test_widths_of_accesses(name: str, size: int, flags: int) -> None:
    assert width_of(name) == (size, flags)


def test_what_is_not_a_plain_access_is_refused() -> None:
    with pytest.raises(Unsupported):
        width_of("GLOBAL_ATOMIC_ADD_F64")
    assert (signed(0x1FFF, 13), signed(5, 13)) == (-1, 5)


def test_a_wait_above_zero_says_nothing_about_scalar_loads() -> None:
    assert _limits(0xC17F, "cdna") == [0, 0, 2, 0]  # lgkmcnt(1)
    assert _limits(0x0F70, "cdna") == [1, 0, 0, 0]  # vmcnt(0)
    assert _limits(0xFC07, "rdna3") == [0, 0, 1, 1]  # lgkmcnt(0)


def test_instructions_are_decoded_once_and_placed_where_they_are() -> None:
    s_nop, s_branch, s_endpgm = (struct.pack("<I", word) for word in (0xBF800000, 0xBF820000, 0xBF810000))
    found = Decoder("gfx942").instructions(s_nop + s_nop + s_branch + s_endpgm, 0)
    assert [(item.name, item.offset) for item in found][1::2] == [("S_NOP", 4), ("S_ENDPGM", 12)]
    assert found[2].target == 12


def test_an_instruction_that_is_not_run_is_named_with_its_place() -> None:
    with pytest.raises(Unsupported, match=r"byte 0: FLAT_ATOMIC_ADD"):
        Decoder("gfx942").instructions(struct.pack("<II", 0xDD080000, 0x00000200), 0)
    with pytest.raises(Unsupported, match="an atomic operation other than ADD_F32, PK_ADD_F16 without a result"):
        Decoder("gfx942").instructions(struct.pack("<II", 0xDD358000, 0x00000200), 0)
    with pytest.raises(Unsupported, match="stride|idxen"):
        instruction(struct.pack("<II", 0xE0502000, 0x80010100), "gfx942", 0)


def test_lines_of_debug_information() -> None:
    program = bytes([0, 9, 2]) + struct.pack("<Q", 0x100) + bytes([3, 6, 1, 2, 8, 3, 1, 1, 0, 1, 1])
    files = bytes([1, 1, 0x08]) + bytes([1]) + b".\0" + bytes([2, 1, 0x08, 2, 0x0B, 2]) + b"a.hpp\0\0b.hpp\0\0"
    header = bytes([1, 1, 1, 0xFB, 14, 13]) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + files
    unit = struct.pack("<HBBI", 5, 8, 0, len(header)) + header + program
    lines = SourceLines({".debug_line": struct.pack("<I", len(unit)) + unit})
    assert [lines.at(address) for address in (0xFF, 0x100, 0x107, 0x108)] == ["", "b.hpp:7", "b.hpp:7", "b.hpp:8"]
    assert SourceLines({}).at(0x100) == ""

"""Faults planted in a small kernel, instruction by instruction: each must be reported, and the kernel without is right.

Two waves exchange their inputs through LDS. Faults in the instances' own kernels: tests/kernels/test_emulated.py.
"""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ckgen.build.toolchain import find_toolchain
from ckgen.machine_code.emulator.code_object import CodeObject
from ckgen.machine_code.emulator.launch import Fault, Memory, Schedule
from tests.machine_code.emulator.names import names_of
from tests.machine_code.emulator.single import _KERNEL, LANES
from tests.machine_code.emulator.test_instructions import EMULATOR

_GFX9 = {
    "WAIT_ARGUMENTS": "s_waitcnt lgkmcnt(0)",
    "WAIT_LOADS": "s_waitcnt vmcnt(0)",
    "WAIT_LDS": "s_waitcnt lgkmcnt(0)",
}
_GFX12 = {"WAIT_ARGUMENTS": "s_wait_kmcnt 0", "WAIT_LOADS": "s_wait_loadcnt 0", "WAIT_LDS": "s_wait_dscnt 0"}
_BODY = """
\tS_LOAD s[4:7], s[0:1], 0x0
\tWAIT_ARGUMENTS
\tv_lshlrev_b32 v1, 2, v0
\ts_mov_b32 s8, s4
\ts_and_b32 s9, s5, 0xffff
\ts_mov_b32 s10, {bytes}
\ts_mov_b32 s11, {format}
\ts_mov_b32 s12, 0
\tv_readfirstlane_b32 s20, v0
\tbuffer_load_WORD v2, v1, s[8:11], s12 offen
\tbuffer_load_WORD v5, v1, s[8:11], s12 offen
\tWAIT_LOADS
\tPUT v1, v2
\tWAIT_LDS
\tBARRIER
\tv_xor_b32 v3, {wave_bytes}, v1
\tGET v4, v3
\tWAIT_LDS
\tv_sub_STEP v6, v2, v5
\tv_add_STEP v4, v4, v6
\tglobal_store_WORD v1, v4, s[6:7]
"""


def body(arch: str) -> str:
    """The right kernel."""
    cdna = LANES[arch] == 64
    names = dict(_GFX12 if arch == "gfx1201" else _GFX9)
    names |= {"S_LOAD": "s_load_dwordx4" if cdna else "s_load_b128", "WORD": "dword" if cdna else "b32"}
    names |= {"PUT": "ds_write_b32" if cdna else "ds_store_b32", "GET": "ds_read_b32" if cdna else "ds_load_b32"}
    names |= {"STEP": "u32" if cdna else "nc_u32"}
    names["BARRIER"] = "s_barrier_signal -1\n\ts_barrier_wait -1" if arch == "gfx1201" else "s_barrier"
    text = _BODY.format(bytes=8 * LANES[arch], wave_bytes=4 * LANES[arch], format="0x27000" if cdna else "0x31004000")
    for name, value in names.items():
        text = text.replace(name, value)
    return text


def run(arch: str, text: str, folder: Path, seed: int = 1) -> tuple[bool, set[str]]:
    """True if a kernel's results are right, and the names of its instructions."""
    extra = ".amdhsa_accum_offset 256" if LANES[arch] == 64 else ".amdhsa_wavefront_size32 1"
    source, target = folder / "fault.s", folder / "fault.co"
    lds = 8 * LANES[arch]
    source.write_text(_KERNEL.format(arch=arch, name="fault", body=text, extra=extra, lds=lds))
    command = (*find_toolchain().device_compiler(arch), "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}")
    subprocess.run((*command, "-x", "assembler", str(source), "-o", str(target)), check=True)
    code, threads = CodeObject.read(target), 2 * LANES[arch]
    given, out = np.arange(threads, dtype=np.uint32) * np.uint32(2654435761), np.zeros(threads, np.uint32)
    memory = Memory()
    addresses = memory.add("in", given, writable=False), memory.add("out", out, writable=True)
    prepared = EMULATOR.prepare(code, "fault")
    arguments = struct.pack("<QQ", *addresses)
    EMULATOR.launch(prepared, arch, 1, threads, arguments, memory, Schedule(True, seed))
    memory.need_written("out")
    names = {name for item in prepared.code for name in names_of(item)}
    return bool(np.array_equal(out, np.roll(given, LANES[arch]))), names


_SKIP = r"s_cmp_eq_u32 s20, 0\n\ts_cbranch_scc1 .Lskip\n\t\1\n.Lskip:\n"
_BARRIER = r"(s_barrier|s_barrier_signal -1\n\ts_barrier_wait -1)\n"
_NOT_ALL = "is a barrier that not all waves reach"
# A read before the other wave's store is a race, or, if it comes first, reads what nobody wrote.
_RACE = r"(races: it \w+ LDS that another wave \w+)|(uses register v4, which has no value.*ds_(read|load))"
_NO_WAIT = r"misses a wait: it reads register {} before its load has arrived; the other side, wave \d: {}"
FAULTS: dict[str, tuple[str, str, str]] = {
    "no wait for arguments": (r"(0x0\n\t)s_wait\w+ [^\n]+", r"\1s_nop 0", _NO_WAIT.format(r"s\d", "s_load")),
    "no wait for memory": (
        r"(offen\n\t)s_wait(cnt vmcnt\(0\)|_loadcnt 0)",
        r"\1s_nop 0",
        _NO_WAIT.format("v2", "buffer_load"),
    ),
    "a wait for one load too few": (
        r"(offen\n\ts_wait)(cnt vmcnt\(|_loadcnt )0",
        r"\1\g<2>1",
        _NO_WAIT.format("v5", "buffer_load"),
    ),
    "no wait for LDS": (r"(v4, v3\n\t)s_wait[^\n]+", r"\1s_nop 0", _NO_WAIT.format("v4", "ds_(read|load)")),
    "no wait for LDS before the barrier": (r"(v1, v2\n\t)s_wait[^\n]+", r"\1s_nop 0", _RACE),
    "no barrier": (_BARRIER, "s_nop 0\n", _RACE),
    "a barrier of one wave only": (_BARRIER, _SKIP, rf"({_NOT_ALL})|({_RACE})"),
    "a second barrier of one wave": (
        r"(ds_\w+ v1, v2)(.*?)" + _BARRIER,
        _SKIP.replace(r"\1", r"\3") + r"\t\1\2\3\n",
        _RACE,
    ),
    "a descriptor that is one element too long": (
        r"(v_lshlrev_b32 v1, 2, v0)(.*)(s_mov_b32 s10, )(\d+)(.*)(offen)",
        r"\1\2s_movk_i32 s10, 0x7ff\5offen offset:4",
        r"buffer_load.* reads bytes \d+\.\.\d+ of in, which has \d+",
    ),
    "an LDS offset past the end": (
        r"(ds_\w+ v1, v2)",
        r"\1 offset:256",
        r"touches bytes \d+\.\.\d+ of \d+ bytes of LDS",
    ),
    "an LDS offset of one element": (r"(ds_\w+ v4, v3)", r"\1 offset:4", r"(touches bytes \d+\.\.\d+ of \d+ bytes)"),
    "an LDS offset at which nobody wrote": (r"(ds_\w+) v1, v2", r"\1 v0, v2", r"(which has no value, as)|(races: it)"),
    "a register without a value": (
        r"global_store_(\w+) v1, v4",
        r"global_store_\1 v1, v9",
        r"uses register v9, which has no value, as",
    ),
    "an address without a value": (
        r"global_store_(\w+) v1, v4",
        r"global_store_\1 v9, v4",
        r"uses register v9, which has no value, as",
    ),
    "arguments at a wrong offset": (
        r"(s\[0:1\], )0x0",
        r"\g<1>0x8",
        r"(s_load\w+\(.* reads bytes 8\.\.\d+ of the kernel's arguments)",
    ),
    "arguments exchanged": (r"s\[6:7\]\n", "s[4:5]\n", "writes to in, which is input"),
    "a scalar register without a value": (
        r"(s_mov_b32 s10), \d+",
        r"\1, s25",
        r"uses register s10, which has no value, as|uses register s25, which",
    ),
}


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("arch", LANES)
def test_a_right_kernel_passes_and_each_planted_fault_is_reported(arch: str, tmp_path: Path) -> None:
    right = body(arch)
    ok, names = run(arch, right, tmp_path)
    assert ok and WAITS[arch] <= names
    missed = dict[str, str]()
    for name, (pattern, instead, report) in FAULTS.items():
        text, count = re.subn(pattern, instead, right, flags=re.DOTALL)
        assert count, name
        try:
            missed[name] = f"no report; results are {'right' if run(arch, text, tmp_path)[0] else 'wrong'}"
        except Fault as fault:
            if not re.search(report, str(fault)):
                missed[name] = str(fault)
    assert not missed, "\n".join(f"{name}: {said}" for name, said in missed.items())


# Waits and barriers that these faults take away. The others are checked by their decoded limits, below.
_COMMON = {"S_WAITCNT", "S_BARRIER"}
WAITS = {
    **dict.fromkeys(("gfx90a", "gfx942", "gfx950", "gfx1100"), _COMMON),
    "gfx1201": {"S_WAIT_KMCNT", "S_WAIT_LOADCNT", "S_WAIT_DSCNT", "S_BARRIER_SIGNAL", "S_BARRIER_WAIT"},
}
_BARRIER_FAULTS = ("no barrier", "a barrier of one wave only", "a second barrier of one wave")
_LDS_FAULTS = ("no wait for LDS", "no wait for LDS before the barrier")
_LOAD_FAULTS = ("no wait for memory", "a wait for one load too few")
FAULTS_OF = {
    "S_WAITCNT": ("no wait for arguments", *_LOAD_FAULTS, *_LDS_FAULTS),
    "S_WAIT_KMCNT": ("no wait for arguments",),
    "S_WAIT_LOADCNT": _LOAD_FAULTS,
    "S_WAIT_DSCNT": _LDS_FAULTS,
    **dict.fromkeys(("S_BARRIER", "S_BARRIER_SIGNAL", "S_BARRIER_WAIT"), _BARRIER_FAULTS),
}
# Limits, plus 1, of loads, stores, LDS and scalar loads.
LIMITS = {
    "gfx1100": {"s_waitcnt_vscnt null, 3": ("S_WAITCNT_VSCNT", [0, 4, 0, 0])},
    "gfx1201": {
        "s_wait_loadcnt_dscnt 0x203": ("S_WAIT_LOADCNT_DSCNT", [3, 0, 4, 0]),
        "s_wait_storecnt_dscnt 0x102": ("S_WAIT_STORECNT_DSCNT", [0, 2, 3, 0]),
        "s_wait_storecnt 5": ("S_WAIT_STORECNT", [0, 6, 0, 0]),
    },
}


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("arch", LIMITS)
def test_waits_have_the_limits_that_they_name(arch: str, tmp_path: Path) -> None:
    source, target = tmp_path / "waits.s", tmp_path / "waits.co"
    text = "\n\t".join(LIMITS[arch])
    extra = ".amdhsa_wavefront_size32 1"
    source.write_text(_KERNEL.format(arch=arch, name="waits", body=f"\t{text}", extra=extra, lds=0))
    command = (*find_toolchain().device_compiler(arch), "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}")
    subprocess.run((*command, "-x", "assembler", str(source), "-o", str(target)), check=True)
    decoded = EMULATOR.prepare(CodeObject.read(target), "waits").code
    assert [(item.name, item.parameters) for item in decoded[:-1]] == list(LIMITS[arch].values())


@pytest.mark.compiles
@pytest.mark.quick
def test_a_wait_for_loads_and_lds_at_once_is_both(tmp_path: Path) -> None:
    right = body("gfx1201")
    both = right.replace("s_wait_loadcnt 0", "s_wait_loadcnt_dscnt 0x0")
    assert run("gfx1201", both, tmp_path)[0]
    lds = right.replace("v4, v3\n\ts_wait_dscnt 0", "v4, v3\n\ts_wait_storecnt_dscnt 0x3f00")
    assert run("gfx1201", lds, tmp_path)[0]
    for text in (both.replace("0x0\n\tds_store", "0x100\n\tds_store"), lds.replace("0x3f00", "0x3f01")):
        with pytest.raises(Fault, match="misses a wait"):
            run("gfx1201", text, tmp_path)

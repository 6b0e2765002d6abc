"""An AMD code object in memory: its segments, in which the machine code can be read, and its kernels by name.

Formats: LLVM's "User Guide for AMDGPU Backend", sections "ELF Code Object" and "Code Object V3 Kernel Descriptor".
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from pathlib import Path

_LOAD, _DYNAMIC_SYMBOLS = 1, 11
_USER_SGPRS = (
    4,
    2,
    2,
    2,
    2,
    2,
    1,
)  # for the descriptor's property bits: buffer, dispatch, queue, kernarg, id, flat, size
_KERNARG_BIT = 3
_GFX90A = 0x3F  # EF_AMDGPU_MACH
_CDNA_MACHINES = (_GFX90A, 0x4C, 0x4F)  # gfx942 and gfx950


@dataclass(frozen=True)
class Kernel:
    """The address of a kernel's first instruction (in this process) and the fields of its descriptor."""

    name: str
    entry: int
    lds_bytes: int
    scratch_bytes: int
    wave_size: int
    kernarg_register: int  # the first of the two SGPRs that hold the arguments' address
    user_registers: int  # SGPRs before the one with the workgroup's number


class CodeObject:
    """A loaded code object. The memory lives as long as this object."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        assert data[:4] == b"\x7fELF", f"{path} is no ELF file"
        machine = struct.unpack_from("<I", data, 48)[0] & 0xFF
        self.arch, self.is_gfx90a = "cdna" if machine in _CDNA_MACHINES else "rdna3", machine == _GFX90A
        header, sections = struct.unpack_from("<QQ", data, 32)
        header_size, header_count, section_size, section_count = struct.unpack_from("<HHHH", data, 54)
        segments = [struct.unpack_from("<IIQQQQQQ", data, header + i * header_size) for i in range(header_count)]
        loads = [segment for segment in segments if segment[0] == _LOAD]
        self._memory = (ctypes.c_uint8 * (max(s[3] + s[6] for s in loads) + 4096))()
        self._base = (ctypes.addressof(self._memory) + 4095) & ~4095
        for _, _, offset, address, _, size, _, _ in loads:
            ctypes.memmove(self._base + address, data[offset : offset + size], size)
        table = [struct.unpack_from("<IIQQQQIIQQ", data, sections + i * section_size) for i in range(section_count)]
        symbols = next(section for section in table if section[1] == _DYNAMIC_SYMBOLS)
        strings = table[symbols[6]][4]
        self.kernels: dict[str, Kernel] = {}
        for i in range(symbols[5] // 24):
            name_at, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", data, symbols[4] + 24 * i)
            name = data[strings + name_at : data.index(b"\0", strings + name_at)].decode()
            if name.endswith(".kd"):
                self.kernels[name[:-3]] = self._kernel(name[:-3], value)

    def _kernel(self, name: str, address: int) -> Kernel:
        raw = ctypes.string_at(self._base + address, 64)
        lds, scratch, _ = struct.unpack_from("<III", raw, 0)
        (entry,) = struct.unpack_from("<q", raw, 16)
        _, _, second, properties, preloaded = struct.unpack_from("<IIIHH", raw, 44)
        assert not preloaded, f"{name}: preloaded kernel arguments are not emulated"
        assert properties >> _KERNARG_BIT & 1, f"{name} takes no arguments"
        before = sum(size for bit, size in enumerate(_USER_SGPRS[:_KERNARG_BIT]) if properties >> bit & 1)
        wave = 32 if properties >> 10 & 1 else 64
        return Kernel(name, self._base + address + entry, lds, scratch, wave, before, second >> 1 & 31)

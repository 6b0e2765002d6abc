"""An AMD code object: its code, its kernels, and their descriptors.

Formats: LLVM's "User Guide for AMDGPU Backend", sections "ELF Code Object" and "Kernel Descriptor".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

from ckgen.machine_code.emulator.unsupported import Unsupported

_LOAD, _DYNAMIC_SYMBOLS = 1, 11
# SGPRs for the descriptor's property bits: buffer, dispatch, queue, kernarg, dispatch id, flat scratch, size.
_USER_SGPRS = (4, 2, 2, 2, 2, 2, 1)
_KERNARG_BIT, _WAVE32_BIT = 3, 10
_FLOAT_MODE = 0xF0  # round to nearest even, no flushing of denormals
_MACHINES = {0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950", 0x41: "gfx1100", 0x4E: "gfx1201"}  # EF_AMDGPU_MACH


@dataclass(frozen=True)
class Kernel:
    """A kernel's entry, as an offset in the image, and the fields of its descriptor."""

    name: str
    entry: int
    lds_bytes: int
    scratch_bytes: int
    wave_size: int
    kernarg_register: int  # the first of the two SGPRs that hold the arguments' address
    user_registers: int  # SGPRs before the one with the workgroup's number
    has_y: bool  # the next SGPR has its place in y
    has_z: bool


@dataclass(frozen=True)
class CodeObject:
    """A code object as it lies in memory. `sections` are the bytes of each section, for debug information; `refused`
    are the reasons against kernels that cannot be run."""

    arch: str
    image: bytes
    kernels: dict[str, Kernel]
    sections: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def kernel(self, name: str) -> Kernel:
        """A kernel. Raises Unsupported if it cannot be run."""
        if name in self.refused:
            raise Unsupported(self.refused[name])
        return self.kernels[name]

    @classmethod
    def read(cls, path: Path) -> CodeObject:
        """Read a file. Raises Unsupported if it is not a code object of a known architecture."""
        return parse(path.read_bytes())


def parse(data: bytes) -> CodeObject:
    """The code object in an ELF file's bytes."""
    machine = struct.unpack_from("<I", data, 48)[0] & 0xFF if data[:4] == b"\x7fELF" else 0
    if machine not in _MACHINES:
        raise Unsupported("a file that is not a code object of a known architecture")
    image = _image(data)
    at, size, count, names = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HHH", data, 58)
    table = [struct.unpack_from("<IIQQQQIIQQ", data, at + k * size) for k in range(count)]
    strings = table[names][4]
    sections = {_text(data, strings + row[0]): data[row[4] : row[4] + row[5]] for row in table if row[1] != 8}
    kernels, refused = dict[str, Kernel](), dict[str, str]()
    for name, value in _symbols(data, table):
        if name.endswith(".kd"):
            try:
                kernels[name[:-3]] = _kernel(name[:-3], image, value)
            except Unsupported as error:
                refused[name[:-3]] = str(error)
    return CodeObject(_MACHINES[machine], image, kernels, sections, refused)


def _image(data: bytes) -> bytes:
    at = struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", data, at + k * size) for k in range(count)]
    loads = [segment for segment in segments if segment[0] == _LOAD]
    image = bytearray(max(segment[3] + segment[6] for segment in loads))
    for _, _, offset, address, _, bytes_, _, _ in loads:
        image[address : address + bytes_] = data[offset : offset + bytes_]
    return bytes(image)


def _symbols(data: bytes, table: list[tuple[int, ...]]) -> list[tuple[str, int]]:
    symbols = next(section for section in table if section[1] == _DYNAMIC_SYMBOLS)
    strings = table[symbols[6]][4]
    found = []
    for k in range(symbols[5] // 24):
        name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", data, symbols[4] + 24 * k)
        found.append((_text(data, strings + name), value))
    return found


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _kernel(name: str, image: bytes, at: int) -> Kernel:
    lds, scratch, _ = struct.unpack_from("<III", image, at)
    (entry,) = struct.unpack_from("<q", image, at + 16)
    _, first, second, properties, preloaded = struct.unpack_from("<IIIHH", image, at + 44)
    if preloaded:
        raise Unsupported(f"{name}: arguments that are loaded before the kernel starts")
    if not properties >> _KERNARG_BIT & 1:
        raise Unsupported(f"{name}: a kernel without arguments")
    if first >> 12 & 0xFF != _FLOAT_MODE:
        raise Unsupported(f"{name}: a float mode other than rounding to nearest without flushing denormals")
    before = sum(count for bit, count in enumerate(_USER_SGPRS[:_KERNARG_BIT]) if properties >> bit & 1)
    wave = 32 if properties >> _WAVE32_BIT & 1 else 64
    y, z = bool(second >> 8 & 1), bool(second >> 9 & 1)
    return Kernel(name, at + entry, lds, scratch, wave, before, second >> 1 & 31, y, z)

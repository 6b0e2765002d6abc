"""Memory instructions in numpy: widths, signs, offsets, bounds, strides, transposition.

s[4:5] is the array of inputs, of 32 bytes per lane, at which v1 points; s[6:7] that of results, of 64 bytes per lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tests.machine_code.emulator.semantics import ALL, CDNA, RDNA, Semantics, Values, f32, half, packed
from tests.machine_code.emulator.single import Words

U = np.uint32
_WORDS = (("dword", "b32", 1), ("dwordx2", "b64", 2), ("dwordx3", "b96", 3), ("dwordx4", "b128", 4))
_SMALL = (("ubyte", "u8"), ("sbyte", "i8"), ("ushort", "u16"), ("sshort", "i16"))


def _rows(first: int, count: int) -> Callable[[Words], list[Values]]:
    return lambda x: [x[first + k] for k in range(count)]


def _part(at: int, kind: str) -> Callable[[Words], list[Values]]:
    """The byte or half at byte `at` of a lane, extended."""

    def meaning(x: Words) -> list[Values]:
        data = np.ascontiguousarray(x.T).view(np.uint8)
        value = np.ascontiguousarray(data[:, at : at + int(kind[1:]) // 8]).view(f"{kind[0]}{int(kind[1:]) // 8}")
        return [value[:, 0].astype(np.int64).astype(U)]

    return meaning


def _memory(text: str, meaning: Callable[[Words], list[Values]], archs: tuple[str, ...], results: int = 1) -> Semantics:
    name = next(line for line in text.split("\n\t") if "@" in line).replace("@", "").partition(" ")[0].upper()
    return Semantics(f"{name} {text}", text.replace("@", ""), meaning, archs, results, own=(name,))


# The address of a lane's inputs in v[2:3], and of its results.
_ADDRESS = {
    CDNA: "v_mov_b32 v3, s5\n\tv_add_co_u32 v2, vcc, s4, v1\n\tv_addc_co_u32 v3, vcc, 0, v3, vcc\n\t",
    RDNA: "v_add_co_u32 v2, vcc_lo, s4, v1\n\tv_add_co_ci_u32_e64 v3, null, s5, 0, vcc_lo\n\t",
}
_TARGET = {
    CDNA: "v_lshlrev_b32 v4, 6, v0\n\tv_mov_b32 v3, s7\n\tv_add_co_u32 v2, vcc, s6, v4\n\t"
    "v_addc_co_u32 v3, vcc, 0, v3, vcc\n\t",
    RDNA: "v_lshlrev_b32 v4, 6, v0\n\tv_add_co_u32 v2, vcc_lo, s6, v4\n\t"
    "v_add_co_ci_u32_e64 v3, null, s7, 0, vcc_lo\n\t",
}
# A descriptor of the inputs in s[8:11] with s10 bytes.
_BUFFER = "s_mov_b32 s8, s4\n\ts_and_b32 s9, s5, 0xffff\n\ts_movk_i32 s10, {size}\n\ts_mov_b32 s11, {word}\n\t"
_BUFFER += "s_mov_b32 s12, 0\n\t"
_FORMAT = {CDNA: "0x27000", RDNA: "0x31004000"}


def _of(archs: tuple[str, ...], cdna: str, rdna: str) -> str:
    return cdna if archs == CDNA else rdna


def _global() -> Iterator[Semantics]:
    for archs in (CDNA, RDNA):
        for old, new, count in _WORDS:
            pair = f"v[20:{19 + count}]" if count > 1 else "v20"
            width = _of(archs, old, new)
            yield _memory(f"@global_load_{width} {pair}, v1, s[4:5] offset:4", _rows(1, count), archs, count)
            yield _memory(f"{_ADDRESS[archs]}@flat_load_{width} {pair}, v[2:3] offset:8", _rows(2, count), archs, count)
            yield _memory(
                f"{_ADDRESS[archs]}@global_load_{width} {pair}, v[2:3], off offset:12", _rows(3, count), archs, count
            )
            data = f"v[10:{9 + count}]" if count > 1 else "v10"
            back = f"\n\t$wait\n\tglobal_load_{width} {pair}, v[2:3], off offset:36"
            for form, end in (("global", ", off offset:36"), ("flat", " offset:36")):
                yield _memory(
                    f"{_TARGET[archs]}@{form}_store_{width} v[2:3], {data}{end}{back}", _rows(0, count), archs, count
                )
        for old, new in _SMALL:
            for at in (0, 2, 5 if "8" in new else 6):
                text = f"@global_load_{_of(archs, old, new)} v20, v1, s[4:5] offset:{at}"
                yield _memory(text, _part(at, new), archs)
                text = f"{_ADDRESS[archs]}@flat_load_{_of(archs, old, new)} v20, v[2:3] offset:{at}"
                yield _memory(text, _part(at, new), archs)
        for old, new, mask in (("byte", "b8", 0xFF), ("short", "b16", 0xFFFF)):
            start = "global_store_" + _of(archs, "dword", "b32") + " v[2:3], v11, off offset:32\n\t"
            load = "\n\t$wait\n\tglobal_load_" + _of(archs, "dword", "b32") + " v20, v[2:3], off offset:32"
            for form, end in (("global", ", off offset:34"), ("flat", " offset:34")):
                for name, shift in ((_of(archs, old, new), 0), (_of(archs, f"{old}_d16_hi", f"d16_hi_{new}"), 16)):
                    text = f"{_TARGET[archs]}{start}@{form}_store_{name} v[2:3], v10{end}{load}"
                    yield _memory(text, _stored(mask, shift), archs)
        high = f"@global_load_{_of(archs, 'short_d16_hi', 'd16_hi_b16')} v20, v1, s[4:5] offset:4"
        yield _memory(high, lambda x: [U(0x5A5A) | x[1] << U(16)], archs)
        low = f"@global_load_{_of(archs, 'short_d16', 'd16_b16')} v20, v1, s[4:5] offset:4"
        yield _memory(low, lambda x: [U(0x5A5A0000) | x[1] & U(0xFFFF)], archs)


def _stored(mask: int, shift: int = 0) -> Callable[[Words], list[Values]]:
    return lambda x: [x[1] & U(~(mask << 16) & 0xFFFFFFFF) | (x[0] >> U(shift) & U(mask)) << U(16)]


def _buffers() -> Iterator[Semantics]:
    for archs in (CDNA, RDNA):
        start = _BUFFER.format(size=1000, word=_FORMAT[archs])
        for old, new, count in _WORDS:
            pair = f"v[20:{19 + count}]" if count > 1 else "v20"
            text = (
                start
                + f"s_mov_b32 s12, 8\n\t@buffer_load_{_of(archs, old, new)} {pair}, v1, s[8:11], s12 offen offset:4"
            )

            def meaning(x: Words, count: int = count) -> list[Values]:
                """Words past byte 1000 are 0."""
                lanes = np.arange(x.shape[1])
                return [np.where(32 * lanes + 12 + 4 * k + 4 <= 1000, x[3 + k], 0) for k in range(count)]

            yield _memory(text, meaning, archs, count)
        for old, new in _SMALL:
            text = start + f"@buffer_load_{_of(archs, old, new)} v20, v1, s[8:11], s12 offen offset:8"
            small = _part(8, new)
            bytes_ = int(new[1:]) // 8
            yield _memory(
                text,
                lambda x, small=small, bytes_=bytes_: [
                    np.where(32 * np.arange(x.shape[1]) + 8 + bytes_ <= 1000, small(x)[0], 0)
                ],
                archs,
            )
        text = start + f"@buffer_load_{_of(archs, 'dword', 'b32')} v20, off, s[8:11], s12 offset:20"
        yield _memory(text, lambda x: [np.full_like(x[0], x[5][0])], archs)
        off = _BUFFER.format(size=998, word=_FORMAT[archs])  # a word of which half is inside is outside
        text = off + f"@buffer_load_{_of(archs, 'dword', 'b32')} v20, v1, s[8:11], s12 offen offset:4"
        yield _memory(text, lambda x: [np.where(32 * np.arange(x.shape[1]) + 8 <= 998, x[1], 0)], archs)


def _scalar_loads() -> Iterator[Semantics]:
    for archs in (CDNA, RDNA):
        for count in (1, 2, 4, 8, 16) if archs == CDNA else (1, 2, 3, 4, 8, 16):
            chosen = ("gfx1201",) if count == 3 else archs
            name = _of(archs, f"s_load_dword{'' if count == 1 else f'x{count}'}", f"s_load_b{32 * count}")
            first = 12 if count == 3 else 8
            pair = f"s[{first}:{first - 1 + count}]" if count > 1 else f"s{first}"
            moves = "".join(f"\n\tv_mov_b32 v{20 + k}, s{first + k}" for k in range(count))
            for offset, way in ((36, "0x24"), (64, "s20 offset:0x20")):
                if way.startswith("s20") and archs != CDNA and count > 8:
                    continue
                register = "s_mov_b32 s20, 0x20\n\t" if "s20" in way else ""
                text = f"{register}@{name} {pair}, s[4:5], {way}\n\t$wait{moves}"

                def meaning(x: Words, offset: int = offset, count: int = count) -> list[Values]:
                    flat = np.ascontiguousarray(x.T).reshape(-1)
                    return [np.full_like(x[0], flat[offset // 4 + k]) for k in range(count)]

                yield _memory(text, meaning, tuple(chosen), count)


def _lds() -> Iterator[Semantics]:
    """Lane n writes at 16 n (and 2048 on); it reads what lane n ^ 1 wrote. Waves are alone: they need no barrier."""
    place = "v_lshlrev_b32 v2, 4, v0\n\tv_xor_b32 v3, 16, v2\n\t"
    for archs in (CDNA, RDNA):
        store, load = _of(archs, "ds_write", "ds_store"), _of(archs, "ds_read", "ds_load")
        for _, width, count in _WORDS:
            data, pair = (f"v[10:{9 + count}]", f"v[20:{19 + count}]") if count > 1 else ("v10", "v20")
            for store_mark, load_mark in (("@", ""), ("", "@")):
                text = f"{place}{store_mark}{store}_{width} v2, {data} offset:64\n\t$wait\n\t"
                text += f"{load_mark}{load}_{width} {pair}, v3 offset:64"
                yield _memory(text, _swapped(range(count)), archs, count)
        for kind, high in (("u8", 0xFF), ("i8", 0xFF), ("u16", 0xFFFF), ("i16", 0xFFFF)):
            short = {"b8": "b8", "b16": "b16"}[f"b{kind[1:]}"]
            for store_mark, load_mark in (("@", ""), ("", "@")):
                text = f"{place}{store}_b32 v2, v11\n\t{store_mark}{store}_{short} v2, v10 offset:2\n\t$wait\n\t"
                text += f"{load_mark}{load}_{kind} v20, v3 offset:2\n\t{load}_b32 v21, v3"
                yield _memory(text, _lds_part(kind, high), archs, 2)
        for width, count in (("b32", 1), ("b64", 2)):
            a, b, e, f = (f"v[{k}:{k + 1}]" if count == 2 else f"v{k}" for k in (10, 12, 20, 22))
            whole = f"v[20:{19 + 2 * count}]"
            read2, write2 = (
                _of(archs, f"ds_read2_{width}", f"ds_load_2addr_{width}"),
                _of(archs, f"ds_write2_{width}", f"ds_store_2addr_{width}"),
            )
            far_read, far_write = (
                _of(archs, f"ds_read2st64_{width}", f"ds_load_2addr_stride64_{width}"),
                _of(archs, f"ds_write2st64_{width}", f"ds_store_2addr_stride64_{width}"),
            )
            sources = [0, 2] if count == 1 else [0, 1, 2, 3]
            both = ["v2", "v3"]
            near = f" offset0:{1 if count == 1 else 0} offset1:{3 if count == 1 else 1}"
            plain = place + f"{write2} {both[0]}, {a}, {b}{near}\n\t$wait\n\t{read2} {whole}, {both[1]}{near}"
            for marked in (write2, read2):
                yield _memory(plain.replace(marked, f"@{marked}", 1), _swapped(sources), archs, 2 * count)
            scale = 4 * count  # 16 n / (64 * size): lanes stay apart if they are `size` bytes apart
            step = f"v_lshlrev_b32 v2, {2 if count == 1 else 3}, v0\n\tv_xor_b32 v3, {scale}, v2\n\t"
            text = (
                step
                + f"{far_write} v2, {a}, {b} offset0:1 offset1:3\n\t$wait\n\t{far_read} {whole}, v3 offset0:1 offset1:3"
            )
            for marked in (far_write, far_read):
                yield _memory(text.replace(marked, f"@{marked}", 1), _swapped(sources), archs, 2 * count)
            one = step + f"@{far_write} v2, {a}, {b} offset0:1 offset1:3\n\t$wait\n\t"
            one += f"{load}_{width} {e}, v3 offset:{64 * scale}\n\t{load}_{width} {f}, v3 offset:{192 * scale}"
            gap = [20 + k for k in range(2 * count)] if count == 2 else [20, 22]
            if count == 2:
                yield _memory(one, _swapped(sources), archs, len(gap))
    yield _transposed()


def _swapped(sources: range | list[int]) -> Callable[[Words], list[Values]]:
    return lambda x: [x[k][np.arange(x.shape[1]) ^ 1] for k in sources]


def _lds_part(kind: str, mask: int) -> Callable[[Words], list[Values]]:
    def meaning(x: Words) -> list[Values]:
        part = np.ascontiguousarray((x[0] & U(mask)).astype(f"u{int(kind[1:]) // 8}")).view(
            f"{kind[0]}{int(kind[1:]) // 8}"
        )
        word = _stored(mask)(x)[0]
        other = np.arange(x.shape[1]) ^ 1
        return [part.astype(np.int64).astype(U)[other], word[other]]

    return meaning


def _transposed() -> Semantics:
    """Lane i of 16 gives the address of 4 halves of row i / 4, from 4 (i % 4) on, and gets column i of the rows."""

    def meaning(x: Words) -> list[Values]:
        halves = np.ascontiguousarray(np.stack([x[0], x[1]], -1)).view(np.uint16)  # [lane][4]
        blocks = halves.reshape(-1, 4, 16)  # [block of 16 lanes][row][column]
        columns = np.ascontiguousarray(blocks.transpose(0, 2, 1)).reshape(-1, 4)
        words = np.ascontiguousarray(columns).view(U)
        return [words[:, 0], words[:, 1]]

    text = "v_lshlrev_b32 v2, 3, v0\n\tds_write_b64 v2, v[10:11]\n\t$wait\n\t@ds_read_b64_tr_b16 v[20:21], v2"
    return _memory(text, meaning, ("gfx950",), 2)


def _scratch() -> Iterator[Semantics]:
    """Per-lane memory, from gfx942 on: what a lane stored it loads again, at an offset and at a lane's own address."""
    for archs in (("gfx942", "gfx950"), RDNA):
        for old, new, count in _WORDS:
            data, pair = (f"v[10:{9 + count}]", f"v[20:{19 + count}]") if count > 1 else ("v10", "v20")
            width = _of(CDNA if archs != RDNA else RDNA, old, new)
            for marks in ("@|", "|@"):
                store_mark, load_mark = marks.split("|")
                for place, start in (("off, ", ""), ("v2, ", "v_and_b32 v2, 3, v0\n\tv_lshlrev_b32 v2, 4, v2\n\t")):
                    text = f"{start}{store_mark}scratch_store_{width} {place}{data}, off offset:16\n\t$wait\n\t"
                    text += f"{load_mark}scratch_load_{width} {pair}, {place}off offset:16"
                    yield _memory(text, _rows(0, count), archs, count)
        word, half = ("dword", "ushort") if archs != RDNA else ("b32", "u16")
        text = f"scratch_store_{word} off, v10, off offset:8\n\t$wait\n\t@scratch_load_{half} v20, off, off offset:10"
        yield _memory(text, lambda x: [x[0] >> U(16)], archs)


def _buffer_stores() -> Iterator[Semantics]:
    for archs in (CDNA, RDNA):
        start = _BUFFER.format(size=2048, word=_FORMAT[archs]).replace("s4", "s6").replace("s5", "s7")
        word = _of(archs, "dword", "b32")
        start += f"v_lshlrev_b32 v2, 6, v0\n\tglobal_store_{word} v2, v11, s[6:7] offset:32\n\t"
        load = f"\n\t$wait\n\tglobal_load_{word} v20, v2, s[6:7] offset:32"
        for name, offset, mask in ((word, 32, 0xFFFFFFFF), (_of(archs, "short", "b16"), 34, 0xFFFF)):
            text = f"{start}@buffer_store_{name} v10, v2, s[8:11], s12 offen offset:{offset}{load}"

            def meaning(x: Words, mask: int = mask) -> list[Values]:
                """Stores past byte 2048 are dropped."""
                inside = 64 * np.arange(x.shape[1]) + 36 <= 2048
                return [np.where(inside, x[0] if mask == 0xFFFFFFFF else _stored(mask)(x)[0], x[1])]

            yield _memory(text, meaning, archs)


def _atomics() -> Iterator[Semantics]:
    """v11 in memory, to which v10 is added: as f32, or as two f16."""
    start = _TARGET[CDNA] + "global_store_dword v[2:3], v11, off offset:32\n\t"
    start += _BUFFER.format(size=4096, word=_FORMAT[CDNA]).replace("s4", "s6").replace("s5", "s7")
    load = "\n\t$wait\n\tglobal_load_dword v20, v[2:3], off offset:32"
    for name, meaning, bits in (("add_f32", _added, 32), ("pk_add_f16", _added_halves, 16)):
        for text in (
            f"@global_atomic_{name} v[2:3], v10, off offset:32",
            f"@buffer_atomic_{name} v10, v4, s[8:11], s12 offen offset:32",
        ):
            found = _memory(f"{start}{text}{load}", meaning, CDNA)
            yield replace(found, float_bits=bits)


def _added(x: Words) -> list[Values]:
    with np.errstate(all="ignore"):
        return [(f32(x[1]) + f32(x[0])).view(U)]


def _added_halves(x: Words) -> list[Values]:
    with np.errstate(all="ignore"):
        low, high = (half(x[1], part) + half(x[0], part) for part in (0, 1))
    return [packed(low, high)]


def cases() -> Iterator[Semantics]:
    """All of them."""
    assert (*CDNA, *RDNA) == ALL
    for family in (_global, _buffers, _buffer_stores, _atomics, _scalar_loads, _lds, _scratch):
        yield from family()

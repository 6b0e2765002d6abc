"""Source lines of machine code, from the line table of its debug information (DWARF 4 and 5, section 6.2)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping


class SourceLines:
    """The lines of a code object; empty without debug information."""

    def __init__(self, sections: Mapping[str, bytes]) -> None:
        self._sections = sections
        self._rows: list[tuple[int, str]] | None = None

    def at(self, address: int) -> str:
        """`file:line` of an address, empty if it is not known."""
        if self._rows is None:
            self._rows = sorted(_rows(self._sections)) if ".debug_line" in self._sections else []
        at = bisect_right(self._rows, (address, "\U0010ffff")) - 1
        return self._rows[at][1] if at >= 0 else ""


class _Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def number(self, size: int, signed: bool = False) -> int:
        """A fixed-size number."""
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little", signed=signed)

    def leb(self, signed: bool = False) -> int:
        """A LEB128 number."""
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> str:
        """A string that a zero ends."""
        end = self.data.index(b"\0", self.at)
        found = self.data[self.at : end].decode(errors="replace")
        self.at = end + 1
        return found


def _rows(sections: Mapping[str, bytes]) -> list[tuple[int, str]]:
    reader = _Reader(sections[".debug_line"])
    rows: list[tuple[int, str]] = []
    while reader.at < len(reader.data):
        length = reader.number(4)
        end = reader.at + length
        rows += _unit(reader, end, sections)
        reader.at = end
    return rows


def _unit(reader: _Reader, end: int, sections: Mapping[str, bytes]) -> list[tuple[int, str]]:
    version = reader.number(2)
    if version >= 5:
        reader.number(2)  # sizes of addresses and selectors
    program = reader.number(4)
    program += reader.at
    step, _most, _statement = reader.number(1), reader.number(1), reader.number(1)
    base, span, first_special = reader.number(1, signed=True), reader.number(1), reader.number(1)
    lengths = [reader.number(1) for _ in range(first_special - 1)]
    files = _files(reader, sections) if version >= 5 else _old_files(reader)
    reader.at = program
    return _run(reader, end, (step, base, span, first_special), lengths, files)


def _run(
    reader: _Reader, end: int, form: tuple[int, int, int, int], lengths: list[int], files: dict[int, str]
) -> list[tuple[int, str]]:
    step, base, span, first_special = form
    rows: list[tuple[int, str]] = []
    address, file, line = 0, 1, 1
    while reader.at < end:
        code = reader.number(1)
        if code >= first_special:
            address += (code - first_special) // span * step
            line += base + (code - first_special) % span
        elif code == 0:
            size = reader.leb()
            after = reader.at + size
            what = reader.number(1)
            if what == 2:
                address = reader.number(size - 1)
            elif what == 1:
                address, file, line = 0, 1, 1
            reader.at = after
            continue
        elif code == 2:
            address += reader.leb() * step
        elif code == 3:
            line += reader.leb(signed=True)
        elif code == 4:
            file = reader.leb()
        elif code == 8:
            address += (255 - first_special) // span * step
        elif code == 9:
            address += reader.number(2)
        else:
            for _ in range(lengths[code - 1]):
                reader.leb()
        if code == 1 or code >= first_special:
            rows.append((address, f"{files.get(file, '?')}:{line}"))
    return rows


def _files(reader: _Reader, sections: Mapping[str, bytes]) -> dict[int, str]:
    """The names of files of DWARF 5."""
    _entries(reader, sections)  # directories
    return dict(enumerate(_entries(reader, sections)))


def _entries(reader: _Reader, sections: Mapping[str, bytes]) -> list[str]:
    forms = [(reader.leb(), reader.leb()) for _ in range(reader.number(1))]
    names = []
    for _ in range(reader.leb()):
        name = ""
        for what, form in forms:
            value = _value(reader, form, sections)
            name = str(value) if what == 1 else name
        names.append(name)
    return names


def _value(reader: _Reader, form: int, sections: Mapping[str, bytes]) -> str | int:
    if form == 0x08:
        return reader.text()
    if form in (0x1F, 0x0E):
        section = sections.get(".debug_line_str" if form == 0x1F else ".debug_str", b"")
        return _Reader(section, reader.number(4)).text()
    if form == 0x1E:  # 16 bytes of MD5
        reader.at += 16
        return 0
    return reader.leb() if form == 0x0F else reader.number({0x0B: 1, 0x05: 2}[form])


def _old_files(reader: _Reader) -> dict[int, str]:
    """The names of files of DWARF 4."""
    while reader.text():
        pass
    files: dict[int, str] = {}
    while name := reader.text():
        for _ in range(3):
            reader.leb()
        files[len(files) + 1] = name
    return files

"""The checks of each instruction, with the number of values: what docs/emulator_instructions.md shows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ckgen.machine_code.emulator.control import _NOTHING
from ckgen.machine_code.emulator.decode import FAMILIES
from ckgen.machine_code.emulator.matrix import shape_of
from tests.machine_code.emulator import test_byte_floats, test_faults, test_folding, test_matrix
from tests.machine_code.emulator.cases import CASES
from tests.machine_code.emulator.single import LANES
from tests.machine_code.emulator.test_instructions import ROUNDS

DATA = Path(__file__).resolve().parents[2] / "data"
USED, TRUST = DATA / "emulator_used.json", DATA / "emulator_trust.json"
TITLE = """# How the emulator's instructions are checked

Made by `python scripts/emulator_table.py`: every instruction in the machine code of sets `ci` and `quick`, by
architecture. A letter is a source that does not depend on the emulator, the number after it counts the values that
were compared. An empty cell: the code has no such instruction. A test fails if an instruction has no check
(`tests/machine_code/emulator/test_table.py`).

- **R**: threads of random C kernels that contain it, whose results equal those of native code
  (`python scripts/emulator_trust.py --kernels {kernels} --first {first_seed}`, on {date}: {kernels} kernels for each
  architecture, 0 different, {refused} refused; encodings of one instruction are one row).
- **N**: alone, against numpy (`tests/machine_code/emulator/test_instructions.py`).
- **L**: alone, against what LLVM computes at compile time (`tests/machine_code/emulator/test_folding.py`).
- **D**: alone, against the package ml_dtypes (`tests/machine_code/emulator/test_byte_floats.py`).
- **M**: elements of results, against AMD's published register maps (`tests/machine_code/emulator/test_matrix.py`).
- **F**: planted faults that its absence or misuse is, all reported (`tests/machine_code/emulator/test_faults.py`).
- **-**: no effect in a model without time.

Compilers: {compilers}.

"""


def used_names() -> dict[str, list[str]]:
    """The instructions of the kernels, by architecture."""
    return dict(json.loads(USED.read_text(encoding="utf-8")))


@cache
def checks(arch: str) -> dict[str, dict[str, int]]:
    """For each checked instruction its sources, with the number of values; "-" has none."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name in _NOTHING:
        found[name]["-"] = 0
    for name, source, count in _counted(arch):
        found[name][source] += count
    return found


def _counted(arch: str) -> Iterator[tuple[str, str, int]]:
    trust = json.loads(TRUST.read_text(encoding="utf-8"))
    for name, (_, values) in trust["instructions"].get(arch, {}).items():
        yield name, "R", values
    for case in CASES:
        if arch in case.archs:
            for name in case.names_of(arch):
                yield name, "N", ROUNDS * LANES[arch]
    for folded in test_folding.CASES:
        paired = LANES[arch] == 32 and folded.names[:1] in (("V_ADD_F32",), ("V_MUL_F32",))  # as part of a dual one
        if arch in folded.archs and len(folded.names) == 1 and not paired:
            yield folded.names[0], "L", test_folding.COUNT // 2  # at least
    if arch in test_byte_floats.TYPES:
        for kind in ("FP8", "BF8"):
            yield f"V_CVT_F32_{kind}", "D", 1024
            yield f"V_CVT_PK_F32_{kind}", "D", 512
            yield f"V_CVT_PK_{kind}_F32", "D", 4 * test_byte_floats.ROUNDS * LANES[arch]
    for of, shape in test_matrix.CASES:
        if of == arch:
            yield _matrix_name(shape.text), "M", shape.size * shape.size
    if arch == "gfx1100":
        for shape in test_matrix.GFX11:
            yield shape.text.upper(), "M", 256
    for name in test_faults.WAITS[arch]:
        yield name, "F", len(test_faults.FAULTS_OF.get(name, ()))
    for name, _ in test_faults.LIMITS.get(arch, {}).values():
        yield name, "F", 1


def _matrix_name(text: str) -> str:
    """gfx90a's names of matrix instructions are those of later ones to the decoder."""
    name = text.upper()
    shape = shape_of(name)
    assert shape is not None
    rows, columns, depth, result, kind = shape
    form = "V_WMMA" if "WMMA" in name else "V_MFMA"
    return f"{form}_{result}_{rows}X{columns}X{depth}_{kind}"


def unchecked() -> list[tuple[str, str]]:
    """The architecture and name of each instruction of the kernels without a check."""
    return [(arch, name) for arch, names in used_names().items() for name in names if not checks(arch).get(name)]


def page() -> str:
    """The page of the documentation."""
    trust = json.loads(TRUST.read_text(encoding="utf-8"))
    compilers = ", ".join(f"{arch} clang {version}" for arch, version in trust["compilers"].items())
    refused = sum(trust["refused"].values())
    title = TITLE.format(
        **{key: trust[key] for key in ("kernels", "first_seed", "date")}, refused=refused, compilers=compilers
    )
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for arch, names in used_names().items():
        for name in names:
            sources = checks(arch).get(name, {})
            shown = [source if source == "-" else f"{source} {count}" for source, count in sorted(sources.items())]
            rows[name.lower()][arch] = ", ".join(shown) or "none"
    lines = [f"| instruction | {' | '.join(FAMILIES)} |", f"| --- |{' --- |' * len(FAMILIES)}"]
    lines += [
        f"| {name} | {' | '.join(row.get(arch, '') for arch in FAMILIES)} |" for name, row in sorted(rows.items())
    ]
    return title + "\n".join(lines) + "\n"

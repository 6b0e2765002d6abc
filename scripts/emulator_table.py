"""Write docs/emulator_instructions.md: for each instruction of set `ci`'s machine code, the checks of the emulator.

Usage: python scripts/emulator_table.py [FOLDER]

FOLDER has the code objects that `ckgen smoke --platform amd --emulate --set ci` leaves, by architecture; default:
build/ci/emulated. The random kernels are compiled again: some minutes.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ckgen.machine_code.emulator.code_object import CodeObject  # noqa: E402
from ckgen.machine_code.emulator.decode import FAMILIES  # noqa: E402
from ckgen.machine_code.emulator.instruction import ALU, BRANCH, MEMORY, NOTHING, Decoded  # noqa: E402
from ckgen.machine_code.emulator.matrix import shape_of  # noqa: E402
from ckgen.machine_code.emulator.program import Decoder  # noqa: E402
from tests.machine_code.emulator import test_matrix  # noqa: E402
from tests.machine_code.emulator.compare import compiled  # noqa: E402
from tests.machine_code.emulator.random_kernels import make  # noqa: E402
from tests.machine_code.emulator.semantics import CASES  # noqa: E402
from tests.machine_code.emulator.test_random_kernels import EACH  # noqa: E402

PAGE = ROOT / "docs" / "emulator_instructions.md"
TITLE = """# How the emulator's instructions are checked

Made by `python scripts/emulator_table.py`: every instruction in the machine code of set `ci`, by architecture. An
empty cell: the code has no such instruction.

- **R**: it is in random kernels that the tests run as machine code and natively, with equal results
  (`tests/machine_code/emulator/test_random_kernels.py`; encodings of one instruction are one row).
- **N**: single, against numpy (`tests/machine_code/emulator/test_instructions.py`).
- **M**: single, against AMD's published register maps (`tests/machine_code/emulator/test_matrix.py`).
- **F**: a planted fault of its kind is reported (`tests/kernels/test_emulated.py`).
- **K**: only in kernels, whose results are right.
- **-**: no effect in a model without time.

"""


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "ci" / "emulated"
    checks: dict[str, dict[str, str]] = defaultdict(dict)
    for number, arch in enumerate(FAMILIES):
        random = set(_random(arch, 100 * number))
        for item in _used(folder / arch, arch):
            checks[item.name.lower()][arch] = _check(item, arch, random)
    lines = [f"| instruction | {' | '.join(FAMILIES)} |", f"| --- |{' --- |' * len(FAMILIES)}"]
    lines += [
        f"| {name} | {' | '.join(row.get(arch, '') for arch in FAMILIES)} |" for name, row in sorted(checks.items())
    ]
    PAGE.write_text(TITLE + "\n".join(lines) + "\n", encoding="utf-8")
    only = {arch: sum(row.get(arch) == "K" for row in checks.values()) for arch in FAMILIES}
    print(f"{len(checks)} instructions; checked in kernels only: {only}")
    return 0


def _used(folder: Path, arch: str) -> Iterator[Decoded]:
    decoder = Decoder(arch)
    for path in sorted(folder.glob("*.co")):
        code = CodeObject.read(path)
        for kernel in code.kernels.values():
            yield from decoder.instructions(code.image, kernel.entry)


def _random(arch: str, first: int) -> Iterator[str]:
    decoder = Decoder(arch)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + EACH):
            code = compiled(make(seed), Path(folder), arch)
            for item in decoder.instructions(code.image, code.kernels["kernel"].entry):
                yield item.name


def _check(item: Decoded, arch: str, random: set[str]) -> str:
    if item.kind == NOTHING:
        return "-"
    found = ["R"] if item.name in random else []
    name = item.name.replace("V_MAD_MIX", "V_FMA_MIX")  # two names of one instruction
    if any(name == case.name.partition(" ")[0] and arch in case.archs for case in CASES):
        found.append("N")
    shapes = [shape_of(shape.text.upper()) for of, shape in test_matrix.CASES if of == arch]
    if item.handler == "matrix" and shape_of(item.name) in shapes:
        found.append("M")
    if item.kind not in (ALU, BRANCH) or (item.kind == MEMORY and "permute" not in item.name.lower()):
        found.append("F")
    return " ".join(found) or "K"


if __name__ == "__main__":
    sys.exit(main())

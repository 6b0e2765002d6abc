"""Write docs/emulator_instructions.md: for each instruction of the kernels' machine code, how the emulator is checked.

Usage: python scripts/emulator_table.py [--check] [--collect FOLDER...]

--collect takes the instructions of the code objects in FOLDER/ARCH/ (what `ckgen smoke --platform amd --emulate` leaves
in build/SET/emulated) into tests/data/emulator_used.json. --check writes nothing; it fails if the page is old, or if an
instruction of the page or of a collected code object has no check. Other compilers choose other instructions: one that
has a check need not be in the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ckgen.machine_code.emulator.code_object import CodeObject  # noqa: E402
from ckgen.machine_code.emulator.decode import FAMILIES  # noqa: E402
from ckgen.machine_code.emulator.program import Decoder  # noqa: E402
from tests.machine_code.emulator.checks import USED, checks, page, unchecked, used_names  # noqa: E402
from tests.machine_code.emulator.names import names_of  # noqa: E402

PAGE = ROOT / "docs" / "emulator_instructions.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--collect", nargs="*", type=Path, default=[])
    options = parser.parse_args()
    found: dict[str, set[str]] = defaultdict(set)
    for folder in options.collect:
        for arch in FAMILIES:
            found[arch] |= set(_names(folder / arch, arch))
    known = used_names()
    new = {arch: sorted(names - set(known.get(arch, ()))) for arch, names in found.items()}
    if options.check:
        return _complaints(new)
    if options.collect:
        text = json.dumps({arch: sorted(found[arch]) for arch in FAMILIES}, indent=1)
        USED.write_text(text + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    return _complaints({})


def _names(folder: Path, arch: str) -> Iterator[str]:
    decoder = Decoder(arch)
    for path in sorted(folder.glob("*.co")):
        code = CodeObject.read(path)
        for kernel in code.kernels.values():
            for item in decoder.instructions(code.image, kernel.entry):
                yield from names_of(item)


def _complaints(new: dict[str, list[str]]) -> int:
    """Print what is wrong; the exit status."""
    missing = [(arch, name) for arch, names in new.items() for name in names if not checks(arch).get(name)]
    said = [f"{arch}: {name} has no check" for arch, name in (*unchecked(), *missing)]
    if PAGE.read_text(encoding="utf-8") != page():
        said.append(f"{PAGE.name} is old: run python scripts/emulator_table.py")
    print("\n".join(said) or "every instruction has a check")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())

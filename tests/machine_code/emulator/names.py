"""Names of decoded instructions. A dual instruction of RDNA has two."""

from __future__ import annotations

import re

from ckgen.machine_code.emulator.instruction import Decoded

_DUAL = re.compile(r"V_DUAL_\w+")


def names_of(item: Decoded) -> list[str]:
    """The name of an instruction, or those of both parts of a dual one."""
    return _DUAL.findall(item.text) if item.name == "VOPD" else [item.name]

"""The list of the families, and the tables derived from it."""

from __future__ import annotations

from ckgen.families.col2im import COL2IM
from ckgen.families.depthwise import DEPTHWISE
from ckgen.families.depthwise_tma import DEPTHWISE_TMA
from ckgen.families.dl import DL
from ckgen.families.family import Family
from ckgen.families.halo import HALO
from ckgen.families.hopper import STATIONARY, WAVELET_TMA
from ckgen.families.mfma import TWO_STAGE, WAVELET, XDL
from ckgen.families.rule import Rule
from ckgen.families.streaming import STREAMING
from ckgen.families.warp_split import WARP_SPLIT
from ckgen.families.wmma import WMMA
from ckgen.operations.operation import OPERATIONS

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        *(XDL, TWO_STAGE, WAVELET, WMMA, DL),
        *(WAVELET_TMA, STATIONARY, COL2IM, STREAMING, WARP_SPLIT, HALO, DEPTHWISE, DEPTHWISE_TMA),
    )
}
RULES: tuple[Rule, ...] = tuple(dict.fromkeys(rule for family in FAMILIES.values() for rule in family.rule_table))
DERIVED_NAMES: tuple[str, ...] = tuple(
    dict.fromkeys(name for family in FAMILIES.values() for name in family.formulas.names)
)
FAMILIES_OF: dict[str, tuple[str, ...]] = {
    operation: tuple(family.name for family in FAMILIES.values() if operation in family.operations)
    for operation in OPERATIONS
}


def families_with(rule: Rule) -> tuple[str, ...]:
    """The families that must satisfy a rule."""
    return tuple(family.name for family in FAMILIES.values() if rule in family.rules)

"""Family wmma: the kernel of family xdl by WMMA, with waves of 32. For AMD architectures from gfx11 on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ckgen.families.fields import Fields
from ckgen.families.formulas import Value
from ckgen.families.mfma import REASONS, Mfma
from ckgen.families.mfma_derived import DERIVED, replaced
from ckgen.families.rule import Rule
from ckgen.families.rules.mfma import RULES
from ckgen.hardware.archs import SIMDS_PER_CU, WMMA_ARCHES, Atom, find_atom
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

WAVE = 32  # threads
ATOM = 16  # rows and columns
REGISTERS = 256  # that a lane can address
# Of a SIMD of the architectures with the fewest registers, per lane.
REGISTER_FILE = 1024

WMMA_DERIVED = replaced(
    DERIVED,
    Value("wave_size", "Threads of a wave.", f"{WAVE}"),
    Value("any_filter", "0 if only 1x1 filters with stride 1 and no padding are taken, else 1."),
    # A slot of a K-major A keeps its place: without taps, its image position is one number instead of up to three.
    # clang 19 for gfx1100 and gfx1201: backward data in f16 of 128x256x64 with 8 waves and 64x32x64 with one, estimated
    # at 252 and 256 for 1x1 filters, need 253 and 256 registers and spill none. For every filter they are estimated at
    # 260 and 288: the first spills 8 in two dimensions (gfx1103) and 5 in three (gfx1100), the second 16.
    Value(
        "vgpr_estimate",
        "32-bit registers that a lane needs, roughly: accumulators, some operands, the copy's staging, 24 others,"
        " and the addresses of the slots of K-major operands.",
        "24 + acc_registers + 8 * (min(m_xdl_per_wave, n_xdl_per_wave) + 1) + (a_elems + b_elems) * elem_bytes // 4"
        " + ((3 + 2 * any_filter) * a_slices if a_k_major else 0) + (5 * b_slices if b_k_major else 0)",
    ),
    Value(
        "vgpr_budget",
        "32-bit registers that a lane may use so that the whole workgroup is resident on one workgroup processor.",
        f"min({REGISTERS}, {REGISTER_FILE} // ((load_waves + math_waves + {SIMDS_PER_CU - 1}) // {SIMDS_PER_CU}))",
    ),
    Value("matrix_unit", "What multiplies: WMMA (ckgen/atom/select.hpp).", "1"),
)
WMMA_REASONS = {**REASONS, "m_per_xdl": "by rule: WMMA atoms are 16x16"}
_REPLACED = ("xdl-size", "stages-range", "generic-vectors", "wavelet-dtype", "atom-exists")
WMMA_RULES: tuple[Rule, ...] = (
    Rule(
        id="wmma-atom",
        scope="domain",
        condition="m_per_xdl == 16 and load_waves == 0 and stages >= 1 and stages <= 2",
        sentence="atoms are 16x16, every wave loads and multiplies, there are 1 or 2 LDS buffers",
        message="m_per_xdl {m_per_xdl}, {load_waves} load waves and {stages} stages",
        help="leave `m_per_xdl` out; use 1 or 2 stages",
        reason="WMMA has one size, and registers are the second buffer.",
        blame=("m_per_xdl", "stages"),
    ),
    Rule(
        id="wmma-generic",
        scope="domain",
        condition="not generic",
        sentence="there are no generic instances; those of family xdl are for every architecture",
        message="a generic {family} instance",
        help="leave `generic` out, or use family xdl",
        reason="One generic instance per layout and data type takes every problem on every architecture.",
        blame=("generic", "family"),
    ),
    *(rule for rule in RULES if rule.id not in _REPLACED),
    Rule(
        id="wmma-exists",
        scope="arch",
        condition="has_atom",
        sentence="the architecture has a WMMA instruction for the data type",
        message="{arch} has no WMMA for {dtype}",
        help="take the architecture out of archs, or use family dl or xdl",
        reason="The kernels are written for WMMA.",
        blame=("archs", "dtype"),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Wmma(Mfma):
    """Family wmma."""

    wave_size: int = WAVE
    rule_table: tuple[Rule, ...] = field(default=WMMA_RULES, repr=False)
    derived: tuple[Value, ...] = field(default=WMMA_DERIVED, repr=False)
    reasons: Mapping[str, str] = field(default_factory=lambda: WMMA_REASONS, repr=False)
    amd_only: bool = True
    struct: str = "Wmma"
    header: str = "wmma"

    def m_per_xdl(self, n_per_block: int) -> int:
        return ATOM

    def archs(self, instance: Fields) -> Sequence[str]:
        return WMMA_ARCHES

    def home(self, dtype: str) -> Sequence[str]:
        return WMMA_ARCHES

    def has_atom(self, instance: Fields, arch: str) -> bool:
        return self.atom(instance, arch) is not None

    def atom(self, instance: Fields, arch: str) -> Atom | None:
        return find_atom(arch, instance.dtype, instance.m_per_xdl) if arch in WMMA_ARCHES else None


WMMA = Wmma(
    name="wmma",
    summary="all waves load and multiply, by WMMA",
    wave_key="block_size",
    loops=("main",),
    ck_unit="Wmma",
    merges_groups=(BWD_WEIGHT, BWD_DATA),
    exchanges=(BWD_WEIGHT,),
)

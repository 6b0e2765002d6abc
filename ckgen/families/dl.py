"""Family dl: the kernel of family xdl by dot products, for AMD architectures whose matrix unit lacks the data type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ckgen.conv.dtypes import DTYPES
from ckgen.families.fields import Fields
from ckgen.families.formulas import Value
from ckgen.families.mfma import REASONS, Mfma
from ckgen.families.mfma_derived import DERIVED, replaced
from ckgen.families.rule import Rule
from ckgen.families.rules.mfma import RULES
from ckgen.families.vectors import ACCESS_BYTES
from ckgen.families.wmma import REGISTER_FILE, REGISTERS
from ckgen.hardware.archs import ARCHES, SIMDS_PER_CU, Atom, find_atom
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

ATOM = 32  # rows and columns that 8 x 8 lanes compute, 4 x 4 each
SLOTS = 2  # of GEMM-K
HALVES = 2  # of a wave of 64

DL_DERIVED = replaced(
    DERIVED,
    Value(
        "a_dst_vector",
        "Elements along GEMM-K that one LDS write of A stores, transposed in registers unless A is K-major.",
        "k1 if a_k_major else a_write if a_write > 0 else max(1, min(k1, a_elems // a_vector))",
    ),
    Value(
        "b_dst_vector",
        "Elements along GEMM-K that one LDS write of B stores.",
        "k1 if b_k_major else b_write if b_write > 0 else max(1, min(k1, b_elems // b_vector))",
    ),
    Value(
        "vgpr_estimate",
        "32-bit registers that a lane needs, roughly: accumulators, operands, the copy's staging, 48 others.",
        "48 + acc_registers + 16 * (m_xdl_per_wave + n_xdl_per_wave) + (a_elems + b_elems) * elem_bytes // 4",
    ),
    Value(
        "vgpr_budget",
        "32-bit registers that a lane may use so that the whole workgroup is resident on one workgroup processor.",
        f"min({REGISTERS}, {REGISTER_FILE} // (({HALVES} * math_waves + {SIMDS_PER_CU - 1}) // {SIMDS_PER_CU}))",
    ),
    Value("matrix_unit", "What multiplies: dot products (ckgen/atom/select.hpp).", "2"),
)
DL_REASONS = {
    **REASONS,
    "k_per_block": "by rule: 32 bytes, one step of a wave; more would need more registers",
    "m_per_xdl": "by rule: lanes are a grid of 8 x 8 and have 4 x 4 results each",
}
_REPLACED = ("xdl-size", "stages-range", "generic-vectors", "wavelet-dtype", "atom-exists", "k1-slots", "k1-divides")
DL_RULES: tuple[Rule, ...] = (
    Rule(
        id="dl-atom",
        scope="domain",
        condition="m_per_xdl == 32 and load_waves == 0 and stages >= 1 and stages <= 2 and not generic",
        sentence="64 lanes have 32x32 results, every wave loads and multiplies, there are 1 or 2 LDS buffers",
        message="m_per_xdl {m_per_xdl}, {load_waves} load waves and {stages} stages",
        help="leave `m_per_xdl` and `generic` out; use 1 or 2 stages",
        reason="A lane multiplies 4 rows with 4 columns, so that it reads LDS rarely.",
        blame=("m_per_xdl", "stages", "generic"),
    ),
    *(rule for rule in RULES if rule.id not in _REPLACED),
    Rule(
        id="dl-k1",
        scope="instance",
        condition="(ak1 == k1 and bk1 == k1) or (ak1 == 1 and bk1 == 1)",
        sentence="K1 is a slot of 16 bytes, or 1 as in CK's rows",
        message="copy_k1 of {ak1} (A) and {bk1} (B) elements, a slot has {k1}",
        help="leave `copy_k1` out, or use 1",
        reason="LDS holds slots of 16 bytes whatever K1 is, so another K1 would only rename the instance.",
        blame=("copy_k1",),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dl(Mfma):
    """Family dl."""

    rule_table: tuple[Rule, ...] = field(default=DL_RULES, repr=False)
    derived: tuple[Value, ...] = field(default=DL_DERIVED, repr=False)
    reasons: Mapping[str, str] = field(default_factory=lambda: DL_REASONS, repr=False)
    amd_only: bool = True
    struct: str = "Dl"
    header: str = "wmma"

    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        return SLOTS * ACCESS_BYTES // DTYPES[dtype].compute_bytes

    def m_per_xdl(self, n_per_block: int) -> int:
        return ATOM

    def archs(self, instance: Fields) -> Sequence[str]:
        """The architectures without a matrix instruction for the data type."""
        return tuple(arch for arch in ARCHES if all(find_atom(arch, instance.dtype, size) is None for size in (16, 32)))

    def home(self, dtype: str) -> Sequence[str]:
        return tuple(arch for arch, row in ARCHES.items() if not row.peak)

    def has_atom(self, instance: Fields, arch: str) -> bool:
        return arch in ARCHES

    def atom(self, instance: Fields, arch: str) -> Atom | None:
        return None


DL = Dl(
    name="dl",
    summary="all waves load and multiply, by dot products",
    wave_key="block_size",
    loops=("main",),
    ck_unit="Dl",
    merges_groups=(BWD_WEIGHT, BWD_DATA),
    exchanges=(BWD_WEIGHT,),
)

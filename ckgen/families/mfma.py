"""Families xdl and wavelet: matrix products by MFMA; xdl is the fallback on every architecture.

In xdl every wave loads and multiplies. In wavelet some waves load and the others multiply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ckgen.conv.dtypes import DTYPES
from ckgen.families.family import Coverage, Family
from ckgen.families.fields import Fields
from ckgen.families.formulas import Value
from ckgen.families.mfma_derived import DERIVED
from ckgen.families.rule import Rule
from ckgen.families.rules.mfma import RULES
from ckgen.families.tile_cost import TileBytes
from ckgen.families.vectors import ACCESS_BYTES, Shape, Width, full_read, full_write, k_major, single, small
from ckgen.hardware.archs import ARCHES, MATRIX_ARCHES, NVIDIA_ARCHES, Atom, find_atom
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT, OPERATIONS

DOUBLE_LDS = 4  # the pipeline with two LDS buffers
SHARED_LDS_BYTES = 32 * 1024  # so that two workgroups fit into the LDS that every architecture has
WAVELET_ROW = 32  # load threads side by side along M or N, as in CK's transfer clusters

REASONS = {
    "k_per_block": "by rule: 64 bytes, four LDS slots, as in CK's rows",
    "m_per_xdl": "by rule: 32x32 atoms need half the LDS reads of 16x16 ones",
    "generic": "by rule: single elements fit every C and K",
    "slot": "by rule: 16 bytes, a slot of LDS",
    "single": "by rule: single elements where channels are not last, because taps shift positions",
    "wavelet": "by rule: 32 load threads read a row of the tile",
    "wavelet-c": "by rule: two weights, as in CK's rows",
    "a_write": "by rule: the widest LDS write for which a thread has elements, a_dst_vector",
    "b_write": "by rule: the widest LDS write for which a thread has elements, b_dst_vector",
    "a_k1": "by rule: 16 bytes, ak1",
    "b_k1": "by rule: 16 bytes, bk1",
    "stages": "by rule: 1 for xdl, 2 for pipeline v4; 4 for wavelet where that takes at most 32 KiB of LDS, else 2",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Mfma(Family):
    """A family whose kernels are written for MFMA, with a portable atom elsewhere."""

    operations: tuple[str, ...] = tuple(OPERATIONS)
    rule_table: tuple[Rule, ...] = field(default=RULES, repr=False)
    derived: tuple[Value, ...] = field(default=DERIVED, repr=False)
    reasons: Mapping[str, str] = field(default_factory=lambda: REASONS, repr=False)
    struct: str = ""
    lds_keys: bool = True
    header: str = "mfma"

    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        return 64 // DTYPES[dtype].compute_bytes

    def m_per_xdl(self, n_per_block: int) -> int:
        return 32

    def waves(self, operation: str, extents: tuple[int, int, int], block_size: int) -> tuple[int, int]:
        return 0, block_size // self.wave_size

    def vectors(self, wanted: tuple[Width, Width, Width], shape: Shape) -> tuple[int, int, int]:
        a, b, c = wanted
        return (
            a if isinstance(a, int) else self._read_width(a, shape, "a", shape.m_per_block),
            b if isinstance(b, int) else self._read_width(b, shape, "b", shape.n_per_block),
            c if isinstance(c, int) else self._write_width(c, shape),
        )

    def vector_reason(self, word: Width, which: str, instance: Fields) -> str:
        if isinstance(word, str):
            return self.reason(word)
        if instance.generic:
            return self.reason("generic")
        if which != "c" and single(instance, which):
            return self.reason("single")
        if which != "c" and k_major(instance, which):
            return self.reason("slot")
        if self.wavelet and not (instance.a_k_major and which == "c"):
            return self.reason("wavelet-c" if which == "c" else "wavelet")
        return "by rule, " + self.reason("full")

    def stages(self, instance: Fields) -> int:
        if not instance.load_waves:
            return 2 if instance.pipeline_version == DOUBLE_LDS else 1
        return 4 if 4 * instance.lds_stage_bytes <= SHARED_LDS_BYTES else 2

    def archs(self, instance: Fields) -> Sequence[str]:
        return tuple(ARCHES) if instance.generic else MATRIX_ARCHES

    def home(self, dtype: str) -> Sequence[str]:
        return MATRIX_ARCHES

    def has_atom(self, instance: Fields, arch: str) -> bool:
        """True if the architecture has an atom. NVIDIA uses the portable atom where mma.sync lacks the data type."""
        return arch in NVIDIA_ARCHES or self.atom(instance, arch) is not None

    def atom(self, instance: Fields, arch: str) -> Atom | None:
        return find_atom(arch, instance.dtype, instance.m_per_xdl) if arch in MATRIX_ARCHES else None

    def registers(self, instance: Fields) -> int:
        return instance.vgpr_estimate

    def coverage(self, instance: Fields) -> Coverage:
        covered = super().coverage(instance)._replace(groups=instance.groups_to_merge)
        if not instance.exchange:
            return covered
        # B is read in narrow vectors, and its taps take vector instructions: simulated, a value takes twice as long.
        return covered._replace(values=covered.values + instance.n_per_block)

    def tile_bytes(self, instance: Fields) -> TileBytes:
        """LDS and memory traffic of one tile; every wave reads its own rows of A and columns of B once."""
        elements = (instance.m_per_block + instance.n_per_block) * instance.k_per_block
        per_wave = (instance.m_xdl_per_wave + instance.n_xdl_per_wave) * instance.m_per_xdl
        read = instance.math_waves * per_wave * instance.k_per_block * instance.compute_bytes
        return TileBytes(read, elements * instance.compute_bytes, elements * instance.elem_bytes)

    def _read_width(self, word: Width, shape: Shape, which: str, extent: int) -> int:
        if word == "small":
            return small(shape)
        if word is None and (shape.generic or single(shape, which)):
            return 1
        if k_major(shape, which):
            return ACCESS_BYTES // DTYPES[shape.dtype].elem_bytes
        if word is None and self.wavelet:
            return max(1, extent // WAVELET_ROW)
        return full_read(shape, extent)

    def _write_width(self, word: Width, shape: Shape) -> int:
        if word == "small":
            return small(shape)
        if word is None and shape.generic:
            return 1
        if word is None and self.wavelet and not OPERATIONS[shape.operation].a_k_major:
            return 2
        return full_write(shape)


XDL = Mfma(
    name="xdl",
    summary="all waves load and multiply",
    wave_key="block_size",
    loops=("main",),
    ck_unit="Xdl",
    has_ck_rows=True,
    pipelines=True,
    merges_groups=(BWD_DATA,),
    exchanges=(BWD_WEIGHT,),
)
# CK's operator for few channels per group. It is xdl's kernel; where groups are side by side, a tile has several.
TWO_STAGE = Mfma(
    name="two_stage",
    summary="xdl for few channels per group: a tile computes several groups",
    operations=(BWD_WEIGHT,),
    wave_key="block_size",
    loops=("main",),
    merges_groups=(BWD_WEIGHT,),
    transposes=True,
    ck_unit="TwoStage",
    has_ck_rows=True,
    ck_flag="two_stage",
)
WAVELET = Mfma(
    name="wavelet",
    summary="load and math waves",
    wave_key="wave_ratio",
    usual_waves=(4, 4),
    loops=("math", "load"),
    wavelet=True,
    exchanges=(BWD_WEIGHT,),
)

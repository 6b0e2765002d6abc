"""The rules of families xdl and wavelet about copies from global memory to LDS.

An operand that is contiguous along GEMM-K is copied slot by slot, others are transposed in registers. No rule says that
whole reads fill a slot, because this follows from vector-width.
"""

from __future__ import annotations

from ckgen.families.rule import Rule
from ckgen.operations.operation import OPERATIONS

# Operations with CK's K1 of their own: those whose A is K-major where channels come last.
SLOT_BY_SLOT = tuple(row.name for row in OPERATIONS.values() if row.a_k_major)
TRANSPOSED = tuple(name for name in OPERATIONS if name not in SLOT_BY_SLOT)

COPY_RULES: tuple[Rule, ...] = (
    Rule(
        id="a-copy-cover",
        scope="instance",
        condition=(
            "a_k_major or"
            " (a_slices >= 1 and a_slices * a_vector * a_dst_vector * a_copy_threads == m_per_block * k_per_block)"
        ),
        sentence="the copy threads move the whole tile of A in equal pieces",
        message="{a_copy_threads} threads x {a_vector}x{a_dst_vector} do not cover A's {m_per_block}x{k_per_block}",
        help="use a smaller a vector, fewer copy waves or a larger tile",
        reason="A branch-free copy gives every thread the same number of pieces, with none left over.",
        blame=("vector", "tile", "k_per_block", "wave_ratio", "block_size"),
    ),
    Rule(
        id="b-copy-cover",
        scope="instance",
        condition=(
            "b_k_major or"
            " (b_slices >= 1 and b_slices * b_vector * b_dst_vector * b_copy_threads == n_per_block * k_per_block)"
        ),
        sentence="the copy threads move the whole tile of B in equal pieces",
        message="{b_copy_threads} threads x {b_vector}x{b_dst_vector} do not cover B's {n_per_block}x{k_per_block}",
        help="use a smaller b vector, fewer copy waves or a larger tile",
        reason="A branch-free copy gives every thread the same number of pieces, with none left over.",
        blame=("vector", "tile", "k_per_block", "wave_ratio", "block_size"),
    ),
    Rule(
        id="a-tile-vector",
        scope="instance",
        condition="a_k_major or (m_per_block % a_vector == 0 and k_per_block % a_dst_vector == 0)",
        sentence="pieces of a_vector x a_dst_vector tile m_per_block x k_per_block",
        message="pieces of {a_vector}x{a_dst_vector} do not tile {m_per_block}x{k_per_block}",
        help="a_vector must divide m_per_block, a_dst_vector k_per_block",
        reason="A piece that crossed the edge of the tile would need a branch for each element.",
        blame=("vector", "tile", "k_per_block"),
    ),
    Rule(
        id="b-tile-vector",
        scope="instance",
        condition="b_k_major or (n_per_block % b_vector == 0 and k_per_block % b_dst_vector == 0)",
        sentence="pieces of b_vector x b_dst_vector tile n_per_block x k_per_block",
        message="pieces of {b_vector}x{b_dst_vector} do not tile {n_per_block}x{k_per_block}",
        help="b_vector must divide n_per_block, b_dst_vector k_per_block",
        reason="A piece that crossed the edge of the tile would need a branch for each element.",
        blame=("vector", "tile", "k_per_block"),
    ),
    Rule(
        id="a-copy-planes",
        scope="instance",
        condition=(
            "a_k_major or (a_copy_threads * a_vector * a_dst_vector) % (m_per_block * k1) == 0"
            " or ((m_per_block * k1) % (a_copy_threads * a_vector * a_dst_vector) == 0"
            " and (a_copy_threads * a_vector) % m_per_block == 0)"
        ),
        sentence="the copy threads take whole planes of A's tile at once, m_per_block x k1, or whole rows of one",
        message=(
            "{a_copy_threads} threads x {a_vector}x{a_dst_vector}"
            " are not a multiple of A's planes of {m_per_block}x{k1}"
        ),
        help="use more copy waves, a larger a vector, or a smaller m_per_block with as many factors of two",
        reason="A thread has the same columns in each of its pieces, so that their addresses are constants apart.",
        blame=("tile", "vector", "block_size", "wave_ratio"),
    ),
    Rule(
        id="b-copy-planes",
        scope="instance",
        condition=(
            "b_k_major or (b_copy_threads * b_vector * b_dst_vector) % (n_per_block * k1) == 0"
            " or ((n_per_block * k1) % (b_copy_threads * b_vector * b_dst_vector) == 0"
            " and (b_copy_threads * b_vector) % n_per_block == 0)"
        ),
        sentence="the copy threads take whole planes of B's tile at once, n_per_block x k1, or whole rows of one",
        message=(
            "{b_copy_threads} threads x {b_vector}x{b_dst_vector}"
            " are not a multiple of B's planes of {n_per_block}x{k1}"
        ),
        help="use more copy waves, a larger b vector, or a smaller n_per_block with as many factors of two",
        reason="A thread has the same columns in each of its pieces, so that their addresses are constants apart.",
        blame=("tile", "vector", "block_size", "wave_ratio"),
    ),
    Rule(
        id="lds-write-width",
        scope="instance",
        condition=(
            "(a_dst_vector * compute_bytes >= 4 or (a_write > 0 and compute_bytes <= 2))"
            " and (b_dst_vector * compute_bytes >= 4 or (b_write > 0 and compute_bytes <= 2))"
            " and k1 % a_dst_vector == 0 and k1 % b_dst_vector == 0"
        ),
        sentence="an LDS write is 4, 8 or 16 bytes, or less of 8- or 16-bit elements if the spec gives `lds_write`",
        message="LDS writes of {a_dst_vector} (A) and {b_dst_vector} (B) elements of {compute_bytes} bytes",
        help="use a smaller vector or fewer copy waves, so that a thread has more of GEMM-K, or give `lds_write`",
        reason="A write narrower than a 4-byte bank wastes it; one that does not divide a slot straddles two.",
        blame=("vector", "lds_write", "tile", "k_per_block", "wave_ratio", "block_size"),
    ),
    Rule(
        id="lds-write-slots",
        scope="instance",
        condition=(
            "(not a_k_major or a_write == 0 or a_write == a_dst_vector)"
            " and (not b_k_major or b_write == 0 or b_write == b_dst_vector)"
        ),
        sentence="an operand that is contiguous along GEMM-K is written to LDS in whole slots of 16 bytes",
        message="LDS writes of {a_write} (A) and {b_write} (B) elements of {compute_bytes} bytes, a slot has {k1}",
        help="leave the operand out of `lds_write`, or give it the elements of 16 bytes",
        reason="The operand is contiguous along GEMM-K, so that a thread has whole slots without transposing.",
        blame=("lds_write",),
    ),
    Rule(
        id="k1-slots",
        scope="instance",
        condition=(
            "ak1 == bk1 and (ak1 == k1 or (compute_bytes == 4 and ak1 == 2 * k1) or (compute_bytes == 1"
            " and 2 * ak1 == k1 and ak1 % a_dst_vector == 0 and bk1 % b_dst_vector == 0))"
        ),
        sentence=(
            "where both operands are transposed, K1 is a slot of 16 bytes, two slots of 4-byte elements,"
            " or half a slot of 8-bit elements"
        ),
        message="copy_k1 of {ak1} (A) and {bk1} (B) elements of {compute_bytes} bytes, a slot has {k1}",
        help="leave `copy_k1` out: CK's K1 is 16 bytes in every such row, or 8 elements of 4 bytes or of 8 bits",
        reason="A and B are both transposed, so K1 only bounds LDS writes; CK's rows have these three.",
        blame=("copy_k1",),
        operations=TRANSPOSED,
    ),
    Rule(
        id="k1-divides",
        scope="instance",
        condition=(
            "(ak1 % k1 == 0 or (compute_bytes == 1 and 2 * ak1 == k1)) and k_per_block % ak1 == 0"
            " and (bk1 % k1 == 0 or k1 % bk1 == 0) and k_per_block % bk1 == 0 and bk1 % b_dst_vector == 0"
        ),
        sentence=(
            "AK1 and BK1 are whole slots of 16 bytes that divide k_per_block; BK1 may also be a part of a slot, AK1"
            " half a slot of 8-bit elements"
        ),
        message=(
            "copy_k1 of {ak1} (A) and {bk1} (B) elements of {compute_bytes} bytes, k_per_block {k_per_block},"
            " LDS writes of {b_dst_vector} (B)"
        ),
        help="use multiples of 16 bytes, or for B 2 or 4 elements",
        reason="LDS holds slots of 16 bytes whatever K1 is; an LDS write of B must not cross the edge of a K1.",
        blame=("copy_k1", "lds_write", "tile", "k_per_block"),
        operations=SLOT_BY_SLOT,
    ),
)
SLOT_COVER: tuple[Rule, ...] = tuple(
    Rule(
        id=f"{operand}-slot-cover",
        scope="instance",
        condition=(
            f"not {operand}_k_major or ({operand}_slices >= 1 and {operand}_copy_threads % planes == 0"
            f" and {operand}_slices * k1 * {operand}_copy_threads == {side}_per_block * k_per_block)"
        ),
        sentence=(
            f"the copy threads fill the slots of {name}'s tile in equal numbers, and whole rows at a time; threads past"
            " the slots are idle"
        ),
        message=(
            f"{{{operand}_copy_threads}} threads x {{k1}} elements do not cover {name}'s"
            f" {{{side}_per_block}}x{{k_per_block}}"
        ),
        help="use copy waves whose threads are a power of two, or another tile",
        reason="A branch-free copy gives every thread the same number of slots, always of the same part of a row.",
        blame=("tile", "k_per_block", "wave_ratio", "block_size"),
    )
    for operand, side, name in (("a", "m", "A"), ("b", "n", "B"))
)

"""The rules as data, in the order in which they are reported; `rules` compiles and applies them.

Scope "domain" says which values a field may have at all, "tile" how the tile splits into waves and steps,
"instance" how everything else fits, "arch" what a target has; where a scope is broken the next ones mean
nothing. `blame` names the YAML keys whose values are at fault, most likely first: the caret points at one of
them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `condition` must hold, `sentence` says so, `message` says with numbers how it fails."""

    id: str
    scope: str
    condition: str
    sentence: str
    message: str
    help: str
    reason: str
    blame: tuple[str, ...]


RULES: tuple[Rule, ...] = (
    Rule(
        "wave-count",
        "domain",
        "(math_waves == 1 or math_waves == 2 or math_waves == 4 or math_waves == 8)"
        " and load_waves >= 0 and load_waves <= 8 and launch_threads <= 1024",
        "1, 2, 4 or 8 waves do matrix work, at most 8 waves load, a workgroup has at most 1024 threads",
        "{load_waves} load and {math_waves} math waves make {launch_threads} threads",
        "math waves: 1, 2, 4 or 8; load waves: 0 to 8; 64 threads a wave, at most 1024 a workgroup",
        "Math waves tile M x N as a grid of powers of two; HIP launches at most 1024 threads a workgroup.",
        ("wave_ratio", "block_size", "tile"),
    ),
    Rule(
        "xdl-size",
        "domain",
        "m_per_xdl == 32 or m_per_xdl == 16",
        "matrix atoms are 32x32 or 16x16",
        "m_per_xdl is {m_per_xdl}",
        "use 32 or 16",
        "The square MFMA shapes with one block and full rate are 32x32 and 16x16.",
        ("m_per_xdl",),
    ),
    Rule(
        "stages-range",
        "domain",
        "(load_waves == 0 and stages >= 1 and stages <= 2)"
        " or (load_waves > 0 and (stages == 2 or stages == 4))",
        "xdl keeps 1 or 2 LDS buffers, wavelet 2 or 4",
        "{stages} stages for family {family}",
        "use 1 or 2 for xdl, 2 or 4 for wavelet",
        "The wavelet ring has two halves, one being filled and one being multiplied; where every wave loads,"
        " registers are the second buffer.",
        ("stages",),
    ),
    Rule(
        "vector-width",
        "domain",
        "16 % (a_vector * elem_bytes) == 0 and 16 % (b_vector * elem_bytes) == 0",
        "a global read of A or B is a power of two of elements and at most 16 bytes",
        "vectors of {a_vector} (A) and {b_vector} (B) elements of {elem_bytes} bytes",
        "use powers of two up to 16 bytes",
        "The widest vector memory instruction moves 16 bytes a lane, and the widths are powers of two.",
        ("vector", "tile"),
    ),
    Rule(
        "c-vector",
        "domain",
        "16 % (c_vector * wei_bytes) == 0 and n_per_block % c_vector == 0",
        "a global write of C is a power of two of elements, at most 16 bytes, and divides a row of the tile",
        "c vector {c_vector} of {wei_bytes}-byte weights, n_per_block {n_per_block}",
        "use a power of two up to 16 bytes that divides n_per_block",
        "The widest vector memory instruction moves 16 bytes a lane; no vector may cross a row of the tile.",
        ("vector", "tile"),
    ),
    Rule(
        "generic-vectors",
        "domain",
        "not generic"
        " or (a_vector == 1 and b_vector == 1 and c_vector == 1 and load_waves == 0 and not pointwise)",
        "a generic instance is of family xdl, takes any filter and reads and writes single elements",
        "a generic {family} instance, conv_spec {conv_spec}, vectors {a_vector}x{b_vector}x{c_vector}",
        "leave vector and conv_spec to their defaults in a generic group of family xdl",
        "Only single elements divide every C and K; only Default takes every filter, stride and padding.",
        ("vector", "conv_spec", "generic", "family"),
    ),
    Rule(
        "wavelet-dtype",
        "domain",
        "load_waves == 0 or (elem_bytes == 2 and wei_bytes == 2)",
        "wavelet exists for f16 and bf16",
        "wavelet has no {dtype} instances",
        "use f16 or bf16, or family xdl",
        "f32 atoms take so long that index arithmetic hides behind them without load waves.",
        ("dtype",),
    ),
    Rule(
        "tile-m-waves",
        "tile",
        "m_per_block % (m_waves * m_per_xdl) == 0",
        "m_per_block is a whole number of atoms for each of the m_waves",
        "m_per_block {m_per_block} is not a multiple of {m_waves} x {m_per_xdl} (m_waves x m_per_xdl)",
        "m_per_block must be a multiple of m_waves x m_per_xdl",
        "A wave computes whole matrix atoms, and all math waves of a workgroup the same number.",
        ("tile", "block_size", "wave_ratio", "m_per_xdl"),
    ),
    Rule(
        "tile-n-waves",
        "tile",
        "n_per_block % (n_waves * m_per_xdl) == 0",
        "n_per_block is a whole number of atoms for each of the n_waves",
        "n_per_block {n_per_block} is not a multiple of {n_waves} x {m_per_xdl} (n_waves x m_per_xdl)",
        "n_per_block must be a multiple of n_waves x m_per_xdl",
        "A wave computes whole matrix atoms, and all math waves of a workgroup the same number.",
        ("tile", "block_size", "wave_ratio", "m_per_xdl"),
    ),
    Rule(
        "k-per-block-step",
        "tile",
        "k_per_block % k_step == 0",
        "k_per_block is a whole number of atom steps (k_step)",
        "k_per_block {k_per_block} is not a multiple of {k_step} (k_step)",
        "k_step is what one step of a wave covers: 16 bytes for each of 64 / m_per_xdl lane groups",
        "A lane reads 16 bytes of GEMM-K from LDS at once; a wave's lane groups lie side by side along it.",
        ("k_per_block", "tile", "m_per_xdl"),
    ),
    Rule(
        "a-copy-cover",
        "instance",
        "a_slices >= 1 and a_slices * a_vector * a_dst_vector * copy_threads == m_per_block * k_per_block",
        "the copy threads move the whole tile of A in equal pieces",
        "{copy_threads} threads x {a_vector}x{a_dst_vector} do not cover A's {m_per_block}x{k_per_block}",
        "use a smaller a vector, fewer copy waves or a larger tile",
        "A branch-free copy gives every thread the same number of pieces, with none left over.",
        ("vector", "tile", "k_per_block", "wave_ratio", "block_size"),
    ),
    Rule(
        "b-copy-cover",
        "instance",
        "b_slices >= 1 and b_slices * b_vector * b_dst_vector * copy_threads == n_per_block * k_per_block",
        "the copy threads move the whole tile of B in equal pieces",
        "{copy_threads} threads x {b_vector}x{b_dst_vector} do not cover B's {n_per_block}x{k_per_block}",
        "use a smaller b vector, fewer copy waves or a larger tile",
        "A branch-free copy gives every thread the same number of pieces, with none left over.",
        ("vector", "tile", "k_per_block", "wave_ratio", "block_size"),
    ),
    Rule(
        "a-tile-vector",
        "instance",
        "m_per_block % a_vector == 0 and k_per_block % a_dst_vector == 0",
        "pieces of a_vector x a_dst_vector tile m_per_block x k_per_block",
        "pieces of {a_vector}x{a_dst_vector} do not tile {m_per_block}x{k_per_block}",
        "a_vector must divide m_per_block, a_dst_vector k_per_block",
        "A piece that crossed the edge of the tile would need a branch for each element.",
        ("vector", "tile", "k_per_block"),
    ),
    Rule(
        "b-tile-vector",
        "instance",
        "n_per_block % b_vector == 0 and k_per_block % b_dst_vector == 0",
        "pieces of b_vector x b_dst_vector tile n_per_block x k_per_block",
        "pieces of {b_vector}x{b_dst_vector} do not tile {n_per_block}x{k_per_block}",
        "b_vector must divide n_per_block, b_dst_vector k_per_block",
        "A piece that crossed the edge of the tile would need a branch for each element.",
        ("vector", "tile", "k_per_block"),
    ),
    Rule(
        "lds-write-width",
        "instance",
        "a_dst_vector * elem_bytes >= 4 and b_dst_vector * elem_bytes >= 4"
        " and k1 % a_dst_vector == 0 and k1 % b_dst_vector == 0",
        "an LDS write is 4, 8 or 16 bytes",
        "LDS writes of {a_dst_vector} (A) and {b_dst_vector} (B) elements of {elem_bytes} bytes",
        "use a smaller vector or fewer copy waves, so that a thread has enough of GEMM-K to write",
        "A write narrower than a 4-byte bank wastes it; one that does not divide a slot straddles two.",
        ("vector", "tile", "k_per_block", "wave_ratio", "block_size"),
    ),
    Rule(
        "c-tile-cover",
        "instance",
        "(epilogue_rows * n_per_block) % (c_vector * block_size) == 0"
        " or (c_vector * block_size) % (epilogue_rows * n_per_block) == 0",
        "the math threads store the rows of one epilogue step evenly, or a whole fraction of them does",
        "{block_size} threads x {c_vector} elements do not fit {epilogue_rows} rows of {n_per_block}",
        "use another c vector or a tile whose n_per_block is a power of two",
        "A branch-free epilogue gives every thread that stores the same number of vectors.",
        ("vector", "tile", "block_size", "wave_ratio"),
    ),
    Rule(
        "register-budget",
        "instance",
        "vgpr_estimate <= vgpr_budget",
        "the estimated registers of a lane fit what the launched waves leave it",
        "about {vgpr_estimate} registers a lane, {vgpr_budget} are available",
        "use a smaller tile, or other waves",
        "A SIMD of gfx90a and later has 512 registers a lane for all its waves; more than the share spills.",
        ("tile", "block_size", "wave_ratio", "k_per_block"),
    ),
    Rule(
        "lds-bytes",
        "arch",
        "lds_bytes <= lds_limit",
        "the LDS of a workgroup fits the architecture",
        "{lds_bytes} bytes of LDS, {arch} has {lds_limit}",
        "use fewer stages, a smaller tile or k_per_block",
        "A workgroup cannot allocate more LDS than a compute unit has: 64 KiB, on gfx950 160 KiB.",
        ("stages", "k_per_block", "tile", "archs"),
    ),
    Rule(
        "atom-exists",
        "arch",
        "has_atom or generic",
        "the architecture has an MFMA for the data type and atom size",
        "{arch} has no {m_per_xdl}x{m_per_xdl} MFMA for {dtype}",
        "take the architecture out of archs; the generic instances serve it",
        "The kernels are written for MFMA; elsewhere only the portable multiply-add atom runs.",
        ("archs", "m_per_xdl", "dtype"),
    ),
)

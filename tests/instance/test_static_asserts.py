"""Tests that every static_assert of the templates is a rule of the table, or cannot fail if the rules hold.

A specification that ckgen accepts must compile. An assert that depends on an instance therefore belongs in the table
(ckgen/families), from which the header's asserts are generated. An assert that stays in a template is listed here with
the reason why no valid instance breaks it. The random instances of test_compile_random.py look for omissions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ckgen.families.registry import RULES
from ckgen.paths import templates_dir

# File below include/ckgen, condition -> the rules that imply it, or the reason why it cannot fail.
Reason = tuple[str, ...] | str
_TABLE = "it asserts the table itself"
_ONE_STAGE = (
    "both sides are the sum of the same planes: derived.hpp has it for the allocation, the layouts for addresses"
)
_ONE_SIZE = "DType asserts that operands have one size"
IMPLIED: dict[str, dict[str, Reason]] = {
    "atom/fma.hpp": {"sizeof(TA) == sizeof(TB)": _ONE_SIZE},
    "atom/lane_map.hpp": {"Size == 32 || Size == 16": ("xdl-size",)},
    "atom/wgmma_operands.hpp": {
        "Columns == 64 || Columns == 32 || Columns == 8": "64 by default; family halo takes 32 and 8 for 40 channels",
        "RowBytes == 128 || RowBytes == 64": ("tma-k",),
    },
    "atom/swizzled_tile.hpp": {
        "pitch == 128 || pitch == 64": "kernels name the pitch: 128, or 64 for rows of 32 channels"
    },
    "atom/wgmma.hpp": {
        # wavelet_tma and stationary: n_per_block; halo: three taps of 64 channels, or of 32 and of 8.
        "N == 24 || N == 64 || N == 96 || N == 128 || N == 160 || N == 192 || N == 256": (
            *("tma-n", "stationary-n", "halo-tile"),
        ),
        "N == 64 || N == 128 || N == 192 || N == 256": ("tma-n", "tma-half-box", "stationary-n"),
        "!IsSame<T, tf32_t>::value || (A == Major::k && B == Major::k)": (*("tma-tf32", "tma-weight-tf32"),),
    },
    "atom/warp_tile.hpp": {"N == 64 || N == 128 || N == 256": ("tma-n", "tma-half-box", "tma-weight-tf32")},
    "pipeline/tma/any_rows.hpp": {
        "A::bytes + B::bytes == TmaRing<D>::row_buffer_bytes && D::k_per_block == 64": ("tma-k", "tma-half-box"),
    },
    "atom/part_columns.hpp": {
        "N * 8 % Threads == 0": ("tma-n", "tma-f32", "tma-waves"),
        "Threads % N == 0 && 8 % step == 0": ("tma-n", "tma-f32", "tma-waves"),
    },
    "atom/wgmma_host.hpp": {"sizeof(T) == 2": ("tma-tf32", "tma-weight-tf32")},
    "block/direct_copy.hpp": {
        "lane_bytes == 16": "kDirectOperand asks for vector 8 of 16-bit elements",
        "Layout::plane_bytes == Layout::k1 * Layout::row_bytes": "kDirectOperand asks for no padding",
        "Rows::slice_rows % Layout::moves_repeat_after == 0": "kDirectOperand asks for it",
        "vector * static_cast<int>(sizeof(T)) == Layout::slot_bytes": "kDirectSlots asks for 8 16-bit elements",
        "Layout::planes * Layout::k1 == KPerBlock && slice_columns * Slices == Layout::columns": (
            *("a-slot-cover", "k-per-block-step"),
        ),
        "slice_columns % Layout::moves_repeat_after == 0": "kDirectSlots asks for it",
    },
    "block/lds_layout.hpp": {
        "Columns_ % 32 == 0 && row_bytes * K1_ <= plane_bytes": "kTileWay and kDirectOperand ask for 32 columns and"
        " for 16-bit elements, of which K1 are 16 bytes",
        "Planes_ > 0 && 16 % Planes_ == 0": "kDirectSlots asks for it",
    },
    "block/row_copy.hpp": {
        # Slices is a_slices * a_dst_vector; threads_x divides the threads of a plane, and planes the copy threads.
        "Slices * slice_rows == KPerBlock && Threads % threads_x == 0": (
            *("a-copy-cover", "b-copy-cover", "a-tile-vector", "b-tile-vector", "a-copy-planes", "b-copy-planes"),
        ),
    },
    "block/slot_copy.hpp": {
        "Threads % planes == 0 && slice_columns * Slices == Layout::columns": (
            *("a-slot-cover", "b-slot-cover", "k-per-block-step"),
        ),
        "Layout::vector == 1": "OperandInLds gives the layout of K-major operands this vector",
    },
    "block/tile_copy.hpp": {
        "Slices * Threads * RowVector * column_vector == Layout::columns * KPerBlock": (
            *("a-copy-cover", "b-copy-cover", "a-tile-vector", "b-tile-vector", "lds-write-width", "k-per-block-step"),
        ),
        "sizeof(V) == 2 * sizeof(Half)": ("vector-width",),
        "sizeof(Source) == sizeof(FromVector) && sizeof(Target) == sizeof(ToVector)": "both vectors are one access",
        "Threads % run == 0 && parts % run_parts == 0": (
            *("a-copy-planes", "b-copy-planes", "a-tile-vector", "b-tile-vector", "lds-write-width"),
        ),
    },
    "block/wave_mma.hpp": {
        "D::generic || atom::kMatrixUnit<D::matrix_unit>": ("atom-exists",),
        "IsSame<atom::Sum<TA, TB>, typename D::Accumulator>::value": "the row of int8 in DTYPES says i32, others f32",
    },
    "block/shifted_slot_copy.hpp": {
        "words >= 1 && (element_bytes == 2 || element_bytes == 4)": ("channels-first-vectors",),
    },
    "block/row_end_copy.hpp": {
        "words >= 1 && (words & (words - 1)) == 0": ("channels-first-vectors", "vector-width"),
    },
    "block/unaligned_vector.hpp": {
        "ElementBytes == 2 || ElementBytes == 4": ("channels-first-vectors",),
    },
    "load/bwd_data_loader.hpp": {
        "b_offset + D::planes * B::plane_bytes == D::lds_stage_bytes": _ONE_STAGE,
        "ChannelsLast || Copy::column_vector == 1": ("channels-first-vectors",),
    },
    "epilogue/bwd_weight_store.hpp": {
        "taps_fastest == !D::c_channels_last": "only layouts whose positions are contiguous have such a weight",
    },
    "load/bwd_weight_loader.hpp": {
        "b_offset + D::k_per_block / D::k1 * B::plane_bytes == D::lds_stage_bytes": _ONE_STAGE,
    },
    "op/device_grouped_conv_bwd_data_multiple_d.hpp": {
        "NumDTensor == DsLayout::Size()": "tree._types makes both lists from the tensors of one function",
    },
    "op/device_grouped_conv_bwd_weight_multiple_d.hpp": {
        "NumDTensor == DsDataType::Size()": "tree._types makes both lists from the tensors of one function",
    },
    "op/impl/fused.hpp": {
        "std::is_trivially_copyable_v<Function>": "functions.hpp.j2 makes structs with members of type float alone",
    },
    "epilogue/cshuffle.hpp": {
        "2 * buffer_bytes == D::lds_epilogue_bytes": "both are two buffers of epilogue_rows x n_per_block floats",
        # c_vector and b_vector are powers of two, and c_vector divides a group of LdsLayout: it is at most 8, and a
        # group is n_per_block, or 8 times b_vector, or a power of two of at least 16 that divides n_per_block.
        "constants_apart()": ("c-vector", "vector-width", "tile-n-waves"),
    },
    "config/called_function.hpp": {
        "kTakes<Function, Tuple<Result&, const float&, const Ds&...>>": "the functions that a spec names take f32",
    },
    "config/derived_bwd_weight.hpp": {
        "Base::DsLayout::Size() == d_tensors": "tree._types makes both lists from the tensors of one function",
    },
    "config/derived_bwd_data.hpp": {
        "Base::DsLayout::Size() == d_tensors": "tree._types makes both lists from the tensors of one function",
    },
    "config/rules.hpp.j2": {"{{ rule.condition }}": _TABLE},
    "pipeline/halo/halo.hpp": {
        "Positions::pitch == conv::kHaloPitch && Positions::pitch == D::out_pitch": ("halo-tile",),
        "D::shares * lines * line_pitch * 4 <= lds_bytes - barrier_bytes": ("halo-products",),
    },
    "pipeline/halo/bwd_data_halo.hpp": {
        "load_threads == 128 && D::block_size == 256": ("halo-waves", "halo-data-waves")
    },
    "pipeline/bwd_weight_depthwise_tma.hpp": {
        "D::n_per_block == 32 * vector && D::n_per_block * D::elem_bytes == pitch": ("depthwise-tma-tile",),
    },
    "pipeline/bwd_data_depthwise_tma.hpp": {
        "D::n_per_block == 32 * vector && D::n_per_block * D::elem_bytes == pitch": ("depthwise-tma-tile",),
    },
    "pipeline/bwd_weight_depthwise.hpp": {
        "(positions - 1) * 2 + row_taps <= 32": ("depthwise-window",),
        "unit_rows == 1 || ndim > 1": ("depthwise-stages",),
        "launch_threads * vector * 4 <= lds_bytes": "lds_bytes is a maximum of it and another, and no wave loads",
    },
    "pipeline/bwd_data_depthwise_sweep.hpp": {"window <= 32": ("depthwise-window",)},
    "pipeline/wavelet.hpp": {
        "D::load_waves > 0 && D::stages % 2 == 0": (
            "stages-range",
        ),  # wavelet requires `wave_ratio`, which has at least 1
        "ahead == 1 || ahead == 2": "platforms say 1 or 2, whatever the instance",
    },
    "pipeline/tma/tma_consumers.hpp": {
        "Base::own_blocks == 1 && D::weight_rows == 0": "stationary has no weights; tma-weight-tf32",
        "!View::a_in_registers": ("tma-cluster",),
    },
    "pipeline/tma/bwd_data_any_planes.hpp": {"Base::elem_bytes == 2": "4 bytes have another kernel"},
    "pipeline/tma/bwd_data_word_planes.hpp": {"warps == 1 || warps == 2": ("tma-shift",)},
    "pipeline/tma/word_rows.hpp": {"count % 4 == 0": ("tma-tile", "tma-n", "tma-k")},
    "epilogue/wgmma_word_store.hpp": {"sizeof(In) == 4": "BwdDataTmaKernel has this kernel for 4 bytes"},
    "pipeline/tma/bwd_data_tma_roles.hpp": {"D::lds_store_bytes == Epilogue::lds_bytes": ("tma-n", "stationary-n")},
    "epilogue/col2im_store.hpp": {
        "cells_byte + D::m_per_block * 16 == D::lds_sums_bytes && ndim <= 3": "lds_sums_bytes is this sum",
    },
    "epilogue/wgmma_channel_store.hpp": {"sizeof(In) == 4": ("tma-exchange",)},
    "epilogue/plane_lines.hpp": {
        "D::kernel_ndim == 1": ("tma-spec",),
    },
    "atom/wmma.hpp": {"Size == 16": ("wmma-atom",)},
    "atom/wmma_host.hpp": {"sizeof(TA) == sizeof(TB)": _ONE_SIZE},
    "atom/dot.hpp": {"Size == 32": ("dl-atom",), "sizeof(TA) == sizeof(TB)": _ONE_SIZE},
    "pipeline/warp_split.hpp": {
        "warps * bytes == D::lds_bytes": "derived.hpp has the same sum for the allocation",
        "D::k_per_block == D::block_size / 2": ("warp-split-tile",),
    },
    "pipeline/xdl.hpp": {"D::load_waves == 0": "`wave_ratio` is not a key of family xdl, so group.build gives it none"},
    "platform/amd.hpp": {
        "sizeof(V) == 16": "a fragment is a slot",
        "sizeof(V) == 1": ("vector-width",),
    },
}
IMPLIED["config/checked.hpp.j2"] = {}


def conditions_of(path: str, text: str) -> set[str]:
    """The conditions of a file's asserts, except those of checked*.hpp that only instantiate the structs of rules."""
    found = {re.sub(r', "[^"]*"$', "", said) for said in asserts_of(text)}
    return {one for one in found if not (path.startswith("config/checked") and re.search(r"Rules<.*\) > 0$", one))}


def asserts_of(text: str) -> Iterator[str]:
    """The arguments of each static_assert, with whitespace normalised."""
    for found in re.finditer(r"\bstatic_assert\(", text):
        depth, at = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield " ".join(text[found.end() : at - 1].split())


def asserted() -> dict[str, set[str]]:
    """The conditions of every template file that has asserts. Those of compat/ are about a program's arguments, not
    about a spec."""
    root = templates_dir()
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and root / "compat" not in path.parents]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    found = {}
    for path, text in texts.items():
        if "static_assert(" in text:
            name = path.relative_to(root).as_posix().removeprefix("include/ckgen/")
            found[name] = conditions_of(name, text)
    return found


def test_every_static_assert_is_a_rule_or_implied() -> None:
    """A new assert needs a rule, or a reason in IMPLIED why valid instances satisfy it."""
    assert asserted() == {path: set(conditions) for path, conditions in IMPLIED.items()}


def test_the_rules_that_are_said_to_imply_an_assert_exist() -> None:
    known = {rule.id for rule in RULES}
    for conditions in IMPLIED.values():
        for reason in conditions.values():
            assert reason and (isinstance(reason, str) or set(reason) <= known)


def test_an_assert_is_read_to_its_end() -> None:
    text = (
        'static_assert(f(1) &&\n    x<(2 > 1)>::y, "a (b) c");\nstatic_assert(sizeof(Rules<D>) > 0, "instantiates");\n'
    )
    assert conditions_of("a.hpp", text) == {"f(1) && x<(2 > 1)>::y", "sizeof(Rules<D>) > 0"}
    assert conditions_of("config/checked.hpp", text) == {"f(1) && x<(2 > 1)>::y"}

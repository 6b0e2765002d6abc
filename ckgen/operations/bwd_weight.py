"""Backward weight: the gradient of the weight, and its references in float64.

    dWei = dOut x In    M = K, N = C x filter, GEMM-K = N x output positions

The references are independent of every kernel: they have no tiles and do not use the library's view of the operation as
a GEMM, but compute one matrix product per filter tap and group.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from ckgen.conv.dtypes import Array, Float64
from ckgen.conv.problem import ConvProblem
from ckgen.operations.record import CkRows, CppClass, Extents, Gemm, MergedExtents, Operation


def backward_weight(problem: ConvProblem, in_: Array, out: Array) -> Float64:
    """The gradient of the weights, float64, logical shape (G, K, C, filter), channels fastest in memory.

    ``in_`` (G, N, C, input) and ``out`` (G, N, K, output, the gradient of the convolution's output) are real arrays in
    logical order; views with any strides are accepted. Each weight is

        wei[g, k, c, x] = sum over n, o of out[g, n, k, o] * in_[g, n, c, o * stride + x * dilation - pad]

    with positions outside the input counting as zero. Raises ValueError if a shape does not match the problem.
    """
    import numpy as np

    if in_.shape != problem.lengths("in") or out.shape != problem.lengths("out"):
        needed = problem.lengths("in"), problem.lengths("out")
        raise ValueError(f"in and out have shapes {in_.shape} and {out.shape}, the problem needs {needed}")
    pads = [(0, 0), (0, 0), *zip(problem.left_pads, problem.right_pads, strict=True), (0, 0)]
    channels_last = np.pad(np.moveaxis(in_, 2, -1).astype(np.float64), pads)  # (G, N, padded input, C)
    # (G, K, N * output)
    gradient = np.moveaxis(out, 2, 1).reshape(problem.groups, problem.k, -1).astype(np.float64)
    wei = np.empty((problem.groups, problem.k, *problem.filter, problem.c), dtype=np.float64)
    axes = tuple(zip(problem.dilations, problem.output, problem.strides, strict=True))
    for tap in np.ndindex(*problem.filter):
        window = tuple(
            slice(x * dilation, x * dilation + (edge - 1) * stride + 1, stride)
            for x, (dilation, edge, stride) in zip(tap, axes, strict=True)
        )
        seen = channels_last[(slice(None), slice(None), *window)].reshape(problem.groups, -1, problem.c)
        wei[(slice(None), slice(None), *tap)] = gradient @ seen
    return np.moveaxis(wei, -1, 2)


def torch_backward_weight(torch: Any, problem: ConvProblem, in_: Any, out: Any) -> Any:
    """The gradient of the weights in float64, logical shape (G, K, C, filter), on the device of ``in_``.

    ``in_`` (G, N, C, input) and ``out`` (G, N, K, output) are in logical order, with any strides. The function computes
    the sum of ``backward_weight`` as one batched product per filter tap, over groups and images.
    """
    pads = [0, 0]
    for left, right in reversed(list(zip(problem.left_pads, problem.right_pads, strict=True))):
        pads += [left, right]
    seen = torch.nn.functional.pad(in_.double().movedim(2, -1), pads)  # (G, N, padded input, C)
    gradient = out.flatten(3).double()  # (G, N, K, output)
    wei = torch.empty(problem.lengths("wei"), dtype=torch.float64, device=in_.device)
    axes = tuple(zip(problem.dilations, problem.output, problem.strides, strict=True))
    for tap in product(*map(range, problem.filter)):
        window = tuple(
            slice(x * dilation, x * dilation + (edge - 1) * stride + 1, stride)
            for x, (dilation, edge, stride) in zip(tap, axes, strict=True)
        )
        positions = seen[(slice(None), slice(None), *window)].flatten(2, -2)  # (G, N, output, C)
        wei[(..., *tap)] = (gradient @ positions).sum(1)
    return wei


def _extents(problem: ConvProblem, exchange: bool = False) -> Extents:
    if exchange:  # the weight gradient of the convolution from the output to the input
        return Extents((problem.c,), (problem.k,), problem.filter, (problem.batch, *problem.input))
    return Extents((problem.k,), (problem.c,), problem.filter, (problem.batch, *problem.output))


def _products(
    problem: ConvProblem, row_vector: int = 1, tile_rows: int = 0, exchange: bool = False
) -> tuple[Gemm, ...]:
    sizes = _extents(problem, exchange)
    return ((prod(sizes.m), prod((*sizes.n, *sizes.taps)), prod(sizes.k)),)


def _can_exchange(problem: ConvProblem) -> bool:
    """True if the weight gradient is also that of the convolution from the output to the input, with flipped taps: the
    stride is 1, and the pads of that convolution are not negative."""
    axes = zip(problem.filter, problem.dilations, problem.left_pads, problem.right_pads, strict=True)
    return max(problem.strides) == 1 and all(max(pads) <= (taps - 1) * step for taps, step, *pads in axes)


def _template(k: str, more: tuple[str, ...]) -> tuple[str, ...]:
    """All template arguments of a class; `k` is the one for GEMM-K of the block, `more` are those after the widths."""
    return (
        *("ndim", "in_layout", "wei_layout", "out_layout", "in_type", "wei_type", "out_type", "acc_type"),
        *("in_op", "wei_op", "out_op", "conv_spec", "block_size", "m", "n", k, "k1", "m_per_xdl", "n_per_xdl"),
        *("m_xdl_per_wave", "n_xdl_per_wave"),
        *("a_cluster", "a_order", "a_source_order", "a_dimension", "a", "a_dst", "a_extra"),
        *("b_cluster", "b_order", "b_source_order", "b_dimension", "b", "b_dst", "b_extra"),
        *("shuffle_m", "shuffle_n", "c_cluster", "c"),
        *more,
    )


# Arguments of type strings of classes that print GEMM-K of the block.
_OF_BLOCK = (
    *("block_size", "m", "n", "k", "conv_spec", "k1", "m_xdl_per_wave", "n_xdl_per_wave"),
    *("a", "a_dst", "b", "b_dst", "shuffle_m", "shuffle_n", "c"),
)

BWD_WEIGHT = Operation(
    name="grouped_conv_bwd_weight",
    short="bwd_weight",
    words="backward weight",
    results="Weight gradients",
    written="wei",
    a="out",
    b="in",
    order=("in", "wei", "out"),
    gemm_k="NDHW",
    merged=MergedExtents(m=True, n=True, k=False),
    own_d_layouts=("GC", "G_C"),
    small_vector=None,
    exchanges=_can_exchange,
    products=_products,
    extents=_extents,
    compulsory_bytes=ConvProblem.compulsory_bytes,
    reference=lambda problem, seen: backward_weight(problem, seen["in"], seen["out"]),
    torch_reference=lambda torch, problem, seen: torch_backward_weight(torch, problem, seen["in"], seen["out"]),
    pytorch=lambda torch, in_, wei, out, rest: torch.ops.aten.convolution_backward(
        *(out, in_, wei, None), *rest, [False, True, False]
    )[1],
    operator="BwdWeightMultipleDOperator",
    interface="device_grouped_conv_bwd_weight_multiple_d.hpp",
    plain=CppClass("BwdWeightOperator", "device_grouped_conv_bwd_weight.hpp"),
    prefix="BwdWeight",
    own_derived="WithWeightFunction",
    shares_splits=True,
    c_reference="ckgen_reference",
    problem_set="ck_bwd_weight",
    ck=CkRows(
        "DeviceGroupedConvBwdWeight_Xdl_CShuffle",
        (
            *("block_size", "m", "n", "k0", "conv_spec", "k1", "m_xdl_per_wave", "n_xdl_per_wave"),
            *("a", "a_dst", "b", "b_dst", "shuffle_m", "shuffle_n", "c"),
        ),
        _template("k0", ("a_compute", "b_compute", "a_transpose", "b_transpose")),
        fused="DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle",
        # Newer versions of CK have it; rocm-libraries' projects/composablekernel at 6170451c lists its rows.
        pipelined=CkRows(
            "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3",
            (*_OF_BLOCK, "scheduler", "pipeline"),
            _template("k", ("scheduler", "pipeline", "a_compute", "b_compute", "direct_load", "groups_to_merge")),
        ),
    ),
    more_ck=(
        # For few channels per group: a tile has several groups.
        CkRows(
            "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle",
            (*_OF_BLOCK, "scheduler", "pipeline", "groups_to_merge"),
            _template(
                "k",
                (
                    *("scheduler", "pipeline", "groups_to_merge", "a_compute", "b_compute"),
                    *("transpose_src", "transpose_dst"),
                ),
            ),
            unit="TwoStage",
            transposing=("transpose_src", "transpose_dst"),
        ),
        CkRows(
            "DeviceGroupedConvBwdWeight_Wmma_CShuffle",
            (
                *("block_size", "m", "n", "k0", "conv_spec", "k1", "a", "a_dst", "b", "b_dst"),
                *("shuffle_m", "shuffle_n", "c"),
            ),
            unit="Wmma",
        ),
        # Its rows access single elements, which the type string does not say.
        CkRows(
            "DeviceGroupedConvBwdWeight_Dl",
            ("block_size", "m", "n", "k0", "conv_spec", "k1"),
            unit="Dl",
        ),
    ),
)

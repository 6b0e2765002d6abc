"""Backward data: the gradient of the input, and its references in float64.

    dIn = dOut x Wei    M = N x input positions of a sub-GEMM, N = C, GEMM-K = K x its taps

The references are independent of every kernel and of ckgen.conv.sub_gemms: they have no tiles and no sub-GEMMs, and
compute one matrix product per filter tap and group.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

from ckgen.conv.dtypes import Array, Float64
from ckgen.conv.layout import OWN_LAYOUTS
from ckgen.conv.problem import ConvProblem
from ckgen.conv.sub_gemms import decompose, tilde
from ckgen.operations.record import CkRows, Extents, Gemm, MergedExtents, Operation


def backward_data(problem: ConvProblem, out: Array, wei: Array) -> Float64:
    """The gradient of the input, float64, logical shape (G, N, C, input), channels fastest in memory.

    ``out`` (G, N, K, output, the gradient of the convolution's output) and ``wei`` (G, K, C, filter) are real arrays in
    logical order; views with any strides are accepted. Each element is

        in[g, n, c, i] = sum over k, x, o with i = o * stride + x * dilation - pad of out[g, n, k, o] * wei[g, k, c, x]

    which is 0 if no tap reaches the position. Raises ValueError if a shape does not match the problem.
    """
    import numpy as np

    if out.shape != problem.lengths("out") or wei.shape != problem.lengths("wei"):
        needed = problem.lengths("out"), problem.lengths("wei")
        raise ValueError(f"out and wei have shapes {out.shape} and {wei.shape}, the problem needs {needed}")
    pads = tuple(zip(problem.left_pads, problem.right_pads, strict=True))
    padded = tuple(edge + left + right for edge, (left, right) in zip(problem.input, pads, strict=True))
    gradient = np.moveaxis(out, 2, -1).reshape(problem.groups, -1, problem.k).astype(np.float64)
    in_ = np.zeros((problem.groups, problem.batch, *padded, problem.c))
    axes = tuple(zip(problem.dilations, problem.output, problem.strides, strict=True))
    for tap in np.ndindex(*problem.filter):
        window = tuple(
            slice(x * dilation, x * dilation + (edge - 1) * stride + 1, stride)
            for x, (dilation, edge, stride) in zip(tap, axes, strict=True)
        )
        seen = gradient @ wei[(slice(None), slice(None), slice(None), *tap)].astype(np.float64)
        here = (slice(None), slice(None), *window)
        in_[here] += seen.reshape(problem.groups, problem.batch, *problem.output, problem.c)
    image = tuple(slice(left, left + edge) for edge, (left, _) in zip(problem.input, pads, strict=True))
    return np.moveaxis(in_[(slice(None), slice(None), *image)], -1, 2)


def torch_backward_data(torch: Any, problem: ConvProblem, out: Any, wei: Any) -> Any:
    """The gradient of the input in float64, logical shape (G, N, C, input), on the device of ``out``.

    ``out`` (G, N, K, output) and ``wei`` (G, K, C, filter) are in logical order, with any strides. The function
    computes the sum of ``backward_data`` as one batched product per filter tap, over groups and images.
    """
    pads = list(zip(problem.left_pads, problem.right_pads, strict=True))
    padded = [edge + left + right for edge, (left, right) in zip(problem.input, pads, strict=True)]
    shape = (problem.groups, problem.batch, *padded, problem.c)
    in_ = torch.zeros(shape, dtype=torch.float64, device=out.device)
    gradient = out.double().movedim(2, -1).flatten(2, -2)  # (G, N, output, K)
    axes = tuple(zip(problem.dilations, problem.output, problem.strides, strict=True))
    for tap in product(*map(range, problem.filter)):
        window = tuple(
            slice(x * dilation, x * dilation + (edge - 1) * stride + 1, stride)
            for x, (dilation, edge, stride) in zip(tap, axes, strict=True)
        )
        seen = gradient @ wei[(..., *tap)].double().unsqueeze(1)  # (G, N, output, C)
        here = in_[(slice(None), slice(None), *window)]
        here += seen.reshape(here.shape)
    image = tuple(slice(left, left + edge) for edge, (left, _) in zip(problem.input, pads, strict=True))
    return in_[(slice(None), slice(None), *image)].movedim(-1, 2)


@lru_cache(maxsize=64)  # a prediction of each instance and split_k asks for them
def _products(
    problem: ConvProblem, row_vector: int = 1, tile_rows: int = 0, exchange: bool = False
) -> tuple[Gemm, ...]:
    found = tuple(sub.gemm(problem, row_vector, tile_rows) for sub in decompose(problem).sub_gemms)
    return tuple((n, m, k) for m, n, k in found) if exchange else found


def _extents(problem: ConvProblem, exchange: bool = False) -> Extents:
    axes = zip(problem.filter, problem.strides, problem.dilations, strict=True)
    terms = (problem.k, *(-(-taps // tilde(stride, dilation)) for taps, stride, dilation in axes))
    positions, channels = (problem.batch, *problem.input), (problem.c,)
    return Extents(channels, positions, (), terms) if exchange else Extents(positions, channels, (), terms)


BWD_DATA = Operation(
    name="grouped_conv_bwd_data",
    short="bwd_data",
    words="backward data",
    results="Input gradients",
    written="in",
    a="out",
    b="wei",
    order=("out", "wei", "in"),
    gemm_k="K",
    merged=MergedExtents(m=False, n=True, k=True),
    own_d_layouts=OWN_LAYOUTS,
    small_vector=1,
    exchanges=lambda problem: True,
    products=_products,
    extents=_extents,
    compulsory_bytes=ConvProblem.bytes,  # every position of the input is written
    reference=lambda problem, seen: backward_data(problem, seen["out"], seen["wei"]),
    torch_reference=lambda torch, problem, seen: torch_backward_data(torch, problem, seen["out"], seen["wei"]),
    pytorch=lambda torch, in_, wei, out, rest: torch.ops.aten.convolution_backward(
        *(out, in_, wei, None), *rest, [True, False, False]
    )[0],
    operator="BwdDataOperator",
    interface="device_grouped_conv_bwd_data_multiple_d.hpp",
    plain=None,
    prefix="BwdData",
    own_derived="WithFunction",
    shares_splits=False,
    c_reference="ckgen_reference_bwd_data",
    problem_set="ck_bwd_data",
    ck=CkRows(
        "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1",
        (
            *("block_size", "m", "n", "k", "ak1", "bk1", "conv_spec", "m_per_xdl", "n_per_xdl"),
            *("m_xdl_per_wave", "n_xdl_per_wave", "a", "b", "shuffle_m", "shuffle_n"),
        ),
    ),
    more_ck=(
        CkRows(
            "DeviceGroupedConvBwdDataMultipleD_Wmma_CShuffle",
            ("block_size", "m", "n", "k", "conv_spec", "k1", "a", "b"),
            unit="Wmma",
        ),
    ),
)

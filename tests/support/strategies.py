"""Random problems for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from ckgen.conv.problem import ConvProblem


@st.composite
def problems(
    draw: st.DrawFn, ndims: tuple[int, ...] = (1, 2, 3), max_channels: int = 70, max_groups: int = 32
) -> ConvProblem:
    """Problems with any stride (even larger than the filter), dilation and pads that differ by side; one-pixel outputs
    are as likely as larger ones. Sizes stay small enough for plain loops if ``max_channels`` is."""
    ndim = draw(st.sampled_from(ndims))
    groups = draw(st.sampled_from([g for g in (1, 2, 3, 5, 8, 16, 32) if g <= max_groups]))
    channels = st.integers(1, max_channels if groups <= 3 else max(1, max_channels // 8))
    filters, inputs, strides, dilations, lefts, rights = [], [], [], [], [], []
    for _ in range(ndim):
        edge, dilation = draw(st.integers(1, 4 if ndim < 3 else 3)), draw(st.integers(1, 3))
        stride, output = draw(st.integers(1, 5)), draw(st.sampled_from([1, 1, 2, 3, 5]))
        left, right = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        padded = (edge - 1) * dilation + 1 + (output - 1) * stride + draw(st.integers(0, stride - 1))
        filters.append(edge)
        dilations.append(dilation)
        strides.append(stride)
        lefts.append(left)
        rights.append(right)
        inputs.append(max(1, padded - left - right))
    spatial = (filters, inputs, strides, dilations, lefts, rights)
    batch, k, c = draw(st.integers(1, 3)), draw(channels), draw(channels)
    return ConvProblem(groups, batch, k, c, *(tuple(values) for values in spatial))

"""The cost model for family halo, whose workgroups cover the channels of several groups and all nine taps of a 3x3
filter.

A tile is the set of positions that the math warps process at once (k_per_block), 16 per warp. The reads and products of
a warp for these positions are in templates/include/ckgen/pipeline/halo/halo.hpp: one ldmatrix of 512 bytes per block
of 16 rows (16 channels of one tap, or 8 channels of two) and per pair of blocks of 8 columns. halo_wgmma.hpp has the
variant in which a warpgroup owns a row of the filter. Rows are longer than those of the output by the reach of the taps
(conv/halo_geometry.hpp); the model ignores that they are then rounded up. No function has state.
"""

from __future__ import annotations

from math import ceil, prod

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.families.fields import Fields
from ckgen.families.tile_cost import Bound, Work, slowest
from ckgen.hardware.compute_units import Rates

CHANNEL_BYTES = 128  # of the channels of a workgroup, at a position
CHANNELS = CHANNEL_BYTES // 2  # input channels per workgroup of backward weight, which has types of 16 bits
TAPS = 9
ATOM_FLOPS = 2 * 16 * 8 * 16
LDMATRIX_BYTES = 512  # four matrices of eight rows of 16 bytes


def channels(instance: Fields) -> int:
    """Input channels per workgroup."""
    return CHANNEL_BYTES // instance.elem_bytes


def bound(instance: Fields, rates: Rates, strides: tuple[int, ...], matrix_rate: float) -> Bound:
    """The bound of the cost model for one tile of a workgroup. Per output position there are as many input positions as
    the product of the strides. `matrix_rate` is per SIMD."""
    if instance.a_k_major:
        return _bwd_data_bound(instance, rates, matrix_rate)
    if instance.m_per_xdl == 64:
        return _wgmma_bound(instance, rates)
    warps = instance.units * instance.shares
    row_blocks = (TAPS + 1) // 2 if instance.unit_channels == 8 else TAPS
    column_blocks = instance.m_per_block // 8
    read = warps * (row_blocks + (column_blocks + 1) // 2) * LDMATRIX_BYTES
    copied = instance.k_per_block * (CHANNEL_BYTES * strides[0] * strides[1] + instance.out_pitch)
    multiplied = warps * row_blocks * column_blocks * ATOM_FLOPS
    resources = (
        ("matrix", multiplied / (matrix_rate * min(rates.simds, warps))),
        ("lds", read / rates.lds_read_bytes + copied / rates.lds_write_bytes),
        ("load", copied / rates.load_bytes),
    )
    useful = 2 * instance.k_per_block * CHANNELS * instance.m_per_block * TAPS
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].operand_type] * rates.simds
    return slowest(resources, useful / peak)


def _wgmma_bound(instance: Fields, rates: Rates) -> Bound:
    """The bound with wgmma, where each of three warpgroups reads the input and its taps of the output for 16 positions
    at a time."""
    positions = instance.k_per_block
    out_bytes = instance.m_per_block * 2
    read = positions * 3 * (CHANNEL_BYTES + 3 * out_bytes)
    copied = positions * (CHANNEL_BYTES + out_bytes)
    multiplied = 2 * positions * CHANNELS * instance.m_per_block * TAPS
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].operand_type] * rates.simds
    resources = (
        ("matrix", multiplied / peak),
        ("lds", read / rates.lds_read_bytes + copied / rates.lds_write_bytes),
        ("load", copied / rates.load_bytes),
    )
    return slowest(resources, multiplied / peak)


def _bwd_data_bound(instance: Fields, rates: Rates, matrix_rate: float) -> Bound:
    """The bound of backward data, where a warp reads 16 positions of 32 channels per tap; every product is useful."""
    warps = instance.units * instance.shares
    copied = instance.k_per_block * CHANNEL_BYTES
    read = warps * TAPS * instance.unit_channels * instance.elem_bytes // 32 * LDMATRIX_BYTES
    multiplied = 2 * instance.k_per_block * channels(instance) * instance.m_per_block * TAPS
    resources = (
        ("matrix", multiplied / (matrix_rate * min(rates.simds, warps))),
        ("lds", read / rates.lds_read_bytes + copied / rates.lds_write_bytes),
        ("load", copied / rates.load_bytes),
    )
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].operand_type] * rates.simds
    return slowest(resources, multiplied / peak)


def bwd_data_shares(instance: Fields, problem: ConvProblem, units: int) -> tuple[int, int]:
    """The number of workgroups of backward data, and the tiles of cells of each. The compute units are divided among
    the channels first, then among the images."""
    windows = ceil(problem.groups / instance.groups_per_block)
    shares = max(1, units // windows)
    rows, columns = (ceil(size / stride) for size, stride in zip(problem.input, problem.strides, strict=True))
    return windows * shares, ceil(problem.batch * rows * (columns + 1) / instance.k_per_block / shares)


def workgroups(instance: Fields, problem: ConvProblem) -> int:
    """Workgroups that cover all weights, before split-K."""
    groups = ceil(problem.groups / instance.groups_per_block)
    return groups * ceil(problem.k / instance.m_per_block) * ceil(problem.c / instance.n_per_block)


def tiles(instance: Fields, problem: ConvProblem, split_k: int) -> int:
    """Tiles of positions per workgroup."""
    rows, columns = problem.output
    reach = (3 - 1) * problem.dilations[1] // problem.strides[1]
    return ceil(problem.batch * rows * (columns + reach) / instance.k_per_block / split_k)


def weights(instance: Fields) -> int:
    """Weights that one workgroup writes."""
    return CHANNELS * instance.m_per_block * TAPS


def work(instance: Fields, problem: ConvProblem, split_k: int, rates: Rates, matrix_rate: float) -> Work:
    """The work of the busiest compute unit for a problem."""
    of_tile = bound(instance, rates, problem.strides, matrix_rate)
    if instance.a_k_major:
        groups, count = bwd_data_shares(instance, problem, rates.units)
        blocks = ceil(groups / rates.units)
        written = count * instance.k_per_block * prod(problem.strides) * channels(instance)
        return Work(blocks, count, of_tile, blocks, written)
    blocks = ceil(workgroups(instance, problem) * split_k / rates.units)
    return Work(blocks, tiles(instance, problem, split_k), of_tile, blocks, weights(instance))

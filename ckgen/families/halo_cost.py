"""The cost model for family halo, whose workgroups have several groups' channels and all nine taps of a 3x3 filter.

A tile is the positions that the math warps take at once (k_per_block), 16 per warp. The reads and products of a warp
for them are in templates/include/ckgen/pipeline/halo.hpp: one ldmatrix of 512 bytes for each block of 16 rows (a tap's
16 channels, or two taps' 8) and for each pair of blocks of 8 columns; halo_wgmma.hpp has it where a warpgroup has a row
of the filter. Rows are wider than the output's by the reach of the taps (conv/halo_geometry.hpp); how far they are
rounded up beyond that is left out. No function has state.
"""

from __future__ import annotations

from math import ceil, prod

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.families.fields import Fields
from ckgen.families.tile_cost import Bound, Work, slowest
from ckgen.hardware.compute_units import Rates

CHANNELS = 64  # input channels of a workgroup: rows of 128 bytes
TAPS = 9
ATOM_FLOPS = 2 * 16 * 8 * 16
LDMATRIX_BYTES = 512  # four matrices of eight rows of 16 bytes
IN_BYTES = CHANNELS * 2  # of an input position in shared memory


def bound(instance: Fields, rates: Rates, strides: tuple[int, ...], matrix_rate: float) -> Bound:
    """The bound of the cost model for the positions of one tile of a workgroup. The input has as many positions for
    each of the output as the strides' product. `matrix_rate` is a SIMD's."""
    if instance.a_rows:
        return _bwd_data_bound(instance, rates, matrix_rate)
    if instance.m_per_xdl == 64:
        return _wgmma_bound(instance, rates)
    warps = instance.units * instance.shares
    row_blocks = (TAPS + 1) // 2 if instance.unit_channels == 8 else TAPS
    column_blocks = instance.m_per_block // 8
    read = warps * (row_blocks + (column_blocks + 1) // 2) * LDMATRIX_BYTES
    copied = instance.k_per_block * (IN_BYTES * strides[0] * strides[1] + instance.out_pitch)
    multiplied = warps * row_blocks * column_blocks * ATOM_FLOPS
    resources = (
        ("matrix", multiplied / (matrix_rate * min(rates.simds, warps))),
        ("lds", read / rates.lds_read_bytes + copied / rates.lds_write_bytes),
        ("load", copied / rates.load_bytes),
    )
    useful = 2 * instance.k_per_block * CHANNELS * instance.m_per_block * TAPS
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].in_type] * rates.simds
    return slowest(resources, useful / peak)


def _wgmma_bound(instance: Fields, rates: Rates) -> Bound:
    """Each of three warpgroups reads the input and its taps of the output, for 16 positions at a time."""
    positions = instance.k_per_block
    out_bytes = instance.m_per_block * 2
    read = positions * 3 * (IN_BYTES + 3 * out_bytes)
    copied = positions * (IN_BYTES + out_bytes)
    multiplied = 2 * positions * CHANNELS * instance.m_per_block * TAPS
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].in_type] * rates.simds
    resources = (
        ("matrix", multiplied / peak),
        ("lds", read / rates.lds_read_bytes + copied / rates.lds_write_bytes),
        ("load", copied / rates.load_bytes),
    )
    return slowest(resources, multiplied / peak)


def _bwd_data_bound(instance: Fields, rates: Rates, matrix_rate: float) -> Bound:
    """Backward data: a warp reads 16 positions of 32 channels under each tap; all that is multiplied is useful."""
    warps = instance.units * instance.shares
    copied = instance.k_per_block * IN_BYTES
    multiplied = 2 * instance.k_per_block * CHANNELS * instance.m_per_block * TAPS
    resources = (
        ("matrix", multiplied / (matrix_rate * min(rates.simds, warps))),
        ("lds", warps * TAPS * 2 * LDMATRIX_BYTES / rates.lds_read_bytes + copied / rates.lds_write_bytes),
        ("load", copied / rates.load_bytes),
    )
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].in_type] * rates.simds
    return slowest(resources, multiplied / peak)


def bwd_data_shares(instance: Fields, problem: ConvProblem, units: int) -> tuple[int, int]:
    """Workgroups of backward data and the tiles of cells of one: all units share the channels, then the images."""
    windows = ceil(problem.groups / instance.groups_per_block)
    shares = max(1, units // windows)
    rows, columns = (ceil(size / stride) for size, stride in zip(problem.input, problem.strides, strict=True))
    return windows * shares, ceil(problem.batch * rows * (columns + 1) / instance.k_per_block / shares)


def workgroups(instance: Fields, problem: ConvProblem) -> int:
    """Workgroups that all weights take, before split-K."""
    groups = ceil(problem.groups / instance.groups_per_block)
    return groups * ceil(problem.k / instance.m_per_block) * ceil(problem.c / instance.n_per_block)


def tiles(instance: Fields, problem: ConvProblem, split_k: int) -> int:
    """Tiles of positions of one workgroup."""
    rows, columns = problem.output
    reach = (3 - 1) * problem.dilations[1] // problem.strides[1]
    return ceil(problem.batch * rows * (columns + reach) / instance.k_per_block / split_k)


def weights(instance: Fields) -> int:
    """Weights that one workgroup writes."""
    return CHANNELS * instance.m_per_block * TAPS


def work(instance: Fields, problem: ConvProblem, split_k: int, rates: Rates, matrix_rate: float) -> Work:
    """The work of the busiest unit for a problem."""
    of_tile = bound(instance, rates, problem.strides, matrix_rate)
    if instance.a_rows:
        groups, count = bwd_data_shares(instance, problem, rates.units)
        blocks = ceil(groups / rates.units)
        written = count * instance.k_per_block * prod(problem.strides) * CHANNELS
        return Work(blocks, count, of_tile, blocks, written)
    blocks = ceil(workgroups(instance, problem) * split_k / rates.units)
    return Work(blocks, tiles(instance, problem, split_k), of_tile, blocks, weights(instance))

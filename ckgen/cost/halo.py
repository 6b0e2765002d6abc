"""The cost model for family halo, whose workgroups have several groups' channels and all nine taps of a 3x3 filter.

A tile is the positions that the math warps take at once (k_per_block), 16 a warp. What a warp reads and multiplies for
them is in templates/include/ckgen/pipeline/halo.hpp: one ldmatrix of 512 bytes for each block of 16 rows (a tap's 16
channels, or two taps' 8) and for each pair of blocks of 8 columns; halo_wgmma.hpp has it where a warpgroup has a row of
the filter. Rows are wider than the output's by what the taps reach (conv/halo_geometry.hpp); how far they are rounded
up beyond that is left out. All functions are pure.
"""

from __future__ import annotations

from math import ceil

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.cost.model import Bound, matrix_rate, slowest
from ckgen.hardware.compute_units import Rates
from ckgen.instance.derived_halo import HALO_CHANNELS
from ckgen.instance.instance import Instance

TAPS = 9
ATOM_FLOPS = 2 * 16 * 8 * 16
LDMATRIX_BYTES = 512  # four matrices of eight rows of 16 bytes
IN_BYTES = HALO_CHANNELS * 2  # of an input position in shared memory


def halo_bound(instance: Instance, rates: Rates, strides: tuple[int, ...]) -> Bound:
    """The bound of `cost_model` for the positions of one tile of a workgroup. The input has as many positions for each
    of the output as the strides' product."""
    if instance.a_rows:
        return _data_bound(instance, rates)
    if instance.by_filter_rows:
        return _wgmma_bound(instance, rates)
    warps = instance.units * instance.shares
    row_blocks = (TAPS + 1) // 2 if instance.unit_channels == 8 else TAPS
    column_blocks = instance.m_per_block // 8
    read = warps * (row_blocks + (column_blocks + 1) // 2) * LDMATRIX_BYTES
    copied = instance.k_per_block * (IN_BYTES * strides[0] * strides[1] + instance.out_pitch)
    multiplied = warps * row_blocks * column_blocks * ATOM_FLOPS
    resources = (
        ("matrix", multiplied / (matrix_rate(instance, rates) * min(rates.simds, warps))),
        ("lds", read / rates.lds_read_bytes + copied / rates.lds_write_bytes),
        ("load", copied / rates.load_bytes),
    )
    useful = 2 * instance.k_per_block * HALO_CHANNELS * instance.m_per_block * TAPS
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].in_type] * rates.simds
    return slowest(resources, useful / peak)


def _wgmma_bound(instance: Instance, rates: Rates) -> Bound:
    """Each of three warpgroups reads the input and its taps of the output, for 16 positions at a time."""
    positions = instance.k_per_block
    out_bytes = instance.m_per_block * 2
    read = positions * 3 * (IN_BYTES + 3 * out_bytes)
    copied = positions * (IN_BYTES + out_bytes)
    multiplied = 2 * positions * HALO_CHANNELS * instance.m_per_block * TAPS
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].in_type] * rates.simds
    resources = (
        ("matrix", multiplied / peak),
        ("lds", read / rates.lds_read_bytes + copied / rates.lds_write_bytes),
        ("load", copied / rates.load_bytes),
    )
    return slowest(resources, multiplied / peak)


def _data_bound(instance: Instance, rates: Rates) -> Bound:
    """Backward data: a warp reads 16 positions of 32 channels under each tap; all that is multiplied is useful."""
    warps = instance.units * instance.shares
    copied = instance.k_per_block * IN_BYTES
    multiplied = 2 * instance.k_per_block * HALO_CHANNELS * instance.m_per_block * TAPS
    resources = (
        ("matrix", multiplied / (matrix_rate(instance, rates) * min(rates.simds, warps))),
        ("lds", warps * TAPS * 2 * LDMATRIX_BYTES / rates.lds_read_bytes + copied / rates.lds_write_bytes),
        ("load", copied / rates.load_bytes),
    )
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].in_type] * rates.simds
    return slowest(resources, multiplied / peak)


def halo_data_shares(instance: Instance, problem: ConvProblem, units: int) -> tuple[int, int]:
    """Workgroups of backward data and the tiles of cells of one: all units share the channels, then the images."""
    windows = ceil(problem.groups / instance.groups_per_block)
    shares = max(1, units // windows)
    rows, columns = (ceil(size / stride) for size, stride in zip(problem.input, problem.strides, strict=True))
    return windows * shares, ceil(problem.batch * rows * (columns + 1) / instance.k_per_block / shares)


def halo_workgroups(instance: Instance, problem: ConvProblem) -> int:
    """Workgroups that all weights take, before split-K."""
    groups = ceil(problem.groups / instance.groups_per_block)
    return groups * ceil(problem.k / instance.m_per_block) * ceil(problem.c / instance.n_per_block)


def halo_tiles(instance: Instance, problem: ConvProblem, split_k: int) -> int:
    """Tiles of positions of one workgroup."""
    rows, columns = problem.output
    reach = (3 - 1) * problem.dilations[1] // problem.strides[1]
    return ceil(problem.batch * rows * (columns + reach) / instance.k_per_block / split_k)


def halo_weights(instance: Instance) -> int:
    """Weights that one workgroup writes."""
    return HALO_CHANNELS * instance.m_per_block * TAPS

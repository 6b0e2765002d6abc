"""What follows from the fields of an instance of family halo, with the same names and formulas as in
templates/include/ckgen/config/derived_halo.hpp."""

from __future__ import annotations

from ckgen.operations.operation import HALO_FAMILIES, OPERATIONS

HALO_CHANNELS = 64  # input channels of a workgroup of family halo: rows of 128 bytes
HALO_LDS_BYTES = 227 * 1024  # all that sm_90a has: the rings' shape follows from the problem
HALO_ATOM = (16, 8, 16)  # mma.sync's m, n and k; the nine taps of channels below m share atoms in pairs
HALO_COLUMNS = 32  # in backward data, where channels are the atom's columns, a warp has these
WGMMA_ROWS = 64  # of a warpgroup's atom


class HaloDerived:
    """The derived values of family halo: a part of ckgen.instance.derived.Derived."""

    __slots__ = ()
    family: str
    operation: str
    m_per_block: int
    n_per_block: int
    k_per_block: int
    m_per_xdl: int

    @property
    def is_halo(self) -> bool:
        """True where all taps read the same rows in shared memory."""
        return self.family in HALO_FAMILIES

    @property
    def by_filter_rows(self) -> bool:
        """True where family halo multiplies by wgmma, a warpgroup for each row of the filter."""
        return self.is_halo and self.m_per_xdl == WGMMA_ROWS

    @property
    def groups_per_block(self) -> int:
        """Groups whose channels one workgroup of family halo has beside each other."""
        return HALO_CHANNELS // self.n_per_block

    @property
    def unit_channels(self) -> int:
        """Input channels of one warp."""
        return halo_unit(self.operation, self.n_per_block)

    @property
    def units(self) -> int:
        """Warps that a workgroup's channels need."""
        return HALO_CHANNELS // self.unit_channels

    @property
    def shares(self) -> int:
        """Parts into which the positions of a step are dealt: units x shares warps do the matrix work."""
        return self.k_per_block // HALO_ATOM[2]

    @property
    def out_pitch(self) -> int:
        """Bytes of an output position in shared memory."""
        return self.groups_per_block * self.m_per_block * 2

    @property
    def lds_products_bytes(self) -> int:
        """Bytes of the products of all shares, as they pass through shared memory at the end; none with wgmma, or in
        backward data."""
        bytes_of_a_share = self.groups_per_block * self.m_per_block * (9 * self.n_per_block + 4) * 4
        direct = self.by_filter_rows or OPERATIONS[self.operation].a_rows
        return 0 if direct else self.shares * bytes_of_a_share


def halo_unit(operation: str, n_per_block: int) -> int:
    """Input channels of one warp: the rows of the atom, or fewer where two taps share it; in backward data columns."""
    return HALO_COLUMNS if OPERATIONS[operation].a_rows else max(1, min(n_per_block, HALO_ATOM[0]))

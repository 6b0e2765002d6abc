"""Architectures, compute units, matrix instructions and occupancy, as tables with their sources. New hardware needs one
table row here and an atom header.
"""

__all__ = ["archs", "compute_units", "occupancy"]

"""Architectures, compute units, matrix instructions and occupancy as tables with their sources. New hardware is a row
here and an atom header.
"""

__all__ = ["archs", "compute_units", "occupancy"]

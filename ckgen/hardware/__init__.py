"""Architectures, compute units, matrix instructions, occupancy and times, as tables with their sources. New hardware
needs one table row here and an atom header.
"""

__all__ = ["archs", "compute_units", "lds_banks", "occupancy", "timing"]

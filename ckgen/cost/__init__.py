"""A model of time per instance and problem on AMD hardware, and LDS bank conflicts by address maps."""

__all__ = ["bank_conflicts", "model", "rank"]

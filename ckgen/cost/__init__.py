"""A model of time per instance and problem on AMD hardware."""

__all__ = ["model", "rank"]

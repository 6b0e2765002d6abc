"""Model of the time per instance and problem on AMD hardware."""

__all__ = ["model", "rank"]

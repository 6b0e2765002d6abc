"""Makers of the selector's tables: from measured rows, or from the cost model."""

__all__ = ["from_model", "from_rows"]

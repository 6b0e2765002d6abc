"""Tables of the selector, made from measured rows or from the cost model."""

__all__ = ["from_model", "from_rows"]

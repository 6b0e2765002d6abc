"""Which instance runs a problem: tables of measured and predicted rows, the candidates of a problem in order, and what
an instance takes.
"""

__all__ = ["candidates", "measured", "takes"]

"""Selection of the instance that runs a problem: tables of measured and predicted rows, the ordered candidates of a
problem, and the problems that an instance takes.
"""

__all__ = ["candidates", "measured", "takes"]

"""Selection of the instance that runs a problem: tables of measured and predicted rows, a model of time, the
ordered candidates of a problem, and the problems that an instance takes.
"""

__all__ = ["candidates", "measured", "takes", "terms", "time_model"]

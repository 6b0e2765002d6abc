"""Time instances of a library beside references: jobs, a worker process that may die, timers, and the store of
measured rows.
"""

__all__ = ["claim", "job", "origin", "plan", "runner", "store", "store_check"]

"""Time instances and reference libraries: jobs, a worker process that may crash, timers, and the store of measured
rows.
"""

__all__ = ["claim", "job", "origin", "plan", "runner", "store", "store_check"]

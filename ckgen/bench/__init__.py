"""Time instances and reference libraries: jobs, their measurement in a process that may crash, timers, and the store of
measured rows.
"""

__all__ = ["claim", "job", "measuring", "origin", "plan", "runner", "store", "store_check"]

"""Libraries that are built on first use: the instances that a problem needs, the shelf of built libraries in the user's
cache, the process that builds one, and the thread that asks for it. May import spec and the rooms below.
"""

__all__ = ["background", "instances", "progress"]

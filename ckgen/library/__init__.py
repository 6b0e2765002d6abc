"""A built shared library from Python (ctypes): its instances, support and reasons, runs on host and GPU memory, and
the choice of an instance.
"""

__all__ = ["c_api", "choose", "d_tensors", "library"]

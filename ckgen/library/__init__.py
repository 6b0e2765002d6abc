"""Python interface to a built shared library (ctypes): its instances, supported problems and reasons of refusals, runs
on host and GPU memory, and the choice of an instance.
"""

__all__ = ["c_api", "choose", "d_tensors", "digest", "library", "prepared"]

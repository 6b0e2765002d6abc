"""HIP programs of others on the emulator: the device code is compiled apart, the host code runs against a runtime that
only writes down what it is asked to launch.
"""

__all__ = ["program", "simulation"]

"""Compilers, targets and the CMake driver: a generated tree becomes a shared library."""

__all__ = ["cmake", "targets", "toolchain"]

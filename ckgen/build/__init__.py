"""Building a generated tree into a shared library: compilers, target architectures and the CMake driver."""

__all__ = ["cmake", "survey", "targets", "toolchain"]

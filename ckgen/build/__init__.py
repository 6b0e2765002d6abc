"""Building a generated tree into a shared library: compilers, target architectures, the CMake driver, and
forecasts and distribution of compiler runs."""

__all__ = ["cmake", "compile_cost", "compiling", "jobs", "survey", "targets", "toolchain"]

"""The expression language of fused element-wise functions: parser, C++ output, values with error bounds, and the
built-in functions.
"""

__all__ = ["error_bounds", "function", "function_cpp", "language"]

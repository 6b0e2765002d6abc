"""The expression language of fused element-wise functions: parsing, C++, values with error bounds, the built-in
functions.
"""

__all__ = ["error_bounds", "function", "function_cpp", "language"]

"""The mathematics of a convolution: layouts, data types, problems with their notation and classes, the sub-GEMMs of
backward data. This room knows nothing about hardware, operations or kernels.
"""

__all__ = ["classes", "columns", "dtypes", "encoding", "folding", "layout", "notation", "problem", "sub_gemms"]

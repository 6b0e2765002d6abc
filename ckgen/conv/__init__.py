"""The mathematics of a convolution: layouts, data types, problems and their notation, the sub-GEMMs of backward data.
This room knows nothing about hardware, operations or kernels.
"""

__all__ = ["dtypes", "layout", "notation", "problem", "sub_gemms"]

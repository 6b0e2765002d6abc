"""The mathematics of a convolution: layouts, data types, problems and their notation, the sub-GEMMs of backward data.
Knows no hardware, no operation and no kernel.
"""

__all__ = ["dtypes", "layout", "notation", "problem", "sub_gemms"]

"""What differs between the operations (backward weight, backward data): tensors, layouts, families, and their sizes as
matrix products.
"""

__all__ = ["gemm", "operation"]

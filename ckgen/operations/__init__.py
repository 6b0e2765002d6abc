"""The operations (backward weight and backward data), one file each: tensors, layouts, families, sizes as matrix
products, and references.
"""

__all__ = ["operation"]

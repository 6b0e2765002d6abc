"""Translation of instances.yaml into instances: models of the file, defaults, products of axes, expansion, provenance,
and the nearest valid instance. Every problem is reported with its line and column.
"""

__all__ = ["catalog", "checks", "expand", "limits", "models", "nearest_valid", "products", "provenance", "types"]

"""instances.yaml to instances: models of the file as written, defaults, products of axes, expansion, provenance, the
nearest valid instance. Every problem is reported at its line and column.
"""

__all__ = ["catalog", "checks", "expand", "limits", "models", "nearest_valid", "products", "provenance", "types"]

"""One record for each kernel family: its spec keys, defaults, derived values, rules, C++ structs, and what it takes,
reads and costs on a problem. Other rooms ask `registry.FAMILIES` and name no family themselves.
"""

__all__ = ["counts", "family", "fields", "formulas", "registry", "rule", "tile_cost", "vectors"]

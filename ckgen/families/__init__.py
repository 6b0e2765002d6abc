"""One record per kernel family: its spec keys, defaults, derived values, rules and C++ structs, the problems that it
takes, and the bytes that it reads and the time that it takes for a problem. Other rooms look families up in
`registry.FAMILIES` and never name one themselves.
"""

__all__ = ["counts", "family", "fields", "formulas", "registry", "rule", "tile_cost", "vectors"]

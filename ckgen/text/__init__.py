"""YAML text to values that know their line and column: parsing, plain scalars, spans for error excerpts, reading of
files up to a size limit. Imports only `errors`.
"""

__all__ = ["reading", "shape", "source", "span"]

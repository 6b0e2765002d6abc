"""YAML text to values that know their line and column: parsing, plain scalars, spans for error excerpts, bounded
reading of files. Imports `errors` alone.
"""

__all__ = ["reading", "shape", "source", "span"]

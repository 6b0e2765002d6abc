"""Named problems: the bundled problem sets (the YAML files of this folder) and users' own files."""

__all__ = ["sets"]

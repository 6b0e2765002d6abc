"""Named problems: the bundled problem sets (the YAML files of this folder) and users' own files, the networks that have
the problems, and choices among them."""

__all__ = ["choice", "sets"]

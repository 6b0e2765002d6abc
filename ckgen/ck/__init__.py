"""Composable Kernel's own notations of instances and their translation to and from keys of a spec.

CK writes an instance as the type string of `GetTypeString`, as a serialised instance with all template arguments, one
per line of its `.conf` files, or as an entry of its dispatcher's JSON.
"""

__all__ = ["exporting", "importing", "notation", "words"]

"""Named problems: the sets that come with ckgen (the YAML files of this folder) and files of users."""

__all__ = ["sets"]

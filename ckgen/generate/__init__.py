"""Instances to the text of every file of a tree, the tree to disk, and the difference between a tree and what it
should be. Nothing else writes generated files.
"""

__all__ = ["inputs", "manifest", "render", "view_models", "writer"]

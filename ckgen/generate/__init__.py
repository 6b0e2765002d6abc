"""Generation: the text of every file of a tree from instances, writing the tree to disk, and the drift between a tree
on disk and its expected text. Only this room writes generated files.
"""

__all__ = ["command", "disk", "drift", "inputs", "known", "manifest", "render", "style", "view_models", "writer"]

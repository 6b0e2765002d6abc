"""Built files that are kept for the next process: folders below the user's cache, each for one combination of spec,
compiler and device."""

__all__ = ["entries"]

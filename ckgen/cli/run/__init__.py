"""Parameters and implementation of the commands that are too long for one module."""

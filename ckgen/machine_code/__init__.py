"""Registers, spills, loops and instruction mixes of compiled code, AMD assembly and ptxas output, and the committed
tables of them.
"""

__all__ = ["analyse", "compile", "ptxas", "table"]

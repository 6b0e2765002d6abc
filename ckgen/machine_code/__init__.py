"""Analysis of compiled code: registers, spills, loops and instruction mixes from AMD assembly and ptxas output, and
committed tables of these.
"""

__all__ = ["analyse", "compile", "ptxas", "table"]

"""Analysis of compiled code: registers, spills, loops and instruction mixes from AMD assembly and ptxas output, and
committed tables of these; execution of AMD machine code on a CPU.
"""

__all__ = ["analyse", "compile", "emulator", "ptxas", "table"]

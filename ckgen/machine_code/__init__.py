"""Analysis of compiled code: registers, spills, loops and instruction mixes from AMD assembly and ptxas output, and
committed tables of these; execution of AMD machine code on a CPU, and a model of its time.
"""

__all__ = ["analyse", "compile", "cycles", "emulator", "loops", "programs", "ptxas", "table"]

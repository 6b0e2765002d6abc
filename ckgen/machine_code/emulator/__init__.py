"""Run AMD machine code on a CPU: the instances as a compiler built them, without a GPU.

The decoders of instructions and AMD's pseudocode come from the package `tinygrad`; this package translates the
pseudocode to C++, compiles it with the system's compiler, and has its own loader, memory, LDS, matrix instructions,
waits, barriers and schedule of waves. It may import build/ and errors. docs/emulator.md says what is checked.
"""

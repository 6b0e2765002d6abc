"""Run AMD machine code on a CPU: the instances as a compiler built them, without a GPU.

The kernels of a code object run on the register semantics of tinygrad's AMD emulator, which are generated from AMD's
machine-readable instruction descriptions. This package adds loader, memory, matrix instructions, waits and the schedule
of waves. Memory accesses are checked to the byte, loads can be delayed until the wait that requires them, and waves run
in a shuffled order. It models neither time nor register hazards.

    TINYGRAD_SRC=<a checkout of github.com/tinygrad/tinygrad> CC=clang-19 python -m tests.machine --help

The checkout must hold test/mockgpu/amd/ (tested with commit a9069c177a of August 2026).
"""

"""AMD machine code on a CPU: the instances as a compiler made them, without a GPU.

A code object's kernels run on the register semantics of tinygrad's AMD emulator, which are generated from AMD's
machine-readable instruction descriptions. Loader, memory, matrix instructions, waits and the schedule of waves are
here: memory is checked to the byte, loads can be held back until the wait that asks for them, and waves take turns in a
shuffled order. Nothing is timed, and no register hazard is modelled.

    TINYGRAD_SRC=<a checkout of github.com/tinygrad/tinygrad> CC=clang-19 python -m tests.machine --help

The checkout must hold test/mockgpu/amd/ (tested with commit a9069c177a of August 2026).
"""

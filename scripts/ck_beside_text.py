"""The sentences of docs/ck_beside.md."""

HEAD = """\
<!-- Written by scripts/ck_beside.py. Do not edit. -->
# CK's kernels beside ckgen's

Kernels of [ROCm/composable_kernel](https://github.com/ROCm/composable_kernel/tree/{revision}), revision {short}
(October 2024), and kernels of ckgen with the same tile: f16, 2D, channels last. Both run as machine code on the
[emulator](emulator.md), and both are timed by the same [model of a compute unit](simulator.md).

**Nothing on this page was measured on a GPU.** [Simulated cycles](simulator.md) says what a number is worth: the model
does not reproduce published times, it leaves out the start of a kernel, its epilogue and split-K, and cycles are a
bound from below. It can say which unit or which wait takes the time of a main loop if AMD's documents are right.

CK's instances are compiled one at a time with {compiler}, HIP 5.2 headers and plain `-O3`; "CK's flags" adds the
four options for code generation with which CK's CMake files compile
(`{flags}`).
AMD's own compiler, with which CK is built, may write other code. CK's host code computes the arguments, the grid and
the block of each launch: it runs against a runtime that writes them down (`ckgen/machine_code/programs`). CK has its
wavelet model for GEMM only, so it is not here.

```sh
CK_SRC=/path/to/composable_kernel python scripts/ck_beside.py --write       # clang-19, HIP headers; minutes per row
```

Every kernel of CK below ran first on the problems in the last table, twice: waves in order, and waves that switch at
random points. The emulator found no missing wait, no race and no access out of bounds, and the results agree with
float64.
"""
CYCLES = """\
## Cycles of the main loop

Cycles of a compute unit per {unit} multiply-adds (a step of a 128x128x32 tile), so that tiles compare, while all
resident workgroups work; first with the inputs in L2, then from memory. `bound`: the matrix units alone. `ratio` is
CK's cycles divided by those of ckgen's kernel with the same tile and waves: above 1, ckgen needs fewer. Both solve the
same problem, of 48 steps or a few more. `best` is the kernel of ckgen with the fewest cycles (L2) among those that
this page uses for the operation and filter. The two-stage kernel is CK's only one that does not merge groups of one
channel. It loads single elements, while ckgen's has another tile and loads 4 and 8; it counts in no mean.

The model hands the waves of workgroups to SIMDs in turn, so that a workgroup of four waves always has its first wave
on the same SIMD. CK's backward data gives all loads of the weights to one wave, so that this matters. For kernels whose
waves differ, the table has the faster simulation, usually the one in which each workgroup begins on another SIMD; in
brackets: the one with waves in turn.
"""
CLASSES = """\
## The best of each class

CK's kernel with the fewest cycles, of those that ran here, beside ckgen's, for each operation and kind of filter. The
rows with CK's flags and the two-stage kernel count too.
"""
WORK = """\
## Instructions and occupancy

Instructions of the main loop per matrix instruction, over all waves of a workgroup, as executed in the simulation (L2).
`waves` is the number of waves that are resident per SIMD.
"""
WAIT = """\
## Where waves wait

Cycles of a wave per step in which it issues, and in which it waits; inputs in L2. Waves that multiply and load alike
are one line. `step` is the time between two steps of one workgroup. `main`: all waves.
"""
LOSSES = """\
## Where ckgen loses, or gains less than 5 %
"""

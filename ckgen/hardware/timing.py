"""The times that the cycle model works with, per architecture, each with its source. `assumed` says that no source was
found, and why this number was taken instead.

Sources:
  mt4g        measured by pointer chasing, https://github.com/caps-tum/mt4g, sample_results (MI210, MI300X, MI350P), cycles
  calculator  https://github.com/ROCm/amd_matrix_instruction_calculator
  profiler    ROCm Compute Profiler, conceptual documentation: "Pipeline descriptions", "Local data share"
  LLVM        llvm/lib/Target/AMDGPU: SISchedule.td, the compiler's own estimates; GCNHazardRecognizer.cpp, wait states
  GCN         AMD, "Graphics Cores Next Architecture" white paper, 2012; CDNA inherits its compute unit
  RDNA        AMD, "RDNA Architecture" white paper, 2019
  rates       ckgen/hardware/compute_units.py, RATES
Cycles of matrix instructions are in `matrix_cycles`, conflicts of LDS banks in ckgen/hardware/lds_banks.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.hardware.archs import ARCHES, ATOMS
from ckgen.hardware.compute_units import RATES, UNITS

MAX_LOADS = 63  # that a wave has outstanding: the 6 bits of vmcnt (CDNA3 ISA, 4.4; RDNA3 ISA, 5.3)


@dataclass(frozen=True, slots=True)
class Timing:
    """Cycles and bytes per cycle of one compute unit (RDNA: workgroup processor).

    A SIMD considers its waves every `issue` cycles. A vector instruction occupies it for `valu`, and its result is
    there after `valu_latency`; the slow ones (transcendental functions, 32-bit products) take `slow` and
    `slow_latency`. `matrix_latency` is added to a matrix instruction's own cycles before another kind of instruction
    may read its result. `lds_*`: each port serves the SIMDs of one pair. `l1_lines` are tags looked up per cycle.
    """

    arch: str
    issue: int
    valu: int
    valu_latency: int
    slow: int
    slow_latency: int
    salu_latency: int
    branch: int
    barrier: int
    matrix_latency: int
    vector_beside_matrix: bool
    scalar_latency: int
    lds_latency: int
    lds_ports: int
    lds_port_in: int
    lds_port_out: int
    l1_bytes: int
    l1_line: int
    l1_latency: int
    l1_rate: int
    addresses: int
    l2_latency: int
    l2_rate: float
    memory_latency: int
    memory_rate: float

    def __post_init__(self) -> None:
        assert self.arch in UNITS, f"{self.arch}: unknown"
        assert self.l1_latency <= self.l2_latency <= self.memory_latency, f"{self.arch}: farther memory is slower"
        assert self.valu >= self.issue and self.valu_latency >= self.valu, f"{self.arch}: a result before its end"
        assert UNITS[self.arch].simds % self.lds_ports == 0, f"{self.arch}: ports serve equal numbers of SIMDs"


def _memory_rate(arch: str) -> float:
    """Bytes per cycle and unit when all units read memory."""
    rates = RATES[arch]
    return rates.memory_bytes_per_s / rates.units / rates.clock_hz


TIMINGS: dict[str, Timing] = {
    timing.arch: timing
    for timing in (
        Timing(
            "gfx90a",
            issue=4,  # profiler, "Scheduler": one of four SIMDs per cycle, in turn
            valu=4,  # GCN: 64 lanes on 16
            valu_latency=4,  # GCN: a dependent instruction follows at once; LLVM: latency 1 of 4 cycles
            slow=16,  # GCN, LLVM WriteTrans32: quarter rate
            slow_latency=16,  # as above
            salu_latency=4,  # LLVM WriteSALU: latency 1 of 4 cycles
            branch=32,  # LLVM WriteBranch: latency 8 of 4 cycles
            barrier=4,  # assumed: waves continue at their next turn; no measurement was found
            matrix_latency=16,  # LLVM, checkMAIHazards90A: passes + 3 wait states, then the reader's own turn
            vector_beside_matrix=True,  # calculator: "can co-execute with VALU", after 4 cycles
            scalar_latency=53,  # mt4g, MI210: scalar L1
            lds_latency=50,  # mt4g, MI210: shared memory
            lds_ports=2,  # profiler: SIMDs are connected to LDS in pairs
            lds_port_in=64,  # profiler: 64 bytes per cycle and direction, addresses and data share the way in
            lds_port_out=64,  # as above
            l1_bytes=16 * 1024,  # mt4g, MI210
            l1_line=64,  # mt4g, MI210
            l1_latency=124,  # mt4g, MI210
            l1_rate=64,  # GCN: one line of 64 bytes per cycle
            addresses=16,  # assumed: as many as a SIMD has lanes, so that an address operand takes 4 cycles
            l2_latency=302,  # mt4g, MI210
            l2_rate=RATES["gfx90a"].load_bytes,  # rates
            memory_latency=741,  # mt4g, MI210
            memory_rate=_memory_rate("gfx90a"),  # rates
        ),
        Timing(
            "gfx942",
            issue=4,  # profiler, "Scheduler"
            valu=4,  # GCN
            valu_latency=4,  # GCN, LLVM
            slow=16,  # GCN, LLVM WriteTrans32
            slow_latency=16,  # as above
            salu_latency=4,  # LLVM WriteSALU
            branch=32,  # LLVM WriteBranch
            barrier=4,  # assumed, as gfx90a
            matrix_latency=16,  # LLVM, GFX940_XDL_N_PassWriteVgprVALUMemExpReadWaitStates: passes + 3
            vector_beside_matrix=True,  # calculator (not for f32 inputs: `blocks_vector`)
            scalar_latency=48,  # mt4g, MI300X: scalar L1
            lds_latency=51,  # mt4g, MI300X: shared memory
            lds_ports=2,  # profiler
            lds_port_in=64,  # profiler
            lds_port_out=64,  # profiler
            l1_bytes=32 * 1024,  # mt4g, MI300X
            l1_line=128,  # mt4g, MI300X
            l1_latency=116,  # mt4g, MI300X
            l1_rate=64,  # assumed, as gfx90a: no measurement was found
            addresses=16,  # assumed, as gfx90a
            l2_latency=288,  # mt4g, MI300X
            l2_rate=RATES["gfx942"].load_bytes,  # rates
            memory_latency=900,  # mt4g, MI300X
            memory_rate=_memory_rate("gfx942"),  # rates
        ),
        Timing(
            "gfx950",
            issue=4,  # profiler, "Scheduler"
            valu=4,  # GCN
            valu_latency=4,  # GCN, LLVM
            slow=16,  # GCN, LLVM WriteTrans32
            slow_latency=16,  # as above
            salu_latency=4,  # LLVM WriteSALU
            branch=32,  # LLVM WriteBranch
            barrier=4,  # assumed, as gfx90a
            matrix_latency=20,  # LLVM, as gfx942 with one more wait state (argument IsGFX950)
            vector_beside_matrix=True,  # assumed, as gfx942: the calculator ends with CDNA3
            scalar_latency=48,  # mt4g, MI350P: scalar L1
            lds_latency=48,  # mt4g, MI350P: shared memory
            lds_ports=2,  # profiler
            lds_port_in=64,  # rates: writes at the rate of gfx942, 128 bytes per cycle for two ports
            lds_port_out=128,  # rates: reads at 256 bytes per cycle for two ports; mt4g, MI350P: 220 measured
            l1_bytes=32 * 1024,  # mt4g, MI350P: 29 KiB found by pointer chasing, 97 % confidence
            l1_line=128,  # mt4g, MI350P
            l1_latency=112,  # mt4g, MI350P
            l1_rate=128,  # one line per cycle; mt4g, MI350P: 105 bytes per cycle measured
            addresses=16,  # assumed, as gfx90a
            l2_latency=256,  # mt4g, MI350P
            l2_rate=RATES["gfx950"].load_bytes,  # rates
            memory_latency=768,  # mt4g, MI350P
            memory_rate=_memory_rate("gfx950"),  # rates
        ),
        Timing(
            "gfx1100",
            issue=1,  # RDNA: each SIMD issues every cycle
            valu=1,  # RDNA: 32 lanes on 32
            valu_latency=5,  # LLVM, GFX11SpeedModel: Write32Bit
            slow=4,  # RDNA: transcendental functions at a quarter of the rate
            slow_latency=10,  # LLVM, GFX11SpeedModel: WriteTrans32
            salu_latency=2,  # LLVM, GFX11SpeedModel: WriteSALU
            branch=32,  # LLVM, GFX11SpeedModel: WriteBranch
            barrier=4,  # assumed, as gfx90a
            matrix_latency=5,  # assumed: the latency of vector instructions, which WMMA is executed as
            vector_beside_matrix=False,  # calculator
            scalar_latency=20,  # LLVM, GFX11SpeedModel: WriteSMEM, an estimate
            lds_latency=20,  # LLVM, GFX11SpeedModel: WriteLDS, an estimate that is lower than CDNA's measured latency
            lds_ports=2,  # RDNA: each pair of SIMDs has its half of the LDS of a workgroup processor
            lds_port_in=128,  # RDNA: 32 banks of 4 bytes per half
            lds_port_out=128,  # as above
            l1_bytes=32 * 1024,  # RDNA 3 ISA, 1.2: L0 of a compute unit
            l1_line=128,  # RDNA
            l1_latency=128,  # assumed: between LDS and L2; chipsandcheese.com publishes it as a picture without numbers
            l1_rate=128,  # RDNA: 64 bytes per cycle for each of the two compute units
            addresses=64,  # RDNA: 32 lanes per cycle and compute unit
            l2_latency=320,  # LLVM, GFX11SpeedModel: WriteVMEM, an estimate
            l2_rate=64.0,  # assumed: 64 bytes per cycle and workgroup processor, as between L2 and L1 of RDNA
            memory_latency=376,  # chipsandcheese.com, "Latency testing is hard": 150.3 ns, Infinity Cache, at 2.5 GHz
            memory_rate=960e9 / 48 / 2.5e9,  # product page of RX 7900 XTX: bytes/s, processors, boost clock
        ),
        Timing(
            "gfx1201",
            issue=1,  # RDNA
            valu=1,  # RDNA
            valu_latency=5,  # LLVM, GFX12SpeedModel: Write32Bit
            slow=4,  # RDNA
            slow_latency=10,  # LLVM, as GFX11SpeedModel
            salu_latency=2,  # LLVM, as GFX11SpeedModel
            branch=32,  # LLVM, as GFX11SpeedModel
            barrier=4,  # assumed, as gfx90a
            matrix_latency=5,  # assumed, as gfx1100
            vector_beside_matrix=False,  # calculator
            scalar_latency=20,  # LLVM, as GFX11SpeedModel, an estimate
            lds_latency=20,  # LLVM, as GFX11SpeedModel, an estimate
            lds_ports=2,  # RDNA
            lds_port_in=128,  # RDNA
            lds_port_out=128,  # RDNA
            l1_bytes=32 * 1024,  # assumed, as gfx1100
            l1_line=128,  # RDNA
            l1_latency=128,  # assumed, as gfx1100
            l1_rate=128,  # RDNA
            addresses=64,  # RDNA
            l2_latency=320,  # LLVM, as GFX11SpeedModel, an estimate
            l2_rate=64.0,  # assumed, as gfx1100
            memory_latency=376,  # assumed, as gfx1100: no measurement was found
            memory_rate=640e9 / 32 / 2.97e9,  # product page of RX 9070 XT: bytes/s, processors, boost clock
        ),
    )
}


def matrix_cycles(arch: str, name: str) -> int:
    """The cycles that a matrix instruction such as V_MFMA_F32_32X32X8_F16 occupies the matrix unit of a SIMD."""
    plain = _plain(name)
    cycles = next((a.cycles for a in ATOMS.values() if a.arch == arch and _plain(a.instruction) == plain), None)
    assert cycles is not None, f"{name}: no atom of {arch}"
    return cycles


def _plain(name: str) -> str:
    """Without what documents, compilers and decoders spell differently: gfx90a's _1K, and underscores."""
    return name.upper().removesuffix("_1K").replace("_", "")


def blocks_vector(arch: str, name: str) -> bool:
    """True if no vector instruction can run beside this matrix instruction (calculator: f32 inputs of CDNA3)."""
    return not TIMINGS[arch].vector_beside_matrix or (ARCHES[arch].name != "gfx90a" and name.endswith("_F32"))

"""Waits, barriers, the end of the program, and instructions without an effect in a model without time."""

from __future__ import annotations

from ckgen.machine_code.emulator.decode import Raw
from ckgen.machine_code.emulator.instruction import BARRIER, BARRIER_WAIT, END, NOTHING, SIGNAL, WAIT, Decoded
from ckgen.machine_code.emulator.unsupported import Unsupported

# Pauses, hints and cache control. Barriers and waits order memory here, so that caches need no model.
_NOTHING: tuple[str, ...] = (
    "S_NOP",
    "S_CLAUSE",
    "S_DELAY_ALU",
    "S_SETPRIO",
    "S_SLEEP",
    "S_SENDMSG",
    "S_INST_PREFETCH",
    "S_CODE_END",
)
_NOTHING += ("S_SET_INST_PREFETCH_DISTANCE", "S_ICACHE_INV", "S_DCACHE_INV", "S_WAITCNT_DEPCTR", "S_WAIT_ALU")
_NOTHING += ("BUFFER_GL0_INV", "BUFFER_GL1_INV", "BUFFER_INV", "BUFFER_WBL2", "BUFFER_WBINVL1", "BUFFER_WBINVL1_VOL")
_NOTHING += ("GLOBAL_WB", "GLOBAL_INV", "GLOBAL_WBINV", "S_SETHALT", "S_SCHED_BARRIER", "S_WAIT_EVENT")
_NOTHING += ("S_PREFETCH_INST", "S_PREFETCH_INST_PC_REL")
_END = ("S_ENDPGM", "S_ENDPGM_SAVED")
_WORKGROUP = 0xFFFF  # barrier -1
# The waits of gfx12: which of the queues (loads, stores, LDS, scalar loads) they limit, and the bits of each limit.
_GFX12_WAITS = {
    "S_WAIT_LOADCNT": {0: (0, 6)},
    "S_WAIT_STORECNT": {1: (0, 6)},
    "S_WAIT_DSCNT": {2: (0, 6)},
    "S_WAIT_KMCNT": {3: (0, 5)},
    "S_WAIT_LOADCNT_DSCNT": {0: (8, 6), 2: (0, 6)},
    "S_WAIT_STORECNT_DSCNT": {1: (8, 6), 2: (0, 6)},
    "S_WAIT_EXPCNT": {},
    "S_WAIT_SAMPLECNT": {},
    "S_WAIT_BVHCNT": {},
}


def control(raw: Raw, offset: int) -> Decoded | None:
    """The instruction if it is one of these, else None."""
    out = Decoded(raw.name, raw.text, offset, raw.size, NOTHING)
    simm = raw.get("simm16")
    if raw.name in _END:
        out.kind = END
    elif raw.name == "S_BARRIER":
        out.kind = BARRIER
    elif raw.name.startswith("S_BARRIER_SIGNAL") or raw.name == "S_BARRIER_WAIT":
        out.kind = _split_barrier(raw, simm)
    elif raw.name == "S_WAITCNT":
        out.kind, out.parameters = WAIT, _limits(simm, raw.family)
    elif raw.name == "S_WAITCNT_VSCNT":
        out.kind, out.parameters = WAIT, [0, simm + 1, 0, 0]
    elif raw.name in _GFX12_WAITS:
        limits = {queue: (simm >> low & (1 << bits) - 1) + 1 for queue, (low, bits) in _GFX12_WAITS[raw.name].items()}
        out.kind, out.parameters = WAIT, [limits.get(queue, 0) for queue in range(4)]
    elif raw.name not in _NOTHING:
        return None
    return out


def _split_barrier(raw: Raw, simm: int) -> int:
    barrier = simm if raw.name == "S_BARRIER_WAIT" else {193: _WORKGROUP}.get(raw.at("ssrc0"))
    if barrier != _WORKGROUP or raw.name == "S_BARRIER_SIGNAL_ISFIRST":
        raise Unsupported(f"{raw.text}: a barrier other than the workgroup's")
    return SIGNAL if raw.name.startswith("S_BARRIER_SIGNAL") else BARRIER_WAIT


def _limits(simm: int, family: str) -> list[int]:
    """s_waitcnt: limits of the queues, each plus 1. LDS and scalar loads share a counter, and scalar loads complete in
    any order: a limit above 0 says nothing about them, and leaves at most as many accesses to LDS."""
    if family == "cdna":
        loads, lds, most = simm & 15 | simm >> 14 << 4, simm >> 8 & 15, (63, 15)
    else:
        loads, lds, most = simm >> 10 & 63, simm >> 4 & 63, (63, 63)
    return [0 if loads == most[0] else loads + 1, 0, 0 if lds == most[1] else lds + 1, int(lds == 0)]

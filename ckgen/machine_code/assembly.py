"""AMDGPU assembly as LLVM prints it -> kernels: instructions with their kinds, labels, resources.

ckgen reads the text instead of the code object because any clang writes it without a linker or a disassembler, and it
contains the code object's metadata. Formats: LLVM's "User Guide for AMDGPU Backend", sections "Code Object V5 Metadata"
and "Assembler Directives".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from ckgen.errors import CkgenError, Diagnostic

# Kinds of instructions, by the unit that they occupy. `global` is vector memory, `to_lds` a direct-to-LDS load.
KINDS = (
    "matrix",
    "valu",
    "salu",
    "smem",
    "lds_read",
    "lds_write",
    "lds_other",
    "global_load",
    "to_lds",
    "global_store",
    "wait",
    "barrier",
    "branch",
    "other",
)
_MATRIX = ("v_mfma", "v_smfmac", "v_wmma", "v_swmmac")
_VECTOR_MEMORY = ("buffer_", "global_", "flat_", "scratch_", "tbuffer_", "image_")
_BRANCHES = ("s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call")
_SCALAR_MEMORY = ("s_load", "s_buffer_load", "s_store", "s_buffer_store", "s_dcache", "s_memtime", "s_atomic")
# Hints, pauses and the end of the program; they occupy an issue slot but no unit.
_NO_WORK = (
    *("s_nop", "s_setprio", "s_sleep", "s_delay_alu", "s_clause", "s_sched", "s_endpgm", "s_inst_prefetch"),
    *("s_set_inst_prefetch", "s_sethalt", "s_trap", "s_icache", "s_sendmsg", "s_ttrace", "s_code_end"),
)
# On GCN and CDNA these take four times as long as an addition: 32-bit integer products and transcendentals. The names
# are from "CDNA3 ISA"; the rate is the transcendental peak of the data sheets.
_SLOW = (
    *("v_mul_lo_u32", "v_mul_lo_i32", "v_mul_hi_u32", "v_mul_hi_i32", "v_mad_u64_u32", "v_mad_i64_i32"),
    *("v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_"),
)
_BYTES = {"b8": 1, "u8": 1, "i8": 1, "ubyte": 1, "sbyte": 1, "byte": 1, "b16": 2, "u16": 2, "i16": 2, "short": 2}
_BYTES |= {"ushort": 2, "sshort": 2, "b32": 4, "u32": 4, "f32": 4, "dword": 4, "b64": 8, "dwordx2": 8, "b96": 12}
_BYTES |= {"dwordx3": 12, "b128": 16, "dwordx4": 16}

_LABEL = re.compile(r"([.$\w@]+):")
_INSTRUCTION = re.compile(r"\s+([a-z]\w+)\s*(.*)")
_CODE_BYTES = re.compile(r";\s*codeLenInByte\s*[=:]\s*(\d+)")
_METADATA = re.compile(r"^\s*\.amdgpu_metadata\n(.*?)^\s*\.end_amdgpu_metadata", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction. `lane_bytes` is the number of bytes per lane of a memory access, 0 for others."""

    mnemonic: str
    operands: str
    kind: str
    slow: bool
    lane_bytes: int


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of a kernel from its metadata, and its code size. `vgprs` includes AGPRs if both share one register
    file."""

    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch_bytes: int
    lds_bytes: int
    wave_size: int
    code_bytes: int


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a kernel: its place among the arguments in memory. `kind` is the metadata's word for it."""

    offset: int
    size: int
    kind: str

    @property
    def hidden(self) -> bool:
        """True if the compiler added it."""
        return self.kind.startswith("hidden_")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's instructions in text order; `labels` are indices into them."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    resources: Resources


def read_kernels(text: str) -> dict[str, Kernel]:
    """Read the kernels of an assembly file, by name. Raises CkgenError if the file has no AMDGPU metadata."""
    records = _records(text)
    bodies = _bodies(text, frozenset(records))
    return {
        name: Kernel(name, *bodies[name][:2], _resources(record, bodies[name][2])) for name, record in records.items()
    }


def read_arguments(text: str) -> dict[str, tuple[Argument, ...]]:
    """Read the arguments of the kernels of an assembly file, by the kernel's name."""
    return {
        name: tuple(Argument(item[".offset"], item[".size"], item[".value_kind"]) for item in record.get(".args", ()))
        for name, record in _records(text).items()
    }


def _records(text: str) -> dict[str, dict[str, Any]]:
    """The metadata of each kernel."""
    found = _METADATA.search(text)
    if found is None:
        message = "the compiler's output has no AMDGPU metadata"
        raise CkgenError((Diagnostic(None, "isa", message, "is it a clang for AMD GPUs?"),))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return {record[".name"]: record for record in yaml.load(found[1], loader)["amdhsa.kernels"]}


def _resources(record: dict[str, Any], code_bytes: int) -> Resources:
    return Resources(
        vgprs=record[".vgpr_count"],
        agprs=record.get(".agpr_count", 0),
        sgprs=record[".sgpr_count"],
        vgpr_spills=record.get(".vgpr_spill_count", 0),
        sgpr_spills=record.get(".sgpr_spill_count", 0),
        scratch_bytes=record[".private_segment_fixed_size"],
        lds_bytes=record[".group_segment_fixed_size"],
        wave_size=record[".wavefront_size"],
        code_bytes=code_bytes,
    )


def _bodies(text: str, names: frozenset[str]) -> dict[str, tuple[tuple[Instruction, ...], dict[str, int], int]]:
    """Read instructions, labels and code size of each kernel. A kernel's text runs from its label to its directives."""
    bodies: dict[str, tuple[tuple[Instruction, ...], dict[str, int], int]] = {}
    name, instructions, labels = "", list[Instruction](), dict[str, int]()
    inside = False
    for line in text.splitlines():
        if match := _LABEL.match(line):
            if match[1] in names:
                name, instructions, labels, inside = match[1], [], {}, True
            else:
                labels[match[1]] = len(instructions)
        elif inside and line.lstrip().startswith((".section", ".amdhsa_kernel")):
            inside = False
        elif name and (match := _CODE_BYTES.match(line)):
            bodies[name] = tuple(instructions), labels, int(match[1])
            name = ""
        elif inside and (match := _INSTRUCTION.match(line.partition(";")[0])):
            instructions.append(make_instruction(match[1], match[2].strip()))
    return bodies


def make_instruction(mnemonic: str, operands: str = "") -> Instruction:
    """Make an instruction; kind, speed and access size follow from its name."""
    kind = kind_of(mnemonic, operands)
    memory = kind.startswith(("lds_", "global_", "to_"))
    return Instruction(mnemonic, operands, kind, mnemonic.startswith(_SLOW), _lane_bytes(mnemonic) if memory else 0)


def kind_of(mnemonic: str, operands: str) -> str:
    """Return the kind of an instruction, one of KINDS."""
    if mnemonic.startswith("v_"):
        return "matrix" if mnemonic.startswith(_MATRIX) else "valu"
    if mnemonic.startswith("ds_"):
        if "permute" in mnemonic or "swizzle" in mnemonic:
            return "lds_other"
        if "read" in mnemonic or "load" in mnemonic:
            return "lds_read"
        return "lds_write" if "write" in mnemonic or "store" in mnemonic else "lds_other"
    if mnemonic.startswith(_VECTOR_MEMORY):
        return _vector_memory_kind(mnemonic, operands)
    return _scalar_kind(mnemonic)


def _vector_memory_kind(mnemonic: str, operands: str) -> str:
    if "inv" in mnemonic or "wb" in mnemonic.split("_")[1]:
        return "other"  # cache control
    if "load" in mnemonic and "atomic" not in mnemonic:
        lands_in_lds = "_lds" in mnemonic or re.search(r"\blds\b", operands)
        return "to_lds" if lands_in_lds else "global_load"
    return "global_store"


def _scalar_kind(mnemonic: str) -> str:
    if mnemonic.startswith(("s_waitcnt", "s_wait_")):
        return "wait"
    if mnemonic.startswith("s_barrier"):
        return "barrier"
    if mnemonic.startswith(_BRANCHES):
        return "branch"
    if mnemonic.startswith(_SCALAR_MEMORY):
        return "smem"
    return "salu" if mnemonic.startswith("s_") and not mnemonic.startswith(_NO_WORK) else "other"


def _lane_bytes(mnemonic: str) -> int:
    pair = 2 if re.search(r"(read|write|load|store)2", mnemonic) else 1
    words = mnemonic.partition("_tr_")[0].split("_")  # ds_read_b64_tr_b16 reads 64 bits of 16-bit elements
    return pair * next((_BYTES[word] for word in reversed(words) if word in _BYTES), 0)

"""A HIP program whose launches are recorded: its kernels' code, and the launches with their arguments as bytes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.cmake import first_errors
from ckgen.build.toolchain import find_toolchain
from ckgen.errors import CkgenError, Diagnostic
from ckgen.machine_code.assembly import Argument, Kernel, read_arguments, read_kernels
from ckgen.machine_code.emulator.code_object import CodeObject

_RECORDER = Path(__file__).with_name("recorder.cpp")
_DEVICE = ("-x", "hip", "--offload-device-only", "-nogpulib", "-O3", "-S")
_HOST = ("-x", "hip", "--offload-host-only", "-nogpulib", "-O1")


@dataclass(frozen=True)
class Launch:
    """A launch as the program asked for it; `arguments` as the kernel finds them in memory."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: bytes

    @property
    def blocks(self) -> int:
        """The number of workgroups."""
        return self.grid[0] * self.grid[1] * self.grid[2]


@dataclass(frozen=True)
class Fill:
    """A memset."""

    address: int
    value: int
    size: int


@dataclass(frozen=True)
class Run:
    """The launches and memsets that one run of a program asked for, in order, and the text that it printed."""

    steps: tuple[Launch | Fill, ...]
    printed: str


@dataclass(frozen=True)
class Program:
    """A compiled program: its kernels as assembly and as a code object, and its host half."""

    arch: str
    kernels: dict[str, Kernel]
    arguments: dict[str, tuple[Argument, ...]]
    code: CodeObject
    host: Path

    def run(self, *words: str) -> Run:
        """Run the host half with these arguments. Raises CkgenError if it fails."""
        with tempfile.TemporaryDirectory() as folder:
            launches, sizes = Path(folder) / "launches", Path(folder) / "arguments"
            given = {name: [item.size for item in items if not item.hidden] for name, items in self.arguments.items()}
            lines = [" ".join([name, *map(str, found)]) for name, found in given.items()]
            sizes.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            files = {"CKGEN_LAUNCHES": str(launches), "CKGEN_ARGUMENTS": str(sizes), "CKGEN_ARCH": self.arch}
            environment = os.environ | files
            command = [str(self.host), *words]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if done.returncode:
                said = done.stderr.strip() or done.stdout.strip()
                message = f"{' '.join(command)} ended with {done.returncode}: {said}"
                raise CkgenError((Diagnostic(None, "launches", message),), 1)
            text = launches.read_text(encoding="utf-8") if launches.exists() else ""
        return Run(tuple(self._step(line.split()) for line in text.splitlines()), done.stdout)

    def _step(self, words: list[str]) -> Launch | Fill:
        if words[0] == "fill":
            return Fill(*map(int, words[1:4]))
        name, numbers = words[1], [*map(int, words[2:9])]
        grid, block = (numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5])
        if numbers[6] or block[1:] != (1, 1):
            message = f"{name}: LDS whose size the launch gives, or a block of more than one dimension"
            raise CkgenError((Diagnostic(None, "launches", message),), 1)
        given = [bytes.fromhex(word) for word in words[9:]]
        return Launch(name, grid, block, _laid_out(self.arguments[name], given, grid, block))


def _laid_out(
    arguments: tuple[Argument, ...],
    given: Sequence[bytes],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
) -> bytes:
    """The arguments in memory. Those that the compiler adds have the meaning of code object version 5."""
    data = bytearray(max((item.offset + item.size for item in arguments), default=0))
    rest = iter(given)
    hidden = {"hidden_grid_dims": 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1}
    for axis, count, size in zip("xyz", grid, block, strict=True):
        hidden |= {f"hidden_block_count_{axis}": count, f"hidden_group_size_{axis}": size}
    for item in arguments:
        value = hidden.get(item.kind, 0).to_bytes(item.size, "little") if item.hidden else next(rest)
        data[item.offset : item.offset + item.size] = value
    return bytes(data)


def compile_program(
    source: Path,
    arch: str,
    folder: Path,
    *,
    flags: Sequence[str],
    device: Sequence[str] = (),
    first: Path | None = None,
) -> Program:
    """Compile a HIP source for one architecture. `device` are further flags for its device code, `first` is a header in
    front of it. The results stay in `folder`, and a call with the same source and flags finds them. Raises CkgenError
    with the compiler's errors."""
    clang = find_toolchain().device_compiler(arch)
    files = [path.read_bytes() for path in (source, _RECORDER, first) if path]
    flags = (*(("-include", str(first)) if first else ()), *flags)
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{source.stem}_{arch}_{_digest(clang, files, arch, flags, device, _DEVICE)}"
    host = folder / f"{source.stem}_{_digest(clang, files, flags, _HOST)}.host"  # it is the same for all architectures
    assembly, code = (stem.with_name(f"{stem.name}{end}") for end in (".s", ".co"))
    if not assembly.exists():
        _compile(clang, (f"--offload-arch={arch}", *_DEVICE, *flags, *device, str(source)), assembly)
    if not code.exists():
        _compile(clang, ("-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", str(assembly)), code)
    if not host.exists():
        recorder = host.with_suffix(".o")
        _compile(clang, ("-std=c++17", "-O1", "-c", str(_RECORDER)), recorder)
        parts = ("-x", "none", str(recorder), "-no-hip-rt", "-lstdc++", "-lm")
        _compile(clang, (f"--offload-arch={arch}", *_HOST, *flags, str(source), *parts), host)
    written = assembly.read_text(encoding="utf-8")
    return Program(arch, read_kernels(written), read_arguments(written), CodeObject.read(code), host)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _compile(clang: Sequence[str], arguments: Sequence[str], target: Path) -> None:
    made = target.with_name(f"{target.name}.{os.getpid()}")
    command = (*clang, *arguments, "-o", str(made))
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise CkgenError(first_errors(done.stderr.splitlines(), command), 1)
    os.replace(made, target)

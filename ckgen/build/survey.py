"""Survey of a machine: its tools with their versions, its GPUs, and what can be built, found by trying."""

from __future__ import annotations

import importlib.util
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ckgen.build.cmake import DEVICE_FLAGS
from ckgen.build.toolchain import ABSENT, HELP, Command, Toolchain, find_toolchain, require
from ckgen.errors import CkgenError
from ckgen.hardware.archs import ARCHES, NVIDIA_ARCHES

Verdict = Literal["ok", "missing", "failed"]
_HOST_PROBE = "#include <thread>\nint main(){ _Float16 x = 1; return std::thread().joinable() + int(x) - 1; }\n"
_DEVICE_PROBE = "__attribute__((global)) void probe(float* out) { out[0] = float(_Float16(out[1])); }\n"
_GPU_NODES = Path("/sys/class/kfd/kfd/topology/nodes")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the survey: a tool, a GPU or something to build. ``mend`` is the command that helps if it is not
    ok."""

    part: str
    name: str
    verdict: Verdict
    found: str
    mend: str = ""


def survey(tools: Toolchain | None = None) -> list[Finding]:
    """Tools, GPUs and targets of this machine. Starts each compiler once per target, on a source of a line."""
    chosen = tools or find_toolchain()
    return [*_tools(chosen), *_gpus(), *_targets(chosen)]


def _tools(tools: Toolchain) -> list[Finding]:
    named: list[tuple[str, Command | None, tuple[str, ...], str]] = [
        ("C++ compiler", tools.host_cxx, ("--version",), HELP["host_cxx"]),
        ("cmake", tools.cmake, ("--version",), HELP["cmake"]),
        ("ninja or make", tools.ninja or tools.make, ("--version",), HELP["generator"]),
        ("hipcc", tools.hipcc, ("--version",), HELP["hipcc"]),
        ("clang for AMD", tools.clang, ("--version",), HELP["device"]),
        ("zig's clang", tools.zig_clang, ("--version",), "pip install ziglang"),
        ("nvcc", tools.nvcc, ("--version",), HELP["nvcc"]),
    ]
    found = [Finding("python", "python", "ok", f"{platform.python_version()} on {platform.platform()}")]
    for name, command, asked, help_text in named:
        if command is None:
            found.append(Finding("tool", name, "missing", "-", help_text))
        else:
            found.append(Finding("tool", name, "ok", f"{' '.join(command)}: {version((*command, *asked))}"))
    return found


def version(command: Command) -> str:
    """The line of a version text that has a number."""
    done = _run(command)
    lines = [line.strip() for line in done[1].splitlines() if any(char.isdigit() for char in line)]
    release = [line for line in lines if "release" in line or "version" in line]
    return (release or lines or ["no version"])[0]


def _gpus() -> list[Finding]:
    code, said = _run(("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"))
    found = [Finding("gpu", "NVIDIA", "ok", line.strip()) for line in said.splitlines() if code == 0 and line.strip()]
    for properties in sorted(_GPU_NODES.glob("*/properties")):
        version = [line.split()[1] for line in _text(properties).splitlines() if line.startswith("gfx_target_version")]
        if version and version[0] != "0":
            found.append(Finding("gpu", "AMD", "ok", gfx_name(int(version[0]))))
    none = "no GPU that its driver shows; the host platform runs every kernel without one"
    return found or [Finding("gpu", "GPU", "missing", none)]


def gfx_name(version: int) -> str:
    """The architecture of Linux's number gfx_target_version: 90010 is gfx90a, 110001 gfx1101."""
    major, minor, step = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{step:x}"


def _targets(tools: Toolchain) -> list[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        found = [_host(tools, place), *_amd(tools, place)]
        found += [_amd_library(tools, place), _nvidia_library(tools), _on_first_use(tools)]
    return found


def _host(tools: Toolchain, folder: Path) -> Finding:
    name = "library, host"
    for kind, command in (
        ("host_cxx", tools.host_cxx),
        ("cmake", tools.cmake),
        ("generator", tools.ninja or tools.make),
    ):
        if command is None:
            return Finding("build", name, "missing", ABSENT[kind], HELP[kind])
    source = folder / "probe.cpp"
    source.write_text(_HOST_PROBE, encoding="utf-8")
    assert tools.host_cxx is not None
    code, said = _run((*tools.host_cxx, "-std=c++17", "-pthread", str(source), "-o", str(folder / "probe")))
    return _tried(name, code, said, "ckgen build --platform host", "a compiler with _Float16: g++ 12, clang 15")


def _amd_library(tools: Toolchain, folder: Path) -> Finding:
    name, help_text = "library, amd", HELP["hipcc"]
    if tools.hipcc is None:
        return Finding("build", name, "missing", "no hipcc", help_text)
    source, command = folder / "device.hip", ("env", "HIP_PLATFORM=amd", *tools.hipcc, *DEVICE_FLAGS)
    said = ""
    able: list[str] = []
    for arch in ARCHES:
        code, said = _run((*command, f"--offload-arch={arch}", "-S", str(source), "-o", str(folder / "device.s")))
        able += [arch] if code == 0 else []
    newer = [arch for arch in ARCHES if arch not in able]
    beyond = f"; {', '.join(newer)} need a newer hipcc" if newer else ""
    return _tried(name, 0 if able else 1, said, f"{', '.join(able)}: ckgen build --platform amd{beyond}", help_text)


def _nvidia_library(tools: Toolchain) -> Finding:
    name, help_text = "library, nvidia", HELP["nvcc"]
    if tools.nvcc is None:
        return Finding("build", name, "missing", "no nvcc", help_text)
    code, said = _run((*tools.nvcc, "--list-gpu-code"))
    able = [arch for arch in NVIDIA_ARCHES if arch in said.split() or arch.rstrip("a") in said.split()]
    return _tried(name, 0 if able else code or 1, said, f"{', '.join(able)}: ckgen build --platform nvidia", help_text)


def _on_first_use(tools: Toolchain) -> Finding:
    """The tools that ckgen.torch.enable() needs for the GPU that this machine has, else for the host."""
    name, gpus = "ckgen.torch.enable()", {one.name for one in _gpus() if one.verdict == "ok"}
    platform = next((kind for kind in ("nvidia", "amd") if kind.upper() in gpus), "host")
    try:
        require("host", tools)  # for the binding to PyTorch too
        require(platform, tools)
    except CkgenError as error:
        return Finding("build", name, "missing", error.diagnostics[0].message, error.diagnostics[0].help)
    if importlib.util.find_spec("torch") is None:
        return Finding("build", name, "missing", "PyTorch is not here", "pip install 'ckgen[torch]'")
    return Finding("build", name, "ok", f"builds for {platform} on first use")


def _amd(tools: Toolchain, folder: Path) -> list[Finding]:
    """Architectures whose machine code can be made and inspected, without a GPU and without ROCm."""
    source = folder / "device.hip"
    source.write_text(_DEVICE_PROBE, encoding="utf-8")
    able: list[str] = []
    unable: list[str] = []
    for arch in ARCHES:
        try:
            compiler = tools.device_compiler(arch)
        except CkgenError:
            unable.append(arch)
            continue
        words = (*compiler, f"--offload-arch={arch}", *DEVICE_FLAGS, "-c", str(source), "-o", str(folder / "device.o"))
        (able if _run(words)[0] == 0 else unable).append(arch)
    found = []
    if able:
        found.append(Finding("build", "machine code, amd", "ok", f"{', '.join(able)}: ckgen isa"))
    if unable:
        found.append(Finding("build", "machine code, amd", "missing", f"not {', '.join(unable)}", HELP["device"]))
    return found


def _tried(name: str, code: int, said: str, usable: str, help_text: str) -> Finding:
    if code == 0:
        return Finding("build", name, "ok", usable)
    first = next((line for line in said.splitlines() if "error" in line), said.strip().partition("\n")[0])
    return Finding("build", name, "failed", first or "it said nothing", help_text)


def _run(command: Sequence[str]) -> tuple[int, str]:
    """The exit code of a command and what it said; 127 if it does not exist."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout + done.stderr


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

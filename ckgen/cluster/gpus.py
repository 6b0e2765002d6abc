"""GPUs of this machine, and the variables that show a process only one of them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

VARIABLES = {"nvidia": "CUDA_VISIBLE_DEVICES", "amd": "HIP_VISIBLE_DEVICES"}
_NODES = Path("/sys/class/kfd/kfd/topology/nodes")


def pins(platform: str, environment: Mapping[str, str], nodes: Path = _NODES) -> list[dict[str, str]]:
    """Per GPU of a platform, the variable that selects it; of platform host, nothing. A variable that is already set
    in ``environment`` names the GPUs."""
    if platform not in VARIABLES:
        return []
    variable = VARIABLES[platform]
    given = environment.get(variable)
    if given is not None:
        return [{variable: gpu.strip()} for gpu in given.split(",") if gpu.strip()]
    count = _nvidia_gpus() if platform == "nvidia" else _amd_gpus(nodes)
    return [{variable: str(number)} for number in range(count)]


def _nvidia_gpus() -> int:
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.SubprocessError):
        return 0
    return sum(line.startswith("GPU ") for line in done.stdout.splitlines())


def _amd_gpus(nodes: Path) -> int:
    """Nodes of the driver that have SIMDs; the others are CPUs."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in nodes.glob("*/properties")]
    values = [dict(line.split()[:2] for line in text.splitlines() if len(line.split()) > 1) for text in texts]
    return sum(value.get("simd_count", "0") != "0" for value in values)

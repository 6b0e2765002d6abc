"""Networks of packages in the bundled zoo are what scripts/zoo.py traces."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tests.support.torch_cases  # noqa: F401 - skips this file without PyTorch
from ckgen.paths import PACKAGE

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("resnet50", "mobilenet_v2", "retinanet_resnet50_fpn", "r3d_18")


def traced_with(package: str) -> bool:
    """True if the installed version of a package is the one that the zoo was traced with."""
    text = (PACKAGE / "problems" / "zoo.yaml").read_text(encoding="utf-8")
    traced = re.search(rf"source: {package} (\S+)", text)
    return (
        traced is not None
        and importlib.util.find_spec(package) is not None
        and importlib.metadata.version(package).split("+")[0] == traced[1]
    )


def without_source(text: str) -> str:
    """The text without the packages, whose versions may differ."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("    source:"))


@pytest.mark.skipif(
    not traced_with("torchvision"), reason="the torchvision that the zoo was traced with is not installed"
)
def test_the_script_writes_networks_of_packages() -> None:
    words = [sys.executable, str(ROOT / "scripts" / "zoo.py"), *(word for name in NAMES for word in ("--only", name))]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = without_source((PACKAGE / "problems" / "zoo.yaml").read_text(encoding="utf-8"))
    entries = done.stdout.split("  - name: ")[1:]
    assert [entry.split("\n")[0] for entry in entries] == list(NAMES)
    wrong = [entry for entry in entries if without_source(f"  - name: {entry}").rstrip() not in found]
    assert [entry.split("\n")[0] for entry in wrong] == []

"""ckgen isa for NVIDIA architectures: ptxas's report, and the number of blocks that fit."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from ckgen.build.toolchain import find_toolchain
from ckgen.cli import main
from ckgen.errors import CkgenError
from ckgen.machine_code.ptxas import read_report, release_of
from tests.support.specs import TMA as TMA_GROUP
from tests.support.specs import XDL as XDL_GROUP
from tests.support.specs import spec_text
from tests.support.trees import TMA, XDL

SAID = """ptxas info    : Compiling entry function 'k' for 'sm_90a'
    8 bytes stack frame, 16 bytes spill stores, 12 bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers
"""
SM_90A = 227 * 1024
PLANES = {
    "name": "p",
    "operation": "grouped_conv_bwd_data",
    "family": "wavelet_tma",
    "layout": "NGKHW/GKCYX/NGCHW",
    "dtype": ["bf16", "f32_comp_tf32"],
    "conv_spec": "Filter1x1Stride1Pad0",
    "tile": "64x64",
}


@pytest.mark.parametrize(("registers", "blocks"), [(64, 4), (96, 2), (128, 2), (158, 1), (255, 1)])
def test_registers_limit_blocks(registers: int, blocks: int) -> None:
    """256 threads of 96 registers need 24576 of 65536: two blocks. 158 are rounded up to 160 per thread: one block."""
    report = read_report(SAID.format(registers=registers), XDL, "sm_90a", SM_90A)
    assert (report.registers, report.stack_bytes, report.spill_bytes) == (registers, 8, 28)
    assert (report.shared_bytes, report.blocks) == (XDL.lds_bytes, blocks)


def test_the_kernel_that_adds_partial_sums_is_left_out() -> None:
    reduction = SAID.format(registers=40).replace("'k'", f"'{XDL.name}_reduce_kernel'")
    kernel = SAID.format(registers=96).replace("'k'", f"'{XDL.name}_kernel'").replace("16 bytes", "0 bytes")
    for said in (reduction + kernel, kernel + reduction):
        report = read_report(said, XDL, "sm_90a", SM_90A)
        assert (report.registers, report.spill_bytes) == (96, 12)


def test_shared_memory_limits_blocks() -> None:
    assert read_report(SAID.format(registers=32), TMA, "sm_90a", SM_90A).blocks == 1
    assert read_report(SAID.format(registers=32), XDL, "sm_90a", 3 * XDL.lds_bytes).blocks == 2


def test_other_output_is_refused() -> None:
    with pytest.raises(CkgenError, match="reported nothing about the kernel"):
        read_report("ptxas info : 0 bytes gmem", XDL, "sm_90a", SM_90A)
    with pytest.raises(CkgenError, match="is not nvcc"):
        release_of(("true",))


@pytest.mark.compiles
def test_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_toolchain().nvcc is None:
        pytest.skip("nvcc is not on PATH, so nothing can be compiled for NVIDIA GPUs")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "instances.yaml").write_text(spec_text(XDL_GROUP, TMA_GROUP))
    assert main(["isa", "--arch", "sm_90a", "--arch", "sm_80", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [(record["arch"], "tma" in record["name"]) for record in records] == [
        ("sm_90a", False),
        ("sm_90a", True),
        ("sm_80", False),
    ]
    for record in records:
        assert 32 < record["registers"] <= 255 and record["spill_bytes"] == 0 and record["blocks"] >= 1
        assert record["compiler"].startswith("nvcc 1")
    assert main(["isa", "--arch", "sm_90a"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[:3] == ["instance", "arch", "registers"]
    assert main(["isa", "--arch", "sm_90a", "--arch", "gfx942"]) == 2
    assert main(["isa", "--arch", "sm_90a", "--check"]) == 2


@pytest.mark.compiles
def test_planes_are_stored_16_bytes_at_once(tmp_path: Path) -> None:
    """Stores by pointers to elements became four of 4 bytes each, with which kernels took 1.2 to 1.7 times as long."""
    nvcc = find_toolchain().nvcc
    if nvcc is None:
        pytest.skip("nvcc is not on PATH, so nothing can be compiled for NVIDIA GPUs")
    spec, tree = tmp_path / "instances.yaml", tmp_path / "tree"
    spec.write_text(spec_text(PLANES))
    assert main(["generate", "--spec", str(spec), "--out", str(tree), "-q"]) == 0
    sources = sorted((tree / "src").glob("*/wavelet_tma/*.cpp"))
    assert len(sources) == 2
    for source in sources:
        flags = ("-x", "cu", "-std=c++17", "-O3", "-ptx", "-DCKGEN_DEVICE_ONLY=1", "-DCKGEN_PLATFORM_NVIDIA=1")
        code = tmp_path / f"{source.stem}.ptx"
        command = (*nvcc, *flags, "-arch=sm_90a", f"-I{tree / 'include'}", str(source), "-o", str(code))
        subprocess.run(command, check=True)
        stores = re.findall(r"st\.global(?:\.wb)?((?:\.v\d)?\.[ubf]\d+)", code.read_text())
        assert ".v4.u32" in stores and not {".u32", ".b32"} & set(stores), source.stem

"""Implementation of `ckgen isa --arch sm_...`: ptxas's report of each instance, for NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from ckgen.build.toolchain import find_toolchain, need
from ckgen.cli.common import console
from ckgen.cli.common.workshop import Workplace
from ckgen.hardware.archs import NVIDIA_ARCHES
from ckgen.instance.checker import Checker
from ckgen.instance.instance import Instance
from ckgen.machine_code.ptxas import NvidiaReport, compile_and_report, release_of

HEADERS = ("instance", "arch", "registers", "spill bytes", "stack", "shared", "blocks", "warps")


def isa_nvidia(
    place: Workplace, chosen: Sequence[Instance], archs: Sequence[str], compiler: str | None, jobs: int, as_json: bool
) -> int:
    """Compile for NVIDIA architectures and print the resources of each kernel."""
    unknown = [arch for arch in archs if arch not in NVIDIA_ARCHES]
    if unknown:
        raise click.BadParameter(f"{unknown[0]} cannot be combined with NVIDIA architectures", param_hint="--arch")
    nvcc = (compiler,) if compiler else need(find_toolchain().nvcc, "nvcc", "nvcc is not here")
    release, checker, reports = release_of(nvcc), Checker(), list[NvidiaReport]()
    for arch in archs:
        instances = [instance for instance in chosen if arch in checker.nvidia_archs(instance)]
        limit = NVIDIA_ARCHES[arch].lds_limit
        with console.progress(f"isa {arch}", len(instances)) as step:
            out = place.build_dir / arch
            reports += compile_and_report(
                place.tree, instances, arch, out, nvcc, shared_limit=limit, jobs=jobs, on_done=step
            )
    threads = {instance.name: instance.launch_threads for instance in chosen}
    if as_json:
        console.say_json([{**asdict(report), "compiler": release} for report in reports])
    else:
        rows = [(*asdict(report).values(), report.blocks * threads[report.name] // 32) for report in reports]
        console.show_table(HEADERS, rows, right=HEADERS[2:])
    console.note(f"{len(reports)} kernels, {release}")
    return 0

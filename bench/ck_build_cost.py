"""Compare the compile cost of one file of Composable Kernel with that of the same instances of ckgen.

    python bench/ck_build_cost.py --ck CHECKOUT [--clang clang++-19] [--arch gfx942] [--shipping] [--rounds 1]

The same compiler compiles both in turn to assembly, device code only, -O3: CK's file of 32 f16 NHWGC 2D backward
weight instances, and ckgen's 32 xdl instances of that layout and type, eight per file as in its build. `--shipping`
also compiles CK's file with the four options that its CMake sets, which takes ten minutes and 8 GB. CHECKOUT is
github.com/ROCm/composable_kernel at a commit of 2024, which Debian's clang 19 and HIP headers compile unchanged.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ckgen.generate.command import GenerateCommand  # noqa: E402
from ckgen.generate.inputs import load_context  # noqa: E402
from ckgen.generate.render import render_tree  # noqa: E402
from ckgen.spec.expand import expand_document  # noqa: E402
from ckgen.text import source  # noqa: E402

CK_FOLDER = "library/src/tensor_operation_instance/gpu/grouped_conv2d_bwd_weight/xdl"
CK_FILE = "device_grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f16_instance.cpp"
CK_INSTANCES = 32
# CK's CMakeLists.txt sets these with HIP >= 6.2.41133.
CK_SHIPPING = ["--lsr-drop-solution=1", "-enable-post-misched=0", "-amdgpu-early-inline-all=true"]
CK_SHIPPING += ["-amdgpu-function-calls=false"]
PER_FILE = 8


def run(command: list[str]) -> tuple[float, float]:
    """Run a compiler; return CPU seconds and peak MiB, including its child processes. Exits if it fails."""
    process = os.posix_spawnp(command[0], command, dict(os.environ))
    _, status, used = os.wait4(process, 0)
    if status != 0:
        sys.exit(f"command failed: {' '.join(command)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def device_only(options: argparse.Namespace, more: list[str], text: Path, output: Path) -> list[str]:
    flags = ["-x", "hip", f"--offload-arch={options.arch}", "--offload-device-only", "-O3", "-std=c++17", "-w"]
    flags += ["-nogpulib", "-S", "--no-gpu-bundle-output"]
    return [options.clang, *flags, *more, "-o", str(output), str(text)]


def ck_command(options: argparse.Namespace, folder: Path, shipping: bool) -> list[str]:
    """Command that compiles CK's own file, with a config.h that enables every data type."""
    checkout: Path = options.ck
    config = folder / "ck" / "config.h"
    config.parent.mkdir(exist_ok=True)
    config.write_text("#define CK_ENABLE_ALL_DTYPES 1\n", encoding="utf-8")
    more = ["--rocm-path=/usr", f"-I{folder}", f"-I{checkout / 'include'}", f"-I{checkout / 'library' / 'include'}"]
    for option in CK_SHIPPING if shipping else []:
        more += ["-mllvm", option]
    return device_only(options, more, checkout / CK_FOLDER / CK_FILE, folder / "ck.s")


def own_commands(options: argparse.Namespace, folder: Path) -> tuple[list[list[str]], int]:
    """Commands that compile ckgen's instances, eight per translation unit, and the number of instances."""
    spec = ROOT / "instances.yaml"
    expansion = expand_document(source.load(spec))
    chosen = [
        instance
        for instance in expansion.instances
        if (instance.family, instance.layout, instance.dtype) == ("xdl", "NHWGC/GKYXC/NHWGK", "f16")
        and not instance.generic
    ]
    tree = render_tree(chosen, load_context(GenerateCommand(spec.name), spec.read_text(encoding="utf-8"), {}))
    for path, text in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    files = sorted(path for path in tree if re.search(r"/xdl/grouped_conv2d.*\.cpp$", path))
    more = ["-nogpuinc", "-DCKGEN_DEVICE_ONLY=1", "-DCKGEN_PLATFORM_AMD=1", f"-I{folder / 'include'}"]
    commands = []
    for number in range(0, len(files), PER_FILE):
        unit = folder / f"unit{number}.cpp"
        unit.write_text("".join(f'#include "{folder / path}"\n' for path in files[number : number + PER_FILE]))
        commands.append(device_only(options, more, unit, folder / f"unit{number}.s"))
    return commands, len(files)


def show(what: str, costs: list[tuple[float, float]], instances: int) -> float:
    """Print one line and return the CPU seconds per instance."""
    seconds = statistics.median(cost[0] for cost in costs)
    peak = max(cost[1] for cost in costs)
    print(
        f"{what:24} {instances:4} instances {seconds:9.1f} CPU s {seconds / instances:8.3f} each {peak:8.0f} MiB peak"
    )
    return seconds / instances


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ck", type=Path, required=True)
    parser.add_argument("--clang", default="clang++-19")
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--shipping", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    if not (options.ck / CK_FOLDER / CK_FILE).is_file():
        print(f"{options.ck} is not a checkout of Composable Kernel: no {CK_FOLDER}/{CK_FILE}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="ckgen-bench-") as folder:
        commands, count = own_commands(options, Path(folder))
        own, plain, shipping = [], [], []
        for _ in range(options.rounds):
            parts = [run(command) for command in commands]
            own.append((sum(part[0] for part in parts), max(part[1] for part in parts)))
            plain.append(run(ck_command(options, Path(folder), shipping=False)))
        if options.shipping:
            shipping.append(run(ck_command(options, Path(folder), shipping=True)))
    ours = show("ckgen, -O3", own, count)
    print(f"  CK takes {show('CK, -O3', plain, CK_INSTANCES) / ours:.1f} times as long (goal: 2)")
    if shipping:
        print(f"  CK takes {show('CK, shipping options', shipping, CK_INSTANCES) / ours:.1f} times as long (goal: 10)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

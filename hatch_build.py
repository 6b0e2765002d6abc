"""Build hook of the wheel: puts a small library for the host into it if asked, so that it is usable without a compiler.

    CKGEN_PREBUILT=1 python -m build        # the library of set quick; CKGEN_PREBUILT=NAME takes another set

`prebuilt = "NAME"` under `[tool.hatch.build.targets.wheel.hooks.custom]` asks too. Otherwise, in an editable
installation, and without a compiler the wheel is pure Python. A wheel with a library is tagged for the processor and
the oldest glibc that the library runs with.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE, DEFAULT_SET, LIBRARY = "CKGEN_PREBUILT", "quick", "libckgen_conv.so"
# For every processor of this kind and, apart from glibc, without libraries of this machine. Other C++ runtimes of the
# same process, as PyTorch's, do not see this one's names.
OPTIONS = ("CKGEN_HOST_NATIVE=OFF", "CKGEN_INSTALL=OFF", "CMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG")
STATIC_RUNTIME = "CMAKE_SHARED_LINKER_FLAGS=-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -s"


class PrebuiltHook(BuildHookInterface[Any]):
    """Adds the library to the wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """The packages that generate and compile the library: ckgen's own dependencies."""
        return list(self.metadata.core.dependencies) if self._set_name() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library and change the wheel's tag."""
        name = self._set_name()
        if not name or version == "editable" or self.target_name != "wheel":
            return
        lacking = self._lacking()
        if lacking:
            self.app.display_warning(f"{VARIABLE}: the wheel is pure Python, without a library: {lacking}")
            return
        folder = tempfile.TemporaryDirectory(prefix="ckgen-prebuilt-")
        self._folder = folder  # until finalize()
        library = self._build(name, Path(folder.name))
        build_data["force_include"][str(library)] = f"ckgen/prebuilt/{LIBRARY}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(library)}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the built library, which is in the wheel now."""
        folder: tempfile.TemporaryDirectory[str] | None = getattr(self, "_folder", None)
        if folder is not None:
            folder.cleanup()

    def _set_name(self) -> str:
        """The set of instances to build, "" for none."""
        asked = os.environ.get(VARIABLE, str(self.config.get("prebuilt", "")))
        if asked.lower() in ("", "0", "off", "no", "false"):
            return ""
        return DEFAULT_SET if asked.lower() in ("1", "on", "yes", "true") else asked

    def _lacking(self) -> str:
        """The first tool that is missing to build it, "" if none is."""
        if sys.platform != "linux":
            return "only Linux has a host library"
        code = (
            "from ckgen.build.toolchain import find_toolchain, require; from ckgen.errors import CkgenError\n"
            "try: require('host', find_toolchain())\n"
            "except CkgenError as error: print(error.sentence)"
        )
        return self._python("-c", code).strip()

    def _build(self, name: str, folder: Path) -> Path:
        words = ["-m", "ckgen", "build", "--platform", "host", "--set", name]
        words += ["--spec", str(Path(self.root, "instances.yaml"))]
        runtime = [] if "ziglang" in self._python("-c", COMPILER) else [STATIC_RUNTIME]
        for option in (*OPTIONS, *runtime):
            words += ["--option", option]
        self.app.display_info(f"building the host library of set {name}")
        return folder / self._python(*words, cwd=folder).strip()

    def _python(self, *words: str, cwd: Path | None = None) -> str:
        """The standard output of this Python with the ckgen of this folder."""
        environment = {**os.environ, "PYTHONPATH": self.root}
        done = subprocess.run([sys.executable, *words], cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"{VARIABLE}: the host library cannot be built; the wheel without it: {VARIABLE}=0")
        return done.stdout


COMPILER = "from ckgen.build.toolchain import find_toolchain; print(*find_toolchain().host_cxx)"


def platform_tag(library: Path) -> str:
    """The wheel's platform: Linux with the newest glibc among the versions that the library names (PEP 600), or with
    any C library if it names none."""
    versions = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", library.read_bytes())]
    kind = f"manylinux_2_{max(versions)}" if versions else "linux"
    return f"{kind}_{platform.machine()}"

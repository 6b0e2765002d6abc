"""The host library of a wheel: built when asked for, usable without a compiler; other wheels are pure Python."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.docs.snippets import snippets
from tests.support.specs import default_expansion

ROOT = Path(__file__).resolve().parents[2]
MEMBER = "ckgen/prebuilt/libckgen_conv.so"
pytestmark = pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed")
# The weight gradient by its definition, in float64 and without ckgen.
GRADIENT = """
import itertools, numpy as np, ckgen
library = ckgen.Library()
problem = ckgen.make_problem(groups=2, batch=2, k=10, c=6, filter=[3, 2], input=[7, 8], stride=2, pad=1)
rng, done = np.random.default_rng(5), 0
for name, instance in zip(library.names, library.instances, strict=True):
    if instance.operation != "grouped_conv_bwd_weight" or instance.layout != "NHWGC/GKYXC/NHWGK":
        continue
    if instance.dtype not in ("f16", "f32") or library.unsupported_reason(name, problem):
        continue
    kind = np.dtype({"f16": np.float16, "f32": np.float32}[instance.dtype])
    n, h, w, g, c = problem.shape("in", instance.layout)
    image = rng.uniform(-1, 1, (n, h, w, g, c)).astype(kind)
    out = rng.uniform(-1, 1, problem.shape("out", instance.layout)).astype(kind)
    got = np.full(problem.shape("wei", instance.layout), np.nan, kind)
    library.run(name, problem, image, got, out, split_k=-1)
    padded = np.pad(image.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0), (0, 0)))
    want = np.zeros(got.shape)
    rows, columns = out.shape[1:3]
    for y, x in itertools.product(range(3), range(2)):
        seen = padded[:, y : y + 2 * rows : 2, x : x + 2 * columns : 2][:, :rows, :columns]
        want[:, :, y, x, :] = np.einsum("nhwgc,nhwgk->gkc", seen, out.astype(np.float64))
    step = 0.02 if "comp" in name else {2: 2e-3, 4: 2e-6}[kind.itemsize]
    assert np.abs(got - want).max() <= step * np.abs(want).max() + (1e-2 if "comp" in name else 0), (name, got, want)
    done += 1
print(done)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    environment = {**os.environ, "CKGEN_PREBUILT": "1"}
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of a user without a compiler who installed the wheel; pip refuses a wrong tag."""
    site = tmp_path / "site"
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    done = subprocess.run([*words, str(wheel)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (tmp_path / "bin").mkdir()
    for name, module in (("ckgen", "ckgen"), ("python3", "")):
        start = f"-m {module} " if module else ""
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec {sys.executable} {start}"$@"\n', encoding="utf-8")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "empty").mkdir()
    return {"PYTHONPATH": str(site), "PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}


@pytest.mark.compiles
@pytest.mark.sweep
def test_the_wheel_has_a_small_library_for_every_such_processor(wheel: Path) -> None:
    assert wheel.name.split("-")[2:4] == ["py3", "none"]
    assert "manylinux_2_" in wheel.name and wheel.name.endswith(f"_{os.uname().machine}.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.getinfo(MEMBER).file_size < 8_000_000
        library = archive.read(MEMBER)
    assert b"libstdc++.so" not in library, "the C++ runtime is inside"


@pytest.mark.compiles
@pytest.mark.sweep
def test_a_gradient_without_a_compiler(installed: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", GRADIENT], env=installed, cwd=tmp_path / "empty", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 4, "generic f16 and f32, and others that take it"


@pytest.mark.compiles
@pytest.mark.sweep
def test_the_page_about_installing_works(installed: dict[str, str], tmp_path: Path) -> None:
    """The commands of docs/install.md for this wheel, in an empty folder, which stays empty: nothing is built."""
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    (block,) = [one.code for one in snippets(page) if one.mark == "wheel"]
    for line in block.splitlines():
        done = subprocess.run(
            ["/bin/sh", "-c", line], env=installed, cwd=tmp_path / "empty", capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    quick = len(default_expansion().sets["quick"])
    assert done.stdout == f"{quick}\n" and not any((tmp_path / "empty").iterdir())
    words = [sys.executable, "-m", "ckgen", "doctor", "--json"]
    found = subprocess.run(words, env=installed, cwd=tmp_path / "empty", capture_output=True, text=True)
    (row,) = [one for one in json.loads(found.stdout) if one["name"] == "prebuilt library"]
    assert row["verdict"] == "ok" and f"{quick} instances" in row["found"] and f"{quick} kernels" in page


class App:
    """The object with which a hook prints."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, text: str) -> None:
        self.warnings.append(text)

    def display_info(self, text: str) -> None:
        raise AssertionError(f"it builds: {text}")


def hook(config: dict[str, Any], app: App) -> Any:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PrebuiltHook(str(ROOT), config, None, None, str(ROOT), "wheel", app)


@pytest.mark.parametrize("asked", ["", "0", "off", None])
def test_nothing_is_built_unless_asked(asked: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CKGEN_PREBUILT", raising=False)
    if asked is not None:
        monkeypatch.setenv("CKGEN_PREBUILT", asked)
    app, data = App(), {"force_include": {}}
    hook({}, app).initialize("standard", data)
    assert data == {"force_include": {}} and app.warnings == []


def test_an_editable_installation_builds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CKGEN_PREBUILT", "1")
    data: dict[str, Any] = {"force_include": {}}
    hook({}, App()).initialize("editable", data)
    assert data == {"force_include": {}}


def test_without_a_compiler_the_wheel_is_pure_and_it_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CKGEN_PREBUILT", raising=False)
    app, data = App(), {"force_include": {}}
    one = hook({"prebuilt": "quick"}, app)
    monkeypatch.setattr(one, "_lacking", lambda: "there is no C++ compiler here")
    one.initialize("standard", data)
    assert data == {"force_include": {}}
    assert app.warnings == [
        "CKGEN_PREBUILT: the wheel is pure Python, without a library: there is no C++ compiler here"
    ]


def test_a_checkout_brings_no_library() -> None:
    from ckgen.library.c_api import LibraryError
    from ckgen.library.library import Library

    with pytest.raises(LibraryError, match="brings no library"):
        Library()

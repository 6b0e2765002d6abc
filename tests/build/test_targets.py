"""Test architecture names on the command line: unknown, foreign or undeclared ones are refused before anything is
built.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.build import cmake as building
from ckgen.build.targets import EVERY, check_archs, check_declared, check_platform_archs
from ckgen.cli import main
from ckgen.cli.run import smoke_emulated
from ckgen.errors import CkgenError
from ckgen.hardware.archs import ARCHES, NVIDIA_ARCHES
from tests.support.specs import WAVELET, spec_text


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec of one wavelet instance, in which compilers must not run."""

    def build(*_: object, **__: object) -> None:
        raise AssertionError("a build was started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(building, "build", build)
    (tmp_path / "instances.yaml").write_text(spec_text(WAVELET))
    return tmp_path


@pytest.mark.parametrize("command", ["build", "smoke", "bench"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("amd", "gfx999"),
            "there is no architecture `gfx999`\n = help: did you mean `gfx950` or `gfx942`? known: gfx908, ",
        ),
        (("amd", "gfx906"), "there is no architecture `gfx906`"),
        (("nvidia", "sm_90"), "there is no architecture `sm_90`\n = help: did you mean `sm_90a`"),
        (("amd", "sm_90a"), "sm_90a is not an architecture of platform amd\n = help: amd has gfx908, gfx90a, "),
        (("nvidia", "gfx942"), "gfx942 is not an architecture of platform nvidia"),
        (
            ("host", "gfx90a"),
            "platform host has no architectures, so no gfx90a\n = help: leave --arch out, or name its ",
        ),
        (
            ("amd", "gfx942", "gfx1100"),
            "none of the 1 chosen instances is for gfx1100\n = help: they are for gfx908, gfx90a, gfx942, ",
        ),
        (("amd", "gfx1101"), "none of the 1 chosen instances is for gfx1101"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_built(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, words: tuple[str, ...], message: str
) -> None:
    archs = [word for arch in words[1:] for word in ("--arch", arch)]
    assert main([command, "--spec", "instances.yaml", "--platform", words[0], *archs]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["smoke", "bench"])
def test_arch_beside_a_library_is_wrong_use(folder: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "--library", "x.so", "--arch", "gfx942"]) == 2
    assert "x.so is already built" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("isa", "--arch", "gfx94"),
        ("select", "K8", "C8", "1", "on", "9", "--arch", "gfx94"),
        ("tune", "--arch", "gfx94"),
    ],
)
def test_other_commands_know_the_names_too(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert main(words) == 2
    assert "there is no architecture `gfx94`\n = help: did you mean `gfx942`" in capsys.readouterr().err


def test_features_do_not_count_and_nvidia_runs_what_is_not_for_others() -> None:
    check_archs((*EVERY, "gfx90a:xnack+"))
    check_platform_archs("amd", ("gfx942:sramecc+:xnack-", *ARCHES))
    check_platform_archs("nvidia", (*NVIDIA_ARCHES, "compute_80", "compute_90"))
    check_platform_archs("host", ())
    check_declared(("gfx90a:xnack+", "sm_80"), [("gfx90a",), ("sm_90a",)])
    with pytest.raises(CkgenError, match="gfx942"):
        check_declared(("gfx942",), [("gfx90a",), ("sm_90a",)])


def test_a_missing_device_compiler_is_said_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoTools:
        def device_compiler(self, arch: str) -> None:
            raise CkgenError(())

    def build_library(*given: object, **options: object) -> None:
        raise AssertionError("the host library was built first")

    monkeypatch.setattr(smoke_emulated, "find_toolchain", NoTools)
    monkeypatch.setattr(smoke_emulated, "build_library", build_library)
    assert main(["smoke", "--platform", "amd", "--arch", "gfx950", "--emulate"]) == 2

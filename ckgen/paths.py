"""Paths of ckgen's own data: next to the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def templates_dir() -> Path:
    """The folder of templates and C++ headers; FileNotFoundError says what a broken installation lacks."""
    for folder in (PACKAGE / "templates", PACKAGE.parent / "templates"):
        if (folder / "include" / "ckgen").is_dir():
            return folder
    raise FileNotFoundError(f"ckgen's templates are neither in {PACKAGE} nor beside it; reinstall ckgen")


def spec_file() -> Path:
    """The spec that ckgen itself comes with; FileNotFoundError says what a broken installation lacks."""
    for folder in (PACKAGE, PACKAGE.parent):
        if (folder / "instances.yaml").is_file():
            return folder / "instances.yaml"
    raise FileNotFoundError(f"ckgen's instances.yaml is neither in {PACKAGE} nor beside it; reinstall ckgen")


def examples_dir() -> Path | None:
    """The folder of the example programs; None in an installation without them."""
    folders = (PACKAGE / "examples", PACKAGE.parent / "examples")
    return next((folder for folder in folders if (folder / "CMakeLists.txt").is_file()), None)


def prebuilt_library() -> Path | None:
    """The host library that a wheel brings; None in a checkout and in a wheel of pure Python."""
    path = PACKAGE / "prebuilt" / "libckgen_conv.so"
    return path if path.is_file() else None


def cache_dir() -> Path:
    """The user's folder for what ckgen can compute again."""
    import platformdirs  # few commands need it

    return Path(platformdirs.user_cache_dir("ckgen"))

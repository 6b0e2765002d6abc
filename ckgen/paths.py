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


def cache_dir() -> Path:
    """The user's folder for what ckgen can compute again."""
    import platformdirs  # few commands need it

    return Path(platformdirs.user_cache_dir("ckgen"))

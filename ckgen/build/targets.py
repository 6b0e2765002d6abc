"""Checks of architecture names that a user types: the name is known, belongs to the platform, and has instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ckgen.errors import CkgenError, Diagnostic, nearest, one_of
from ckgen.hardware.archs import ARCHES, NVIDIA_ARCHES

# PTX for a compute capability; the driver compiles it for later GPUs.
PTX = tuple("compute_" + arch.removeprefix("sm_").rstrip("a") for arch in NVIDIA_ARCHES)
PLATFORM_ARCHES: dict[str, tuple[str, ...]] = {"amd": tuple(ARCHES), "nvidia": (*NVIDIA_ARCHES, *PTX), "host": ()}
EVERY = (*ARCHES, *NVIDIA_ARCHES)
# Names that a device reports for itself, which need not be a compile target: sm_90 for sm_90a, and host.
DEVICES = (*EVERY, *(arch.rstrip("a") for arch in NVIDIA_ARCHES if arch.endswith("a")), "host")


def check_archs(archs: Iterable[str], known: Sequence[str] = EVERY) -> None:
    """Raise CkgenError for an unknown name; features after a colon (gfx90a:xnack+) are ignored."""
    for arch in archs:
        if plain(arch) not in known:
            close = nearest(arch, known)[:2]
            meant = f"did you mean {one_of(close)}? " if close else ""
            raise _error("unknown-arch", f"there is no architecture `{arch}`", f"{meant}known: {', '.join(known)}")


def check_platform_archs(platform: str, archs: Sequence[str]) -> None:
    """Raise CkgenError for an architecture that the platform's library cannot be built for."""
    if not archs:
        return
    if platform == "host":
        help = f"leave --arch out, or name its platform: {_platforms_of(archs)}"
        raise _error("platform-arch", f"platform host has no architectures, so no {', '.join(archs)}", help)
    check_archs(archs, (*EVERY, *PTX))
    foreign = [arch for arch in archs if plain(arch) not in PLATFORM_ARCHES[platform]]
    if foreign:
        message = f"{foreign[0]} is not an architecture of platform {platform}"
        raise _error("platform-arch", message, f"{platform} has {', '.join(PLATFORM_ARCHES[platform])}")


def check_declared(archs: Iterable[str], declared: Sequence[Sequence[str]]) -> None:
    """Raise CkgenError for an AMD architecture that none of the chosen instances is for. `declared` has the
    architectures of each instance. NVIDIA architectures are not checked: only NVIDIA-only instances declare them."""
    for arch in archs:
        if plain(arch) in ARCHES and not any(plain(arch) in own for own in declared):
            there = ", ".join(dict.fromkeys(name for own in declared for name in own)) or "no architecture"
            message = f"none of the {len(declared)} chosen instances is for {arch}"
            raise _error("undeclared-arch", message, f"they are for {there}; choose one of these, or other instances")


def plain(arch: str) -> str:
    """Return the name without its features: gfx90a for gfx90a:xnack+."""
    return arch.partition(":")[0]


def _platforms_of(archs: Sequence[str]) -> str:
    found = [name for name, known in PLATFORM_ARCHES.items() if any(plain(arch) in known for arch in archs)]
    return " or ".join(f"--platform {name}" for name in found or ("amd", "nvidia"))


def _error(rule: str, message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, rule, message, help),))

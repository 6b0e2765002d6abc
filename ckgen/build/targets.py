"""Names of architectures as people type them: known, of the platform, and with something built for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ckgen.errors import CkgenError, Diagnostic, nearest, one_of
from ckgen.hardware.archs import ARCHES, NVIDIA_ARCHES

# PTX of a compute capability, which the driver compiles for later GPUs.
PTX = tuple("compute_" + arch.removeprefix("sm_").rstrip("a") for arch in NVIDIA_ARCHES)
PLATFORM_ARCHES: dict[str, tuple[str, ...]] = {"amd": tuple(ARCHES), "nvidia": (*NVIDIA_ARCHES, *PTX), "host": ()}
EVERY = (*ARCHES, *NVIDIA_ARCHES)
# What a device calls itself, beside the names of what code is compiled for.
DEVICES = (*EVERY, *(arch.rstrip("a") for arch in NVIDIA_ARCHES if arch.endswith("a")), "host")


def check_archs(archs: Iterable[str], known: Sequence[str] = EVERY) -> None:
    """CkgenError for a name that is not among the known ones; features after a colon (gfx90a:xnack+) do not count."""
    for arch in archs:
        if plain(arch) not in known:
            close = nearest(arch, known)[:2]
            meant = f"did you mean {one_of(close)}? " if close else ""
            raise _error("unknown-arch", f"there is no architecture `{arch}`", f"{meant}known: {', '.join(known)}")


def check_platform_archs(platform: str, archs: Sequence[str]) -> None:
    """CkgenError for an architecture that a library for a platform cannot be built for."""
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
    """CkgenError for an AMD architecture that none of the chosen instances is for; `declared` has the architectures of
    each. What is not for NVIDIA GPUs alone runs on all of them, so nothing declares those."""
    for arch in archs:
        if plain(arch) in ARCHES and not any(plain(arch) in own for own in declared):
            there = ", ".join(dict.fromkeys(name for own in declared for name in own)) or "no architecture"
            message = f"none of the {len(declared)} chosen instances is for {arch}"
            raise _error("undeclared-arch", message, f"they are for {there}; choose one of these, or other instances")


def plain(arch: str) -> str:
    """The name without features."""
    return arch.partition(":")[0]


def _platforms_of(archs: Sequence[str]) -> str:
    found = [name for name, known in PLATFORM_ARCHES.items() if any(plain(arch) in known for arch in archs)]
    return " or ".join(f"--platform {name}" for name in found or ("amd", "nvidia"))


def _error(rule: str, message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, rule, message, help),))

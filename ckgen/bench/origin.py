"""Origin of measured rows: the code that the library was built from, its compiler, and the machine."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from ckgen import __version__
from ckgen.bench.job import Settings
from ckgen.bench.store import Origin
from ckgen.generate.manifest import Manifest
from ckgen.library.digest import file_digest
from ckgen.paths import PACKAGE

UNKNOWN = "unknown"
# CMake stores the compiler that it detected for each language in files.
_LANGUAGES = ("CUDA", "HIP", "CXX")
_VARIABLE = r'set\(CMAKE_{language}_COMPILER{what} "([^"]*)"\)'
# Compilers store their names in the objects that they produce.
_COMMENT = re.compile(rb"(?:GCC: \([^)\0]*\)|[A-Za-z ]*clang version) [0-9.]+")


def make_origin(
    library: Path,
    settings: Settings,
    machine: Mapping[str, str],
    *,
    library_platform: str,
    spec_digest: str,
    commit: str | None = None,
) -> Origin:
    """The origin of rows measured now; ``machine`` names device, driver and software."""
    return Origin(
        started=now(),
        host=platform.node() or UNKNOWN,
        platform=library_platform,
        device=machine["device"],
        driver=machine["driver"],
        software=machine["software"],
        compiler=find_compiler(library),
        commit_id=commit or find_commit(),
        spec_digest=spec_digest,
        library_digest=file_digest(library),
        tool_version=__version__,
        settings=dataclasses.asdict(settings),
    )


def now() -> str:
    """The current time in UTC, to the second, in ISO 8601."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def spec_digest(manifest: Manifest | None, names: Sequence[str]) -> str:
    """The digest of the spec that a library was made from. Without a generated tree, a digest of the library's instance
    names, which identify the spec's instances."""
    if manifest is not None:
        return manifest.origin.spec_sha256
    return "names-" + hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()


def find_commit() -> str:
    """The commit that ckgen runs from, with `-dirty` if files differ from it; "unknown" outside a checkout."""
    told = _git("rev-parse", "HEAD")
    if told is None:
        return UNKNOWN
    return told + ("-dirty" if _git("status", "--porcelain", "--untracked-files=no") else "")


def find_compiler(library: Path) -> str:
    """The compilers of a library: from CMake's files next to it if they exist, else from its objects."""
    found = []
    for language in _LANGUAGES:
        for note in sorted((library.parent / "CMakeFiles").glob(f"*/CMake{language}Compiler.cmake")):
            text = note.read_text(encoding="utf-8", errors="replace")
            words = [re.search(_VARIABLE.format(language=language, what=w), text) for w in ("_ID", "_VERSION")]
            found.append(" ".join(word[1] for word in words if word))
    if not found:
        found = sorted({match.decode().strip() for match in _COMMENT.findall(library.read_bytes())})
    return ", ".join(dict.fromkeys(text for text in found if text)) or UNKNOWN


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(PACKAGE), *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()

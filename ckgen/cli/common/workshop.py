"""The tree that a command builds, and the folder of its library.

Without FILTER, --set and --spec, the tree is the existing one in --out. With one of them, the chosen instances are
generated into a separate tree below build/, so that a build never mixes two selections.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import asked_for
from ckgen.errors import CkgenError, Diagnostic
from ckgen.paths import examples_dir

if TYPE_CHECKING:
    from ckgen.build.cmake import Platform
    from ckgen.cli.common.selection import Selection
    from ckgen.library.library import Library

BUILD, LOG = Path("build"), "build.log"


@dataclass(frozen=True, slots=True)
class Workplace:
    """A generated tree, and the folder for its build on one platform."""

    tree: Path
    build_dir: Path


def workplace(selection: Selection, *, chosen: bool, platform: str, archs: Sequence[str] = ()) -> Workplace:
    """Find the tree; generate it first if the selection was `chosen` on the command line.

    The folder of a selection has the name of its set, plus a digest if there are filters or another spec; that of a
    tree has its name, plus a digest of its path if it is not in the current folder. Raises
    CkgenError for `archs` that the platform does not have.
    """
    from ckgen.build.targets import check_platform_archs
    from ckgen.generate import writer

    check_platform_archs(platform, archs)

    if not chosen:
        here = len(selection.out.parts) == 1
        label = selection.out.name + ("" if here else _digest(str(selection.out.resolve())))
        return Workplace(selection.out, BUILD / label / platform)
    label = selection.set_name
    special = [*selection.filters, *([] if selection.has_default_spec else [str(selection.spec.resolve())])]
    if special:
        label += _digest("\0".join(special))
    selection = replace(selection, out=BUILD / label / "tree")
    instances, tree = selection.render()
    writer.apply(tree, selection.out)
    console.note(f"{len(instances)} instances in {selection.out}")
    return Workplace(selection.out, BUILD / label / platform)


def _digest(text: str) -> str:
    return "-" + hashlib.sha256(text.encode()).hexdigest()[:8]


def refuse_platform(library: Library, platform: str) -> None:
    """Raise CkgenError for another --platform than that of a given library. The option's default says nothing."""
    if asked_for(click.get_current_context(), ("platform",)) and library.platform != platform:
        message = f"{library.path} is for platform {library.platform}, not {platform}"
        raise CkgenError([Diagnostic(None, "platform", message, "leave --platform out")])


def refuse_archs(library: Path, archs: Sequence[str]) -> None:
    """Raise UsageError for --arch together with --library: nothing is built, so --arch has no meaning."""
    if archs:
        raise click.UsageError(f"--arch is for building a library; {library} is already built")


def build_library(
    place: Workplace,
    platform: Platform,
    *,
    jobs: int,
    archs: Sequence[str],
    options: Sequence[str],
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Configure, compile what changed, and return the library's path. ``environment`` is added to the build's."""
    from ckgen.build import cmake as build

    named = cmake_options(place, platform, archs, options)
    with logged(place, f"building {place.tree} for {platform}") as on_line:
        made = build.build(
            *(place.tree, platform, place.build_dir),
            jobs=jobs,
            archs=archs,
            options=named,
            on_line=on_line,
            environment=environment,
        )
    console.note(f"built in {made.seconds:.1f} s")
    return made.library


def cmake_options(place: Workplace, platform: Platform, archs: Sequence[str], options: Sequence[str]) -> dict[str, str]:
    """CMake's variables for texts NAME=VALUE; also prints how many instances this build leaves out."""
    _tell_left_out(place.tree, platform, archs)
    named = dict(_option(text) for text in options)
    if "CKGEN_BUILD_EXAMPLES" in named and (examples := examples_dir()) is not None:
        named.setdefault("CKGEN_EXAMPLES_DIR", str(examples))
    return named


@contextmanager
def logged(place: Workplace, what: str) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with each line of a build, which writes it to the build's log and shows it."""
    log = place.build_dir / LOG
    with console.status(f"{what}, log: {log}") as show, _logging(log, show) as on_line:
        yield on_line


@contextmanager
def _logging(path: Path, show: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with each line of a build: it writes the line to the file `path`, which is made with the
    first line, and shows it."""
    path.unlink(missing_ok=True)
    with ExitStack() as files:
        opened: list[TextIO] = []

        def on_line(line: str) -> None:
            if not opened:
                path.parent.mkdir(parents=True, exist_ok=True)
                opened.append(files.enter_context(path.open("w", encoding="utf-8", buffering=1)))
            opened[0].write(line + "\n")
            show(line)

        yield on_line


def _tell_left_out(tree: Path, platform: Platform, targets: Sequence[str]) -> None:
    """Print the number of instances of a tree that no target architecture of the platform can run.

    Raises CkgenError if none can run, or none on one of the architectures.
    """
    from ckgen.build.cmake import is_built
    from ckgen.build.targets import check_declared
    from ckgen.families.registry import FAMILIES
    from ckgen.generate.manifest import load_manifest

    manifest = load_manifest(tree)
    records = manifest.instances if manifest else ()
    if records:
        check_declared(targets, [record.archs for record in records])
    families = {record.name: FAMILIES[record.fields["family"]] for record in records}
    left_out = [
        record for record in records if not is_built(record.archs, platform, targets, families[record.name].amd_only)
    ]
    if not left_out:
        return
    only = ", ".join(dict.fromkeys(arch for record in left_out for arch in record.archs))
    where = f"platform {platform}" + (f" for {', '.join(targets)}" if targets else "")
    if len(left_out) == len(records):
        message = f"{where} can run none of these instances: all {len(records)} are for {only} alone"
        help_text = f"build them with --platform nvidia --arch {left_out[0].archs[0]}, or --platform host"
        raise CkgenError([Diagnostic(None, "empty-build", message, help_text)])
    console.note(f"left out: {len(left_out)} of {len(records)} instances are for {only} alone, not {where}")


def _option(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--option")
    return name, value

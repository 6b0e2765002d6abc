"""Implementation of `ckgen smoke --platform amd --emulate`: machine code of AMD GPUs on this CPU."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import click

from ckgen.build.targets import check_declared
from ckgen.build.toolchain import find_toolchain
from ckgen.cli.common import console
from ckgen.cli.common.inline import divided, problems_of
from ckgen.cli.common.options import asked_for
from ckgen.cli.common.selection import Selection
from ckgen.cli.common.tree_instances import check_filters, sets_of
from ckgen.cli.common.workshop import Workplace, build_library, workplace
from ckgen.cli.run.smoke_options import SmokeOptions
from ckgen.conv.problem import ConvProblem
from ckgen.errors import CkgenError, Diagnostic
from ckgen.generate.manifest import load_manifest
from ckgen.instance.filters import filtered
from ckgen.library.library import Library
from ckgen.verify.emulated import ARCHS, Machine
from ckgen.verify.emulated_plan import rows_of
from ckgen.verify.smoke import Row

_MAX_MACS = 500_000  # of --problems, unless --max-macs says otherwise


def emulate(options: SmokeOptions) -> list[Row]:
    """Build the host library, which plans the launches; compile each instance for each architecture; run all."""
    _require(options)
    selection = Selection(options.spec, options.set_name, (), options.out)
    chosen = asked_for(click.get_current_context(), ("spec", "set_name"))
    place = workplace(selection, chosen=chosen, platform="host")
    check_filters(place.tree, divided(options.filters)[0])
    library = Library(build_library(place, "host", jobs=options.jobs, archs=(), options=options.options))
    runs = _runs(place, library, options)
    problems = _problems(options)
    machines = {arch: Machine(library, place.tree, arch, place.build_dir.parent / "emulated") for arch, _ in runs}
    found: dict[tuple[str, str], list[Row]] = {}

    def one(arch: str, name: str) -> list[Row]:
        of_operation = problems.get(library.instance(name).operation, ())
        return list(
            rows_of(machines[arch], name, problems=of_operation, split_ks=options.split_ks or None, seed=options.seed)
        )

    with ThreadPoolExecutor(max_workers=options.jobs) as pool, console.progress("emulate", len(runs)) as step:
        started = {pool.submit(one, arch, name): (arch, name) for arch, name in runs}
        for done in as_completed(started):
            found[started[done]] = done.result()
            step(" ".join(started[done]))
    return [row for run in runs for row in found[run]]


def _require(options: SmokeOptions) -> None:
    if options.platform != "amd":
        raise click.UsageError("--emulate runs the machine code of AMD GPUs: add --platform amd")
    if options.library is not None:
        raise click.UsageError("--emulate compiles the instances of a tree; it does not take --library")
    if options.cluster is not None:
        raise click.UsageError("--emulate uses the cores of this machine (--jobs); it does not take --cluster")
    unknown = [arch for arch in options.archs if arch not in ARCHS]
    if unknown:
        message = f"the emulator does not know {unknown[0]}; it knows {', '.join(ARCHS)}"
        raise CkgenError([Diagnostic(None, "emulate", message, "choose another --arch")])
    if importlib.util.find_spec("tinygrad") is None:
        message = "the package tinygrad, which has the decoders of AMD's instructions, is not here"
        raise CkgenError([Diagnostic(None, "emulate", message, "pip install 'ckgen[emulator]'")])
    for arch in options.archs or ARCHS:
        find_toolchain().device_compiler(arch)  # report a missing tool before minutes of building


def _runs(place: Workplace, library: Library, options: SmokeOptions) -> list[tuple[str, str]]:
    """The instances to run on each architecture."""
    manifest = load_manifest(place.tree)
    archs_of = {record.name: record.archs for record in manifest.instances} if manifest else {}
    check_declared(options.archs, list(archs_of.values()))
    chosen = filtered(library.instances, divided(options.filters)[0], sets=sets_of(manifest))
    runs = [
        (arch, instance.name)
        for arch in options.archs or ARCHS
        for instance in chosen
        if arch in archs_of.get(instance.name, ())
    ]
    if not runs:
        message = "none of these instances is for an architecture that the emulator knows"
        raise CkgenError([Diagnostic(None, "empty-selection", message, "choose another --arch, --set or FILTER")])
    return runs


def _problems(options: SmokeOptions) -> dict[str, Sequence[ConvProblem]]:
    """The problems of the command line by operation, scaled down; none: each instance has its own small problems."""
    context = click.get_current_context()
    texts = divided(options.filters)[1]
    if not texts and not asked_for(context, ("problems",)):
        return {}
    most = options.max_macs if asked_for(context, ("max_macs",)) else _MAX_MACS
    found: dict[str, list[ConvProblem]] = {}
    for problem in problems_of(texts, options.problems):
        for operation in problem.operations:
            found.setdefault(operation, []).append(problem.fitted(most).problem)
    return dict(found)

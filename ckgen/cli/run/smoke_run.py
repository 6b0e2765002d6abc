"""Implementation of `ckgen smoke`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import click

from ckgen.cli.common import console, signals
from ckgen.cli.common.cluster_option import open_pool
from ckgen.cli.common.inline import divided, problems_of
from ckgen.cli.common.options import asked_for
from ckgen.cli.common.selection import Selection
from ckgen.cli.common.tree_instances import check_filters, sets_of
from ckgen.cli.common.workshop import build_library, refuse_archs, refuse_platform, workplace
from ckgen.cli.run.smoke_options import SmokeOptions
from ckgen.errors import CkgenError, Diagnostic
from ckgen.generate.manifest import load_manifest
from ckgen.instance.filters import filtered
from ckgen.instance.instance import Instance
from ckgen.library.digest import file_digest
from ckgen.library.library import Library
from ckgen.paths import prebuilt_library
from ckgen.problems.sets import NamedProblem
from ckgen.verify import plan as smoke_plan
from ckgen.verify.checking import Checking, spread_plan
from ckgen.verify.smoke import Row, run_plan

QUICK_PROBLEMS = ("tiny",)  # for the library that came with ckgen: half a minute
HEADERS = ("instance", "platform", "problem", "split_k", "max error", "tolerance", "verdict")


def smoke(options: SmokeOptions) -> int:
    """Build or load, plan, run, print. Returns 1 if any row failed."""
    if options.emulate:
        from ckgen.cli.run.smoke_emulated import emulate

        return show(options, emulate(options))
    filters, texts = divided(options.filters)
    brief = _prebuilt(options) is not None and not _asked("problems")
    every = problems_of(texts, QUICK_PROBLEMS if brief else options.problems)  # first: a wrong one costs no build
    library, sets = _library(options, filters)
    chosen = filtered(library.instances, filters, sets=sets)
    problems, names = _matched(options, chosen, every)
    if texts and not filters:
        names = _takers(library, problems, names)
    plan = smoke_plan.make_plan(
        library,
        problems,
        names=names,
        split_ks=options.split_ks or smoke_plan.SPLIT_KS,
        everything=options.all_pairs,
        cover_problems=not filters,
    )
    found: dict[int, Row] = {}
    here = options.cluster is None  # else the pool ends what it started elsewhere, which takes time
    ending = signals.ending_in_libraries() if here else nullcontext()
    with ending, console.progress("smoke", len(plan.cases) + len(plan.gaps)) as step:
        for at, row in _rows(options, library, plan):
            found[at] = row
            step(row.problem)
    return show(options, [found[at] for at in sorted(found)])


def _rows(options: SmokeOptions, library: Library, plan: smoke_plan.Plan) -> Iterator[tuple[int, Row]]:
    """The rows with their places in the plan, as they finish. Without a cluster, this process runs them itself."""
    if options.cluster is None:
        yield from enumerate(run_plan(library, plan, seed=options.seed, allow_uncovered=options.allow_uncovered))
        return
    path = Path(library.path).absolute()
    work = Checking(path, file_digest(path), library.platform, options.seed)
    with open_pool(options.cluster, work, library.platform) as pool:
        yield from spread_plan(pool, plan, library.platform, allow_uncovered=options.allow_uncovered)


def show(options: SmokeOptions, rows: Sequence[Row]) -> int:
    """Print the rows and their summary. Returns 1 if any row failed."""
    uncovered = [row for row in rows if row.uncovered]
    failed = [row for row in rows if not row.ok and not row.uncovered]
    if options.as_json:
        console.say_json([asdict(row) for row in rows])
    else:
        shown = nearest_misses(rows) if options.brief else rows
        console.show_table(HEADERS, [_cells(row) for row in shown], right=HEADERS[3:6])
        used = {row.instance for row in rows if not row.uncovered}
        problems = {row.problem for row in rows if row.problem != "-"}
        console.say(_summary(len(used), len(problems), len(rows), len(failed), len(uncovered)))
    return 1 if failed else 0


def nearest_misses(rows: Sequence[Row]) -> list[Row]:
    """Select every failed row and, per instance and platform, the row that is closest to its tolerance; sorted by
    name."""

    def strain(row: Row) -> float:
        return row.max_error / row.tolerance if row.max_error is not None and row.tolerance else 0.0

    worst: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.instance, row.platform
        if row.ok and strain(row) >= strain(worst.setdefault(key, row)):
            worst[key] = row
    failed = [row for row in rows if not row.ok and not row.uncovered]
    return sorted([*worst.values(), *failed], key=lambda row: row.instance)


def _library(options: SmokeOptions, filters: Sequence[str]) -> tuple[Library, dict[str, list[str]]]:
    """The library to check, and the sets of its instances if its tree is known."""
    if options.library is not None:
        refuse_archs(options.library, options.archs)
        library = Library(options.library)
        refuse_platform(library, options.platform)
        return library, {}
    selection = Selection(options.spec, options.set_name, (), options.out)
    if (prebuilt := _prebuilt(options)) is not None:
        library = Library(prebuilt)
        console.note(f"no project here: the {len(library.names)} instances of the library that came with ckgen")
        return library, {}
    chosen = _asked("spec", "set_name")
    place = workplace(selection, chosen=chosen, platform=options.platform, archs=options.archs)
    check_filters(place.tree, filters)
    path = build_library(place, options.platform, jobs=options.jobs, archs=options.archs, options=options.options)
    return Library(path), sets_of(load_manifest(place.tree))


def _asked(*names: str) -> bool:
    return asked_for(click.get_current_context(), names)


def _takers(library: Library, problems: Sequence[NamedProblem], names: Sequence[str]) -> list[str]:
    """The instances that take one of the problems. A problem that is typed without a FILTER asks only for these. Prints
    a note with the number of the others. Raises CkgenError if there are none."""
    takers = {name for problem in problems for name in library.supporting(problem.problem, names)}
    if not takers:
        reason = library.unsupported_reason(names[0], problems[0].problem)
        message = f"none of {len(names)} instances takes this problem; {names[0]}: {reason}"
        raise CkgenError([Diagnostic(None, "unsupported-problem", message, "choose another --set")])
    if len(takers) < len(names):
        console.note(f"{len(names) - len(takers)} instances left out: they do not take this problem")
    return [name for name in names if name in takers]


def _prebuilt(options: SmokeOptions) -> Path | None:
    """The library that came with ckgen, if it is the only one: there is neither a spec nor a tree to build one from."""
    asked = options.library is not None or _asked("spec", "set_name")
    for_host = options.platform == "host" and not options.archs and not options.options
    here = any(path.exists() for path in (options.spec, options.out))
    return prebuilt_library() if for_host and not asked and not here else None


def _matched(
    options: SmokeOptions, chosen: Sequence[Instance], every: Sequence[NamedProblem]
) -> tuple[list[NamedProblem], list[str]]:
    """Select the problems and the instances whose operation and dimensionality occur in both; problems are scaled down.

    Prints a note with the number of those left out. Raises CkgenError if none is left.
    """
    kinds = {(instance.operation, instance.ndim) for instance in chosen} & {
        (operation, problem.problem.ndim) for problem in every for operation in problem.operations
    }
    ndims = {ndim for _, ndim in kinds}
    problems = [
        problem.fitted(options.max_macs)
        for problem in every
        if any((operation, problem.problem.ndim) in kinds for operation in problem.operations)
    ]
    names = [instance.name for instance in chosen if (instance.operation, instance.ndim) in kinds]
    if not names:
        message = "no instance has the operation and dimensionality of any problem"
        raise CkgenError([Diagnostic(None, "empty-selection", message, "choose other --problems or FILTERs")])
    common = ", ".join(f"{ndim}D" for ndim in sorted(ndims))
    for what, left_out in (("problems", len(every) - len(problems)), ("instances", len(chosen) - len(names))):
        if left_out:
            console.note(f"{left_out} {what} left out: only {common} is on both sides")
    return problems, names


def _cells(row: Row) -> tuple[str, ...]:
    split_k = "-" if row.split_k is None else str(row.split_k)
    if row.split_k == -1 and row.used_split_k is not None:
        split_k = f"-1 ({row.used_split_k})"
    numbers = ("-" if value is None else f"{value:.2e}" for value in (row.max_error, row.tolerance))
    return (row.instance, row.platform, row.problem, split_k, *numbers, row.verdict)


def _summary(instances: int, problems: int, rows: int, failed: int, uncovered: int) -> str:
    what = f"{instances} instances, {problems} problems, {rows - uncovered} runs"
    if uncovered:
        what += f", {uncovered} not covered"
    return f"{what}: {failed} FAILED" if failed else f"{what}: all ok"

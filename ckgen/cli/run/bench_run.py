"""Implementation of `ckgen bench`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import click

from ckgen.bench.claim import claimed
from ckgen.bench.job import Job, Settings
from ckgen.bench.measuring import Measuring
from ckgen.bench.origin import make_origin, spec_digest
from ckgen.bench.plan import SPLIT_KS, make_jobs
from ckgen.bench.runner import BenchRun, Limits, failures
from ckgen.bench.store import ResultRow, Store
from ckgen.cli.common import console
from ckgen.cli.common.cluster_option import open_pool
from ckgen.cli.common.inline import divided, problems_of
from ckgen.cli.common.options import asked_for
from ckgen.cli.common.selection import Selection
from ckgen.cli.common.shape_table import show_shapes
from ckgen.cli.common.tree_instances import check_filters, sets_of
from ckgen.cli.common.workshop import build_library, refuse_archs, refuse_platform, workplace
from ckgen.cli.run.bench_options import BenchOptions
from ckgen.errors import CkgenError, Diagnostic
from ckgen.generate.manifest import Manifest, load_manifest
from ckgen.instance.filters import filtered
from ckgen.library.digest import file_digest
from ckgen.library.library import Library
from ckgen.problems.choice import chosen, sample
from ckgen.problems.sets import NamedProblem
from ckgen.report.summary import Summary, summarise


def bench(options: BenchOptions) -> int:
    """Build or load, plan, measure, print. Returns 1 if an instance is wrong, crashes or hangs."""
    asked = _asked(options)  # before a build, so that a wrong word costs no build
    least, most = options.samples
    if least > most:
        raise click.UsageError(f"--samples {least} {most}: the first number is the least, the second the most")
    path, manifest = _library(options, asked.filters)
    library = Library(path)
    if options.library is not None:
        refuse_platform(library, options.platform)
    settings = Settings(min_samples=least, max_samples=most, sample_ms=options.sample_ms, cache=options.cache)
    options.store.parent.mkdir(parents=True, exist_ok=True)
    work = Measuring(path.absolute(), file_digest(path), settings, options.job_seconds)
    with (
        claimed(options.store),
        Store(options.store) as store,
        open_pool(options.cluster, work, library.platform) as pool,
    ):
        run = BenchRun(pool, store, Limits(options.job_seconds))
        machine, references = run.machine()
        jobs = _jobs(asked, library, manifest, () if options.no_reference else references)
        origin = make_origin(
            path,
            settings,
            machine,
            library_platform=library.platform,
            spec_digest=spec_digest(manifest, library.names),
            commit=options.commit,
        )
        rows: list[ResultRow] = []
        with console.progress("bench", len(jobs)) as step:
            for row in run.measure(jobs, origin, again=options.again):
                rows.append(row)
                step(row.problem_name)
        rows = [*run.stored, *rows]
        ceilings = [store.runs()[number].ceilings for number in {row.run_id for row in rows}]
        _show(options, summarise(origin, ceilings, rows), run)
    return 1 if failures(rows) else 0


def _library(options: BenchOptions, filters: Sequence[str]) -> tuple[Path, Manifest | None]:
    """The library to measure, and its tree's manifest if the tree exists."""
    if options.library is not None:
        refuse_archs(options.library, options.archs)
        tree = options.tree or options.library.absolute().parent.parent / "tree"
        if options.tree is not None and not tree.is_dir():
            raise click.BadParameter(f"there is no folder {tree}", param_hint="--tree")
        return options.library, load_manifest(tree)
    if options.tree is not None:
        raise click.UsageError("--tree is the tree of --library: name one, or leave --tree out")
    selection = Selection(options.spec, options.set_name, (), options.out)
    asked = asked_for(click.get_current_context(), ("spec", "set_name"))
    place = workplace(selection, chosen=asked, platform=options.platform, archs=options.archs)
    check_filters(place.tree, filters)
    path = build_library(place, options.platform, jobs=options.jobs, archs=options.archs, options=options.options)
    return path, load_manifest(place.tree)


class _Asked(NamedTuple):
    """The words of the command line that need no library."""

    filters: tuple[str, ...]
    problems: list[NamedProblem]
    split_ks: tuple[int, ...]


def _asked(options: BenchOptions) -> _Asked:
    filters, texts = divided(options.filters)
    problems = [_fitted(options, problem) for problem in _problems(options, texts)]
    return _Asked(filters, problems, tuple(chain(*options.split_ks)) or SPLIT_KS)


def _jobs(asked: _Asked, library: Library, manifest: Manifest | None, references: Sequence[str]) -> list[Job]:
    names = [one.name for one in filtered(library.instances, asked.filters, sets=sets_of(manifest))]
    jobs = make_jobs(library, asked.problems, names=names, split_ks=asked.split_ks, references=references)
    if not jobs:
        message = f"none of {len(names)} instances takes any of {len(asked.problems)} problems"
        raise CkgenError([Diagnostic(None, "empty-selection", message, "choose other --problems or FILTERs")])
    return jobs


def _problems(options: BenchOptions, texts: Sequence[str]) -> tuple[NamedProblem, ...]:
    kept = chosen(problems_of(texts, options.problems), options.terms)
    return kept if options.sample is None else sample(kept, *options.sample)


def _fitted(options: BenchOptions, problem: NamedProblem) -> NamedProblem:
    resized = problem if options.batch is None else problem.with_batch(options.batch)
    return resized if options.max_macs is None else resized.fitted(options.max_macs)


def _show(options: BenchOptions, summary: Summary, run: BenchRun) -> None:
    if options.as_json:
        console.say_json([asdict(row) for row in summary.rows])
    else:
        show_shapes(summary)
    for row in failures(summary.rows):
        factor = f" split_k {row.split_k}" if row.split_k is not None else ""
        console.warn(f"{row.verdict}: {row.name} on {row.problem_name}{factor}: {row.message}")
    if run.left:
        console.warn(f"{len(run.left)} rows were left out after crashes; run the same command to continue")
    measured = len(summary.rows) - len(run.stored)
    console.note(f"{measured} rows measured, {len(run.stored)} were already in {options.store}")

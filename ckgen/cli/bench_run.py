"""What `ckgen bench` and `ckgen report` do between their arguments and their exit codes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from ckgen.bench import Again, BenchRun, Limits, failures
from ckgen.bench_job import CacheMode, Job, Settings
from ckgen.bench_origin import make_origin, spec_digest
from ckgen.bench_plan import SPLIT_KS, make_jobs
from ckgen.build import Platform
from ckgen.claim import claimed
from ckgen.cli import console
from ckgen.cli.authoring import write_new
from ckgen.cli.selection import Selection
from ckgen.cli.workshop import build_library, refuse_archs, workplace
from ckgen.errors import CkgenError, Diagnostic
from ckgen.filters import filtered
from ckgen.library import Library
from ckgen.manifest import Manifest, load_manifest
from ckgen.problem_sets import NamedProblem, load_problems
from ckgen.results import Origin, ResultRow, Store
from ckgen.summary import Summary, load_summary, summarise

FUSED = "over plain and D"  # see ckgen.summary.Shape.over_plain
HEADERS = ("shape", "type", "best instance", "split_k", "ms", "floor", "reference", "speed-up")
SUFFIXES = (".html", ".csv", ".json")


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The command line of `ckgen bench`; `chosen` is true when it names a set or spec to build."""

    filters: tuple[str, ...]
    spec: Path
    set_name: str
    out: Path
    platform: Platform
    archs: tuple[str, ...]
    jobs: int
    options: tuple[str, ...]
    library: Path | None
    tree: Path | None
    problems: tuple[str, ...]
    batch: int | None
    max_macs: int | None
    split_ks: tuple[str, ...]
    no_reference: bool
    store: Path
    again: Again
    cache: CacheMode
    warm_up: int
    samples: tuple[int, int]
    sample_ms: float
    job_seconds: float
    total_seconds: float | None
    seed: int
    commit: str | None
    compiler: str | None
    as_json: bool
    chosen: bool

    @property
    def settings(self) -> Settings:
        """How samples are taken."""
        return Settings(self.warm_up, *self.samples, self.sample_ms, self.cache, self.seed)

    @property
    def limits(self) -> Limits:
        """When to stop."""
        return Limits(self.job_seconds, math.inf if self.total_seconds is None else self.total_seconds)


def bench(options: BenchOptions) -> int:
    """Build or load, plan, measure, print; 1 when an instance is wrong, crashes or hangs."""
    path, manifest = _library(options)
    library = Library(path)
    if options.library is not None and _platform_given() and library.platform != options.platform:
        message = f"{path} is for platform {library.platform}, not {options.platform}"
        raise CkgenError([Diagnostic(None, "platform", message, "leave --platform out")])
    options.store.parent.mkdir(parents=True, exist_ok=True)
    with (
        claimed(options.store),
        Store(options.store) as store,
        BenchRun(path, options.settings, store, options.limits) as run,
    ):
        machine, references = run.machine()
        jobs = _jobs(options, library, manifest, () if options.no_reference else references)
        origin = make_origin(
            path,
            options.settings,
            machine,
            library_platform=library.platform,
            spec_digest=spec_digest(manifest, library.names),
            commit=options.commit,
            compiler=options.compiler,
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


def report(store_path: Path, outs: Sequence[Path], run: int | None, code: Path | None, as_json: bool) -> int:
    """Write each file of ``outs`` in the form its suffix says; ``code`` is a table of machine code for the page."""
    from ckgen.isa_table import read_table
    from ckgen.report import render_report
    from ckgen.results_export import export

    for out in outs:
        if out.suffix not in SUFFIXES:
            raise click.BadParameter(f"{out} does not end in {', '.join(SUFFIXES)}", param_hint="--out")
    table = None if code is None else read_table(code)
    with Store(store_path, create=False) as store:
        summary = load_summary(store, run)
        for out in outs:
            html = out.suffix == ".html"
            out.parent.mkdir(parents=True, exist_ok=True)
            text = render_report(summary, table) if html else export(store, summary, out.suffix)
            write_new(out, text, replace=True)
            console.note(f"wrote {out}")
    if as_json:
        console.say_json([asdict(total) for total in summary.totals])
    else:
        _show_shapes(summary)
    return 0


def list_stored_runs(store_path: Path, as_json: bool) -> int:
    """Print the runs of a store, oldest first."""
    with Store(store_path, create=False) as store:
        runs = store.runs()
        counts = {number: len(store.rows([number])) for number in runs}
    if as_json:
        console.say_json([{"run": n, "rows": counts[n], **asdict(origin)} for n, origin in runs.items()])
        return 0
    headers = ("run", "started", "device", "platform", "commit", "library", "rows")
    rows = [(number, *_run_cells(origin), counts[number]) for number, origin in runs.items()]
    console.show_table(headers, rows, right=("run", "rows"))
    return 0


def _run_cells(origin: Origin) -> tuple[str, ...]:
    return origin.started, origin.device, origin.platform, origin.commit_id[:12], origin.library_digest[:12]


def _platform_given() -> bool:
    """Whether the command line names a platform; its default says nothing about a given library."""
    context = click.get_current_context()
    return context.get_parameter_source("platform") is click.core.ParameterSource.COMMANDLINE


def _library(options: BenchOptions) -> tuple[Path, Manifest | None]:
    """The library to measure and its tree's manifest, where there is a tree."""
    if options.library is not None:
        refuse_archs(options.library, options.archs)
        tree = options.tree or options.library.absolute().parent.parent / "tree"
        return options.library, load_manifest(tree)
    selection = Selection(options.spec, options.set_name, (), options.out)
    place = workplace(selection, chosen=options.chosen, platform=options.platform, archs=options.archs)
    path = build_library(place, options.platform, jobs=options.jobs, archs=options.archs, options=options.options)
    return path, load_manifest(place.tree)


def _jobs(options: BenchOptions, library: Library, manifest: Manifest | None, references: Sequence[str]) -> list[Job]:
    sets: dict[str, list[str]] = {}
    for record in manifest.instances if manifest else ():
        for name in record.sets:
            sets.setdefault(name, []).append(record.name)
    chosen = filtered(library.instances, options.filters, sets=sets)
    names = [instance.name for instance in chosen]
    problems = [_fitted(options, problem) for name in options.problems for problem in load_problems(name)]
    jobs = make_jobs(library, problems, names=names, split_ks=_split_ks(options.split_ks), references=references)
    if not jobs:
        message = f"none of {len(chosen)} instances takes any of {len(problems)} problems"
        raise CkgenError([Diagnostic(None, "empty-selection", message, "choose other --problems or FILTERs")])
    return jobs


def _fitted(options: BenchOptions, problem: NamedProblem) -> NamedProblem:
    resized = problem if options.batch is None else problem.with_batch(options.batch)
    return resized if options.max_macs is None else resized.fitted(options.max_macs)


def _split_ks(texts: Sequence[str]) -> tuple[int, ...]:
    words = [word for text in texts for word in text.split(",")]
    try:
        numbers = tuple(int(word) for word in words)
    except ValueError:
        raise click.BadParameter(f"{','.join(words)!r} is not N[,N...]", param_hint="--split-k") from None
    if any(number < -1 or number == 0 for number in numbers):
        raise click.BadParameter("a factor is -1 (the library chooses) or at least 1", param_hint="--split-k")
    return numbers or SPLIT_KS


def _show(options: BenchOptions, summary: Summary, run: BenchRun) -> None:
    if options.as_json:
        console.say_json([asdict(row) for row in summary.rows])
    else:
        _show_shapes(summary)
    for row in failures(summary.rows):
        factor = f" split_k {row.split_k}" if row.split_k is not None else ""
        console.note(f"{row.verdict}: {row.name} on {row.problem_name}{factor}: {row.message}")
    if run.left:
        console.note(f"{len(run.left)} rows were left out (time or crashes); the same command goes on")
    measured = len(summary.rows) - len(run.stored)
    console.note(f"{measured} rows measured, {len(run.stored)} were in {options.store} already")


def _show_shapes(summary: Summary) -> None:
    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.4f}"

    table, fused = [], any(shape.over_plain is not None for shape in summary.shapes)
    for shape in summary.shapes:
        best, reference = shape.best, shape.reference
        speed_up = "-" if shape.speed_up is None else f"{shape.speed_up:.2f}x"
        named = (best.name, best.split_k, number(best.ms)) if best else ("-", "-", "-")
        times = number(shape.floor_ms), number(reference.ms if reference else None)
        beside = ("-" if shape.over_plain is None else f"{shape.over_plain:.2f}x",) if fused else ()
        table.append((shape.problem_name, shape.subject, *named, *times, speed_up, *beside))
    headers = (*HEADERS, FUSED) if fused else HEADERS
    console.show_table(headers, table, right=headers[3:])

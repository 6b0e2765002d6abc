"""Implementation of `ckgen build`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from ckgen.build import cmake
from ckgen.build.compiling import LAUNCHER, Compiling, compilers_of, launched_by, serving
from ckgen.build.jobs import WANTED, CompileJob, peak_mebibytes, read_jobs, wall_seconds
from ckgen.build.toolchain import Command
from ckgen.cli.common import console
from ckgen.cli.common.build_options import SELECTION
from ckgen.cli.common.cluster_option import open_pool
from ckgen.cli.common.options import asked_for
from ckgen.cli.common.selection import Selection
from ckgen.cli.common.workshop import Workplace, build_library, cmake_options, logged, workplace
from ckgen.cli.run.build_options import BuildOptions
from ckgen.cluster.shards import balanced

_SHOWN = 10  # compiler runs in the table of --plan


def build(options: BuildOptions) -> int:
    """Generate if asked, then compile and print the library's path, or plan, or compile a shard."""
    if options.shards is not None and not options.plan:
        raise click.UsageError("--shards is for --plan; --shard I/N compiles one")
    if (options.plan or options.shard) and options.cluster is not None:
        raise click.UsageError("--cluster is for compiling everything: without --plan and --shard")
    if options.as_json and not options.plan:
        raise click.UsageError("--json is for --plan")
    selection = Selection(options.spec, options.set_name, options.filters, options.out)
    chosen = asked_for(click.get_current_context(), SELECTION)
    place = workplace(selection, chosen=chosen, platform=options.platform, archs=options.archs)
    launcher = _launcher(options.launcher)
    if options.plan:
        _, jobs = _configured(options, place, launcher)
        return _show_plan(options, place, jobs)
    if options.shard is not None:
        return _build_shard(options, place, launcher)
    path = _build_on_cluster(options, place, launcher) if options.cluster else _build(options, place, launcher)
    console.say(str(path))
    return 0


def _launcher(program: str | None) -> tuple[str, ...]:
    """The words of a compiler launcher. UsageError if it is not installed: every compiler would fail."""
    if program is None:
        return ()
    if shutil.which(program) is None:
        raise click.BadParameter(f"{program} is not on PATH", param_hint="--launcher")
    return (program,)


def _options(options: BuildOptions, launcher: Sequence[str]) -> tuple[str, ...]:
    return (*options.options, *(launched_by(launcher) if launcher else ()))


def _build(options: BuildOptions, place: Workplace, launcher: Sequence[str]) -> Path:
    named = _options(options, launcher)
    return build_library(place, options.platform, jobs=options.jobs, archs=options.archs, options=named)


def _configured(options: BuildOptions, place: Workplace, launcher: Sequence[str]) -> tuple[Command, list[CompileJob]]:
    """Configure the build. Returns the words that start CMake, and the compiler runs."""
    named = cmake_options(place, options.platform, options.archs, (*_options(options, launcher), WANTED))
    with logged(place, f"configuring {place.tree} for {options.platform}") as on_line:
        words = cmake.configure(
            place.tree, options.platform, place.build_dir, archs=options.archs, options=named, on_line=on_line
        )
    return words, read_jobs(place.tree, place.build_dir, options.platform)


def _show_plan(options: BuildOptions, place: Workplace, jobs: Sequence[CompileJob]) -> int:
    costliest = sorted(jobs, key=lambda job: -job.seconds)
    if options.as_json:
        console.say_json([asdict(job) for job in costliest])
    else:
        cells = [(_name(job), len(job.sources), f"{job.seconds:.1f}", f"{job.mebibytes:.0f}") for job in costliest]
        console.show_table(("object", "sources", "CPU s", "MiB"), cells[:_SHOWN], right=("sources", "CPU s", "MiB"))
        if len(jobs) > _SHOWN:
            console.say(f"and {len(jobs) - _SHOWN} more (--json lists all)")
        total, wall = sum(job.seconds for job in jobs), wall_seconds(jobs, options.jobs)
        memory = peak_mebibytes(jobs, options.jobs)
        console.say(
            f"{len(jobs)} compiler runs, {total:.0f} CPU s; with {options.jobs} at a time {wall:.0f} s and at most "
            f"{memory:.0f} MiB"
        )
    if options.shards is not None:
        _write_shards(place, jobs, options.shards)
    return 0


def _write_shards(place: Workplace, jobs: Sequence[CompileJob], count: int) -> None:
    """Write a list of sources per shard."""
    for number, own in enumerate(_shards(jobs, count), 1):
        path = place.build_dir / "shards" / f"{number}-of-{count}.txt"
        path.parent.mkdir(exist_ok=True)
        sources = sorted(source for job in own for source in job.sources)
        path.write_text("".join(f"{source}\n" for source in sources), encoding="utf-8")
        console.note(f"{path}: {len(sources)} sources, {sum(job.seconds for job in own):.0f} CPU s")


def _name(job: CompileJob) -> str:
    """The object of a run without the folder that all have."""
    return job.output.removeprefix("CMakeFiles/")


def _shards(jobs: Sequence[CompileJob], count: int) -> list[list[CompileJob]]:
    return balanced(jobs, count, cost=lambda job: job.seconds)


def _build_shard(options: BuildOptions, place: Workplace, launcher: Sequence[str]) -> int:
    """Compile the objects of one shard. Objects of all shards in one folder, or in one compiler cache, are a build."""
    shard = options.shard
    assert shard is not None, "it was asked for"
    words, jobs = _configured(options, place, launcher)
    own = _shards(jobs, shard.count)[shard.number - 1]
    with logged(place, f"compiling shard {shard.number} of {shard.count}") as on_line:
        cmake.compile_objects(words, place.build_dir, [job.output for job in own], options.jobs, on_line)
    for job in own:
        console.say(str(place.build_dir / job.output))
    console.note(f"{len(own)} of {len(jobs)} objects; `ckgen build` links them once all are there")
    return 0


def _build_on_cluster(options: BuildOptions, place: Workplace, launcher: Sequence[str]) -> Path:
    """Compile on the workers of a cluster. A plain ninja decides what is to do; its compilers run elsewhere."""
    words = (*LAUNCHER, *launcher)
    _configured(options, place, words)
    build_dir = place.build_dir.absolute()
    work = Compiling(build_dir, compilers_of(build_dir))
    with open_pool(options.cluster, work, "host") as pool, serving(pool.ask) as environment:
        return build_library(
            place,
            options.platform,
            jobs=pool.slots() + 1,
            archs=options.archs,
            options=(*_options(options, words), WANTED),
            environment=environment,
        )

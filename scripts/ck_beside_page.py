"""Text of docs/ck_beside.md: CK's kernels and ckgen's, side by side in simulated cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, log, prod
from typing import Any

from ck_beside_rows import POINTWISE, Found, Row
from ck_beside_text import CLASSES, CYCLES, HEAD, LOSSES, WAIT, WORK

REVISION = "8e22e1ae31bbf7086f69d8724e027676791d351a"
_UNIT = 128 * 128 * 32  # multiply-adds to which cycles are scaled
_SOURCES = ("L2", "memory")
_SIMDS = 4
_WAITS = 4
_CLOSE = 1.05

Ours = Mapping[str, Mapping[str, Any]]  # records of `ckgen isa` by architecture and name
Rows = Mapping[str, Row]


def page(rows: Sequence[Row], known: Sequence[Found], ours: Ours, more: Sequence[str], compiler: str) -> str:
    """The page: `rows` are CK's rows, `known` what was found of them, `more` names of ckgen's without one of CK."""
    by_name = {row.name: row for row in rows}
    flags = "-lsr-drop-solution=1 -enable-post-misched=0 -amdgpu-early-inline-all=true -amdgpu-function-calls=false"
    short = REVISION[:9]
    parts = [HEAD.format(revision=REVISION, short=short, compiler=compiler, flags=flags)]
    parts.append(_summary(known, by_name, ours))
    parts.append(CYCLES.format(unit=f"{_UNIT:,}"))
    for arch, records in ours.items():
        timed = [each for each in known if each.arch == arch and not each.failed]
        if timed:
            parts.append(f"### {arch}\n")
            parts.append(_table(_cycles(timed, by_name, records, more)))
            parts.append(_means(known, by_name, ours, arch))
    parts.append(CLASSES)
    parts.append(_table(_classes(known, by_name, ours, more)))
    parts.append(WORK)
    parts.append(_table(_work(known, by_name, ours)))
    parts.append(WAIT)
    parts.append(_table(_waits(known, by_name, ours)))
    parts.append(LOSSES)
    parts.append(_losses(known, by_name, ours))
    parts.append("## Problems compared with float64\n")
    parts.append("Error: the largest, in units of the tolerance of `ckgen smoke`.\n")
    parts.append(_table(_checks(known)))
    failed = [f"- {each.arch} {each.row}: {each.failed}" for each in known if each.failed]
    done = {(each.arch, each.row) for each in known}
    failed += [f"- {arch} {row.name}: not run" for arch in ours for row in rows if (arch, row.name) not in done]
    if failed:
        parts.append("Not timed:\n\n" + "\n".join(failed) + "\n")
    return "\n".join(parts)


Table = Iterator[tuple[str, ...]]


def _table(rows: Table) -> str:
    head, *rest = rows
    lines = [f"| {' | '.join(row)} |" for row in (head, tuple("---" for _ in head), *rest)]
    return "\n".join(lines) + "\n"


def _scaled(cycles: float, tile: Sequence[int]) -> float:
    return cycles * _UNIT / prod(tile)


def ck_cycles(found: Found, source: str, tile: Sequence[int]) -> float:
    """CK's scaled cycles; with turned workgroups, if the waves have different roles and that is faster."""
    both = [kind[source]["cycles_per_tile"] for kind in (found.sources, found.turned) if kind]
    return _scaled(min(both), tile)


def _tile_of(name: str) -> tuple[int, ...]:
    return next(tuple(map(int, word.split("x"))) for word in name.split("_") if word.count("x") == 2)


def our_cycles(record: Any, source: str) -> float:
    """The scaled cycles of a record of `ckgen isa --simulate`."""
    return _scaled(record["results"][source]["cycles_per_tile"], _tile_of(record["name"]))


def _cycles(timed: Sequence[Found], by_name: Rows, records: Mapping[str, Any], more: Sequence[str]) -> Table:
    yield "kernel", "bound", "CK, L2", "ckgen, L2", "ratio", "CK, memory", "ckgen, memory", "ratio", "best of ckgen, L2"
    for found in timed:
        row = by_name[found.row]
        cells = [found.row, f"{_scaled(found.bound, row.tile):.0f}"]
        for source in _SOURCES:
            theirs, own = ck_cycles(found, source, row.tile), our_cycles(records[row.ours], source)
            plain = _scaled(found.sources[source]["cycles_per_tile"], row.tile)
            bracket = f" ({plain:.0f})" if found.turned else ""
            other = "" if _tile_of(row.ours) == row.tile else f" ({'x'.join(map(str, _tile_of(row.ours)))})"
            cells += [f"{theirs:.0f}{bracket}", f"{own:.0f}{other}", f"{theirs / own:.2f}"]
        yield (*cells, _our_best(_class(row), by_name, records, more, "L2")[1])


def _class(row: Row) -> tuple[str, str]:
    return row.operation, row.special


def _our_best(
    wanted: tuple[str, str], by_name: Rows, records: Mapping[str, Any], more: Sequence[str], source: str
) -> tuple[float, str]:
    """The fewest cycles of ckgen's kernels of a class, and both numbers in words."""
    operation, special = wanted
    rivals = {other.ours for other in by_name.values() if _class(other) == wanted}
    rivals |= {name for name in more if special == "Default" and f"2d_{operation[13:]}_" in name}
    known = [records[name] for name in sorted(rivals & set(records))]
    best = min(known, key=lambda record: our_cycles(record, source))
    family, cycles = "wavelet " if "_wavelet_" in best["name"] else "", our_cycles(best, source)
    return cycles, f"{cycles:.0f}, {family}{'x'.join(map(str, _tile_of(best['name'])))}"


def _classes(known: Sequence[Found], by_name: Rows, ours: Ours, more: Sequence[str]) -> Table:
    """CK's best kernel of each class against ckgen's, and the geometric mean of the ratios."""
    sources = (cell for source in _SOURCES for cell in (f"CK, {source}", f"ckgen, {source}", "ratio"))
    yield "architecture", "operation", "filter", *sources
    ratios: dict[str, list[float]] = {source: [] for source in _SOURCES}
    for arch, records in ours.items():
        timed = [found for found in known if found.arch == arch and not found.failed]
        for wanted in dict.fromkeys(_class(by_name[found.row]) for found in timed):
            cells = []
            for source in _SOURCES:
                members = ((found, by_name[found.row]) for found in timed if _class(by_name[found.row]) == wanted)
                theirs, name = min((ck_cycles(found, source, row.tile), found.row) for found, row in members)
                own, words = _our_best(wanted, by_name, records, more, source)
                ratios[source].append(theirs / own)
                cells += [f"{theirs:.0f}, {name.split(' ', 2)[2]}", words, f"{theirs / own:.2f}"]
            operation, special = wanted
            yield arch, operation.removeprefix("grouped_conv_"), "1x1" if special == POINTWISE else "3x3", *cells
    means = (cell for source in _SOURCES for cell in ("", "", _mean(ratios[source])))
    yield "geometric mean", "", "", *means


def _ratios(known: Sequence[Found], by_name: Rows, ours: Ours, arch: str, source: str) -> list[float]:
    """CK's cycles over ckgen's, without the rows with CK's flags."""
    ratios = []
    for found in known:
        row = by_name[found.row]
        if _plain(found, row, arch):
            ratios.append(ck_cycles(found, source, row.tile) / our_cycles(ours[arch][row.ours], source))
    return ratios


def _mean(ratios: Sequence[float]) -> str:
    return f"{exp(sum(map(log, ratios)) / len(ratios)):.2f}"


def _means(known: Sequence[Found], by_name: Rows, ours: Ours, arch: str) -> str:
    each = {source: _ratios(known, by_name, ours, arch, source) for source in _SOURCES}
    words = ", ".join(f"{_mean(ratios)} ({source})" for source, ratios in each.items())
    return f"Geometric mean of {len(each['L2'])} ratios, of rows with the same flags and tile: {words}.\n"


def _plain(found: Found, row: Row, arch: str) -> bool:
    """True if a row counts for means: with the same flags and the same tile."""
    return found.arch == arch and not found.failed and not row.with_flags and row.tile == _tile_of(row.ours)


def _vector_ratio(found: Found, record: Any) -> float:
    """CK's vector instructions per matrix instruction over ckgen's."""
    theirs, own = (_mix(roles)("vector") for roles in (found.sources["L2"]["roles"], record["results"]["L2"]["roles"]))
    return theirs / own


def _is_loss(ratio: float) -> bool:
    """True if CK needs fewer cycles, by more than a rounding of the table."""
    return round(ratio, 2) < 1


def _summary(known: Sequence[Found], by_name: Rows, ours: Ours) -> str:
    """One line per architecture: the mean, and how often ckgen needs more cycles."""
    lines = []
    for arch in ours:
        each = {source: _ratios(known, by_name, ours, arch, source) for source in _SOURCES}
        if each["L2"]:
            words = " and ".join(f"{_mean(ratios)} (inputs from {source})" for source, ratios in each.items())
            more = ", ".join(
                f"{sum(_is_loss(ratio) for ratio in ratios)} ({source})" for source, ratios in each.items()
            )
            pairs = [(found, by_name[found.row]) for found in known]
            vector = [_vector_ratio(found, ours[arch][row.ours]) for found, row in pairs if _plain(found, row, arch)]
            lines.append(
                f"- {arch}: CK's kernels take {words} times the cycles of ckgen's with the same tile, geometric means"
                f" of {len(each['L2'])} kernels. ckgen needs more cycles in {more} of them. CK's"
                f" execute {min(vector):.1f} to {max(vector):.1f} times the vector instructions per matrix instruction."
            )
    return "In short, by this model:\n\n" + "\n".join(lines) + "\n"


def _mix(roles: Sequence[Any]) -> Callable[[str], float]:
    """Instructions of a kind per matrix instruction, over the waves of a workgroup."""
    matrix = sum(role["waves"] * role["kinds"].get("matrix", 0) for role in roles)
    return lambda kind: sum(role["waves"] * role["kinds"].get(kind, 0) for role in roles) / matrix


def _work(known: Sequence[Found], by_name: Rows, ours: Ours) -> Table:
    counted = ("vector", "scalar", "LDS", "loads", "waits, barriers")
    yield "kernel", "architecture", "of", "waves", *counted, "VGPRs, LDS bytes"
    for found in known:
        if found.failed:
            continue
        record = ours[found.arch][by_name[found.row].ours]
        own = record["results"]["L2"]
        kinds = (
            ("CK", found.workgroups, found.sources["L2"], found.resources),
            ("ckgen", own["workgroups"], own, record["resources"]),
        )
        for name, groups, source, resources in kinds:
            mix, waves = _mix(source["roles"]), sum(role["waves"] for role in source["roles"])
            shown = [f"{mix(kind):.2f}" for kind in ("vector", "scalar", "lds", "load")]
            barriers = f"{mix('wait'):.2f}, {mix('barrier'):.2f}"
            used = f"{resources['vgprs']}, {resources['lds_bytes']}"
            yield (found.row, found.arch, name, f"{groups * waves / _SIMDS:g}", *shown, barriers, used)


def _stalls(role: Any) -> str:
    shown = list(role["stalls"].items())[:_WAITS]
    return ", ".join(f"{reason} {cycles:.0f}" for reason, cycles in shown)


def _waits(known: Sequence[Found], by_name: Rows, ours: Ours) -> Table:
    yield "kernel", "architecture", "of", "waves", "step", "issues", "waits for"
    for found in known:
        if found.failed:
            continue
        own = ours[found.arch][by_name[found.row].ours]["results"]["L2"]
        for name, source in (("CK", (found.turned or found.sources)["L2"]), ("ckgen", own)):
            step = f"{source['cycles_per_step']:.0f}"
            for role in source["roles"]:
                waves = role["role"] if name == "CK" else f"{role['waves']} {role['role']}"
                yield found.row, found.arch, name, waves, step, f"{role['issuing']:.0f}", _stalls(role)


def _losses(known: Sequence[Found], by_name: Rows, ours: Ours) -> str:
    lines = []
    for found in known:
        row = by_name[found.row]
        for source in _SOURCES if not found.failed else ():
            record = ours[found.arch][row.ours]
            theirs, own = ck_cycles(found, source, row.tile), our_cycles(record, source)
            if theirs / own >= _CLOSE:
                continue
            result = record["results"][source]
            waits = "; ".join(f"{role['waves']} {role['role']}: {_stalls(role)}" for role in result["roles"])
            other = (found.turned or found.sources)[source]["roles"]
            ck = "; ".join(f"{role['role']}: {_stalls(role)}" for role in other)
            lines.append(
                f"- {found.arch}, {found.row}, inputs from {source}: {own:.0f} cycles, CK {theirs:.0f}. Per step of"
                f" {result['cycles_per_step']:.0f} cycles ckgen's waves wait ({waits}); CK's ({ck})."
            )
    return ("\n".join(lines) or "In none of the rows.") + "\n"


def _checks(known: Sequence[Found]) -> Table:
    yield "kernel", "architecture", "CK's name", "problem: error"
    for found in known:
        if found.checks:
            problems = ", ".join(f"{problem}: {error:.2f}" for problem, error in found.checks.items())
            yield found.row, found.arch, f"`{found.type}`", problems

"""The conclusion of measured rows: the sentences with which a report begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ckgen.report.compare import Comparison
from ckgen.report.summary import Summary, Total

LEAST_SPEED = 0.97  # below it, a problem counts as slower than in the other run
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the conclusion. ``style`` is `good` or `bad` if it says so, else empty."""

    text: str
    style: str = ""


def conclusion(summary: Summary, against: Comparison | None = None) -> list[Sentence]:
    """The sentences, the most important first."""
    found = [_verified(summary)]
    found += [_total(total, summary) for total in summary.totals]
    if against is not None:
        found += _compared(against)
    return found


def _verified(summary: Summary) -> Sentence:
    wrong = [row for row in summary.failures if row.kind == "instance"]
    if not wrong:
        return Sentence(f"None of {len(summary.rows)} measured results is wrong.", "good")
    verdicts = sorted({row.verdict for row in wrong})
    names = list(dict.fromkeys(row.problem_name for row in wrong))
    on = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return Sentence(
        f"{len(wrong)} of {len(summary.rows)} results do not count ({', '.join(verdicts)}): on {on}.", "bad"
    )


def _total(total: Total, summary: Summary) -> Sentence:
    start = f"{total.subject[:1].upper()}{total.subject[1:]}: "
    roofline = "" if total.mean_over_floor is None else f"{total.mean_over_floor:.2f} times the roofline's time"
    if total.mean_speed_up is None:
        measured = f"{total.shapes} problems, no reference was measured"
        return Sentence(f"{start}{', '.join(filter(None, (roofline, measured)))}.")
    slower = total.compared - total.not_slower
    parts = [f"{total.mean_speed_up:.2f} times as fast as {summary.reference_name} over {total.compared} problems"]
    parts += [roofline] if roofline else []
    least = f"{total.least_shape} at {total.least_speed_up:.2f}x" if total.least_speed_up is not None else ""
    parts.append(f"slower on {slower}, the worst is {least}" if slower else f"slower on none, the worst is {least}")
    return Sentence(f"{start}{'; '.join(parts)}.", "good" if total.mean_speed_up >= 1 else "bad")


def _compared(against: Comparison) -> Iterator[Sentence]:
    slow = against.below(LEAST_SPEED)
    if against.mean_speed is not None:
        text = f"{against.mean_speed:.3f} times as fast as the other run over {len(against.speeds)} problems"
        worst = ", ".join(_pair_text(pair.problem_name, pair.subject, pair.speed) for pair in slow[:_NAMED])
        text += f"; {len(slow)} slower than {LEAST_SPEED:g}x: {worst}" if slow else "; none slower"
        yield Sentence(text + ".", "bad" if slow else "good")
    old, new = against.old.origin, against.new.origin
    for what, one, two in (
        ("machine", old.device, new.device),
        ("driver", old.driver, new.driver),
        ("cache mode", old.settings.get("cache"), new.settings.get("cache")),
    ):
        if one != two:
            yield Sentence(f"The runs are not comparable: the {what} was {one}, now {two}.", "bad")


def _pair_text(name: str, subject: str, speed: float | None) -> str:
    return f"{name} ({subject}) " + ("lost its result" if speed is None else f"{speed:.2f}x")

"""Tests that ckgen answers any spec after a limited number of steps, with a limited number of errors of limited length.

Counting steps makes the tests independent of the machine: a step is a call or a return of a Python or C function. Work
inside one C call, such as a regular expression, has its own tests.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from ckgen.errors import MAX_SHOWN, MAX_TEXT, CkgenError, Diagnostic, did_you_mean, format_diagnostics
from ckgen.spec.expand import expand_document
from ckgen.text.plain_scalars import read_plain
from ckgen.text.source import MAX_BYTES, loads
from tests.support.adversarial import MAKERS

SIZE = 48_000
STEPS = 110  # per byte; the worst kind takes 101
# These have as many combinations as are allowed, however short the file is.
COMBINATIONS = ("allowed products", "skipped products", "allowed excludes", "allowed filters", "allowed sets")
ALLOWED_STEPS = 20_000_000


class TooManySteps(Exception):
    """Raised inside the call that takes too many steps."""


def count_steps(call: Callable[[], object], limit: int) -> int:
    """The number of steps of a call. Raises TooManySteps after `limit`, so that a failing test ends."""
    steps = 0

    def step(frame: FrameType, event: str, argument: object) -> None:
        nonlocal steps
        steps += 1
        if steps > limit:
            raise TooManySteps(f"more than {limit}")

    before = sys.getprofile()
    sys.setprofile(step)
    try:
        call()
    finally:
        sys.setprofile(before)
    return steps


def answer(text: str) -> str:
    """The output of the command line for a spec; empty if the spec is valid."""
    try:
        expand_document(loads(text))
    except CkgenError as error:
        assert error.exit_code == 2
        assert len(error.diagnostics) <= MAX_SHOWN + 1
        return format_diagnostics(error.diagnostics, {"instances.yaml": text})
    return ""


@pytest.mark.parametrize("kind", MAKERS)
def test_the_steps_are_bounded_by_the_size(kind: str) -> None:
    text = MAKERS[kind](SIZE)
    limit = ALLOWED_STEPS if kind in COMBINATIONS else STEPS * SIZE
    said: list[str] = []
    count_steps(lambda: said.append(answer(text)), limit)
    assert len(said[0]) < (MAX_SHOWN + 1) * 4 * MAX_TEXT


@pytest.mark.parametrize("kind", ["wrong values of one line", "unknown keys without values", "groups", "tiles"])
def test_twice_the_size_takes_twice_the_steps(kind: str) -> None:
    small, large = MAKERS[kind](SIZE // 2), MAKERS[kind](SIZE)
    steps = count_steps(lambda: answer(small), STEPS * SIZE)
    assert count_steps(lambda: answer(large), STEPS * SIZE) < 2.2 * steps


def test_the_counter_ends_what_takes_too_long() -> None:
    with pytest.raises(TooManySteps):
        count_steps(lambda: [abs(number) for number in range(10_000_000)], 1000)


def test_a_file_of_the_largest_size_is_answered() -> None:
    for kind in ("wrong values of one line", "words of digits", "anchors"):
        assert answer(MAKERS[kind](MAX_BYTES))
    assert "more than 1048576" in answer("x" * (MAX_BYTES + 1))


@pytest.mark.parametrize("word", ["1" * 500_000 + "q", "1_" * 250_000 + "q", "0" * 500_000 + "9q", ".1" * 250_000])
def test_no_word_makes_a_regular_expression_go_back_and_back(word: str) -> None:
    """A million steps take a hundredth of a second, a million squared take days, so a limit of 60 s separates them."""
    code = (
        f"from ckgen.text.plain_scalars import read_plain\nread_plain({word[:4]!r} * {len(word) // 4} + {word[-2:]!r})"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

    done = subprocess.run([sys.executable, "-c", code], preexec_fn=limit, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_more_errors_than_are_shown_are_counted() -> None:
    many = [Diagnostic(None, "r", str(number)) for number in range(MAX_SHOWN + 7)]
    shown = CkgenError(many).diagnostics
    assert [d.message for d in shown[:-1]] == [str(number) for number in range(MAX_SHOWN)]
    assert (shown[-1].rule, shown[-1].message) == ("too-many-errors", "7 more errors are not shown")
    assert CkgenError(many[:MAX_SHOWN]).diagnostics == tuple(many[:MAX_SHOWN])


def test_help_is_looked_for_only_where_it_is_shown() -> None:
    asked: list[int] = []

    def find(number: int) -> Callable[[], str]:
        return lambda: asked.append(number) or f"help {number}"

    many = [Diagnostic(None, "r", f"m{number}", find_help=find(number)) for number in range(1000)]
    shown = CkgenError(many).diagnostics
    assert asked == list(range(MAX_SHOWN))
    assert shown[3].help == "help 3"


def test_texts_are_short_and_printable() -> None:
    word = "a" * 6_000_000
    diagnostic = Diagnostic(None, "r", f"`{word}` is not a dtype", word, notes=(word,))
    assert len(diagnostic.message) <= MAX_TEXT and diagnostic.message.endswith("` is not a dtype")
    assert len(diagnostic.help) <= MAX_TEXT and len(diagnostic.notes[0]) <= MAX_TEXT
    assert len(Diagnostic(None, "r", "\x1b" * 999).message) <= MAX_TEXT
    assert Diagnostic(None, "r", "a\x1b[2Jb\nc\udcff é").message == r"a\x1b[2Jb\nc\udcff é"


def test_the_nearest_name_is_looked_for_among_a_bounded_number_of_characters() -> None:
    names = [f"name_{number}_of_many" for number in range(100_000)]
    steps = count_steps(lambda: did_you_mean("nam_77_of_many", names), 10_000_000)
    assert steps < 300_000
    assert "name_77_of_many" in did_you_mean("nam_77_of_many", names)
    assert did_you_mean("x" * 1_000_000, names) == ""


def test_words_that_yaml_versions_read_differently_are_still_told() -> None:
    surprising = ["1_000", "1.", "1._5", ".5", ".5e3", "1e5", "1.5e-3", "0x1F", "0o17", "1:30", ".inf", "+1", "1_.e5"]
    assert all(not isinstance(read_plain(word), (str, int, float)) for word in surprising)
    assert all(isinstance(read_plain(word), str) for word in ["1q", "1.2.3", "1_0q", "128x64", "e5", "1e", ".e5"])
    assert not re.search("inf", repr(read_plain("1" + "0" * 400 + ".0")))

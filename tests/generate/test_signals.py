"""Tests that a signal at any moment of `ckgen generate` leaves complete files, and that the next run in the same
process completes the tree.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from ckgen.cli.common import signals
from ckgen.generate import writer
from ckgen.generate.manifest import MANIFEST_NAME, load_manifest
from tests.support.patience import HANG_GUARD
from tests.support.trees import contents, small_tree

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = 16


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    """Install the handlers that a terminal gives, since nohup and & in a script make the tests ignore signals."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def run_with_signal(call: Callable[[], object], number: signal.Signals | None, moment: int) -> int:
    """Call a function with a signal at its step `moment`; return the number of steps it took.

    Python drops an exception that a handler raises inside a finalizer; the signal is then sent again, like a user who
    repeats Ctrl-C.
    """
    steps = 0
    dropped: list[object] = []

    def step(frame: FrameType, event: str, argument: object) -> None:
        nonlocal steps
        steps += 1
        if number is not None and (steps == moment or dropped):
            dropped.clear()
            signal.raise_signal(number)

    hook, sys.unraisablehook = sys.unraisablehook, dropped.append
    sys.setprofile(step)
    try:
        call()
        if number is not None and dropped:  # Python ends profiling when it drops what the profiler raised
            signal.raise_signal(number)
    finally:
        sys.setprofile(None)
        sys.unraisablehook = hook
    return steps


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_at_any_moment_leaves_whole_files(number: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "generated"
    old, new = small_tree(12, "one"), small_tree(12, "two")
    for tree in (old, new, old):  # a first run takes more steps than those after it
        writer.apply(tree, out)
    steps = run_with_signal(lambda: writer.apply(new, out), None, 0)
    seen, kept = set(), []
    # Most steps only read; the last few hundred write.
    for moment in [*(1 + steps * at // MOMENTS for at in range(MOMENTS)), *range(steps - 20 * MOMENTS, steps, 20)]:
        writer.apply(old, out)
        (out / "mine.txt").write_text("mine")
        with pytest.raises((signals.Ended, KeyboardInterrupt)) as caught, signals.unwinding():
            run_with_signal(lambda: writer.apply(new, out), number, moment)
        kept.append(caught)  # including its frames, which must not hold the lock
        found = contents(out)
        assert found.pop("mine.txt") == "mine"
        found.pop(".ckgen-new", None)
        manifest = load_manifest(out)
        assert manifest is not None
        assert manifest.unfinished or found in (old, new), f"step {moment}"
        found.pop(MANIFEST_NAME)
        assert all(text in (old[path], new[path]) for path, text in found.items()), f"step {moment}"
        seen.add(manifest.unfinished)
    assert seen == {False, True}
    writer.apply(new, out)
    assert contents(out) == {**new, "mine.txt": "mine"}


def test_a_signal_inside_a_finalizer_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    with pytest.raises(signals.Ended) as ended, signals.unwinding():
        Closed()
    assert ended.value.exit_code == 143
    assert len(dropped) == 1


def test_the_code_and_the_word_follow_from_the_signal() -> None:
    with pytest.raises(signals.Ended) as ended, signals.unwinding():
        signal.raise_signal(signal.SIGTERM)
    assert (ended.value.exit_code, ended.value.message) == (143, "terminated")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_signals_that_are_not_pythons_to_handle_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for handler in (None, signal.SIG_IGN):  # None: installed by a program that embeds Python
        with monkeypatch.context() as patched:
            patched.setattr(signal, "getsignal", lambda number, handler=handler: handler)
            patched.setattr(signal, "signal", lambda *_: pytest.fail("a handler was changed"))
            with signals.unwinding():
                pass


def test_clearing_away_is_not_interrupted_again() -> None:
    cleared = []
    with pytest.raises(signals.Ended), signals.unwinding():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGHUP)
            cleared.append(True)
    assert cleared


def test_other_threads_change_no_handler() -> None:
    def work() -> None:
        with signals.unwinding():
            done.append(True)

    done: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done


BUILD = """
import sys
from pathlib import Path
from ckgen.build.cmake import _run
from ckgen.cli.common import signals
try:
    with signals.unwinding():
        _run(("bash", "-c", "sleep 600 & echo $!; wait"), lambda line: print(line, flush=True))
except signals.Ended as ended:
    print(ended.message, flush=True)
"""


def test_what_a_build_started_ends_with_it() -> None:
    process = subprocess.Popen([sys.executable, "-c", BUILD], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    grandchild = int(process.stdout.readline())
    process.terminate()
    assert process.stdout.readline() == "terminated\n"
    assert process.wait(HANG_GUARD) == 0
    assert not _is_running(grandchild)


def _is_running(number: int) -> bool:
    """True if the process runs; one that ended but was not yet waited for does not count."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_process_that_runs_is_seen() -> None:
    assert _is_running(os.getpid())

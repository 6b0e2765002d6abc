"""Test that Ctrl-C ends a wait for a cluster even where Python drops the exception."""

from __future__ import annotations

import signal
import threading

import pytest

from ckgen.cluster.interrupt import kept_interrupts


class _Interrupted:
    """An object during whose end Ctrl-C comes."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_python_drops_is_raised_by_the_next_check() -> None:
    with kept_interrupts() as check:
        check()
        made = _Interrupted()
        del made
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_still_raises_at_once() -> None:
    with kept_interrupts(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_program_that_handles_sigint_keeps_its_handler() -> None:
    seen: list[int] = []

    def own(number: int, frame: object) -> None:
        seen.append(number)

    before = signal.signal(signal.SIGINT, own)
    try:
        with kept_interrupts() as check:
            signal.raise_signal(signal.SIGINT)
            check()
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_another_thread_than_the_main_one_changes_nothing() -> None:
    found: list[object] = []

    def enter() -> None:
        with kept_interrupts() as check:
            check()
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]

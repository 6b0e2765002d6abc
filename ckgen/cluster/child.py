"""A child process that answers requests: started when needed, called with a time limit, replaced when it dies.

Kernels run in a child, so that a crash or a hang costs only the current request.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

CRASHED: Literal["crashed"] = "crashed"
TIMEOUT: Literal["timeout"] = "timeout"
START_SECONDS = 300.0  # time to begin, for example to load PyTorch and a large library
_SAID = 400  # characters to keep of a dead child's last output
_PR_SET_PDEATHSIG = 1

# Answers one request, and says whether the process should end.
Answering = Callable[..., tuple[Any, bool]]


class ChildGone(Exception):
    """The child died or was killed during a request. ``verdict`` is crashed or timeout."""

    def __init__(self, verdict: str, message: str) -> None:
        super().__init__(message)
        self.verdict, self.message = verdict, message


class ChildProcess:
    """A child that calls ``begin`` with ``given`` once, and then what this returned for each request; at most one child
    at a time. Use it as a context manager, or call ``close``."""

    def __init__(self, begin: Callable[..., Answering], *given: object) -> None:
        self._begin, self._given = begin, given
        self._child: tuple[SpawnProcess, Connection] | None = None
        self._folder = TemporaryDirectory(prefix="ckgen-child-")
        self._output = Path(self._folder.name, "output")
        self.starts = 0

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, seconds: float, *request: object) -> Any:
        """Send a request and return the child's answer. Raise ChildGone when the child dies, does not start, or takes
        longer once it has started; the next call starts a new child."""
        try:
            if self._child is None:
                _, requests = self._child = self._start()
                self._receive(requests, START_SECONDS, "did not start")
            _, requests = self._child
            requests.send(request)
            answer, stale = self._receive(requests, seconds, "no answer")
        except (EOFError, OSError):
            raise self._gone() from None
        if stale:
            self._end()
        return answer

    def _receive(self, requests: Connection, seconds: float, failure: str) -> Any:
        if not wait([requests], seconds):
            self._end()
            raise ChildGone(TIMEOUT, f"{failure} within {seconds:g} s")
        return requests.recv()

    def close(self) -> None:
        """End the child, if there is one."""
        self._end()
        self._folder.cleanup()

    def _start(self) -> tuple[SpawnProcess, Connection]:
        context = get_context("spawn")
        self._output.write_bytes(b"")
        requests, theirs = context.Pipe()
        arguments = (theirs, self._output, self._begin, self._given)
        process = context.Process(target=_serve, args=arguments, daemon=True)
        process.start()
        theirs.close()  # the child has the only other end, so that its death is the end of the connection
        self.starts += 1
        return process, requests

    def _end(self) -> int:
        """End the child, if there is one, and return its exit code."""
        if self._child is None:
            return 0
        process, requests = self._child
        self._child = None
        requests.close()
        process.kill()
        process.join()
        return process.exitcode or 0

    def _gone(self) -> ChildGone:
        """The exit status of the child and its last output."""
        assert self._child is not None, "it was started"
        self._child[0].join()
        code = self._end()
        lines = self._output.read_text(errors="replace").strip().splitlines()
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return ChildGone(CRASHED, how + (f": {lines[-1][:_SAID]}" if lines else ""))


def _serve(requests: Connection, output: Path, begin: Callable[..., Answering], given: tuple[object, ...]) -> None:
    """Say that the child is ready, then answer requests until the connection closes. The output of a library and of a
    GPU runtime is redirected to the file ``output``."""
    _die_with_parent()
    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    answering = begin(*given)
    with contextlib.suppress(EOFError):
        requests.send(None)
        while True:
            requests.send(answering(*requests.recv()))


def _die_with_parent() -> None:
    """Let Linux end this process when its parent dies: a child that hangs in a kernel never reads the end of its
    requests."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

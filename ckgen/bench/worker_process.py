"""The parent's side of a worker process: started when needed, called with a time limit, replaced when it dies."""

from __future__ import annotations

import signal
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ckgen.bench.job import CRASHED, TIMEOUT, Settings
from ckgen.bench.worker import serve

_SAID = 400  # characters to keep of a dead worker's last output


class WorkerGone(Exception):
    """The worker died or was killed during a request. ``verdict`` is crashed or timeout."""

    def __init__(self, verdict: str, message: str) -> None:
        super().__init__(message)
        self.verdict, self.message = verdict, message


class WorkerProcess:
    """A worker for a library, at most one at a time. Use it as a context manager, or call ``close``."""

    def __init__(self, library: Path, settings: Settings) -> None:
        self._library, self._settings = library, settings
        self._worker: tuple[SpawnProcess, Connection] | None = None
        self._folder = TemporaryDirectory(prefix="ckgen-bench-")
        self._output = Path(self._folder.name, "output")
        self.starts = 0

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, seconds: float, do: str, *given: object) -> Any:
        """Send a request and return the worker's answer. Raise WorkerGone when the worker dies or takes longer; the
        next call starts a new worker."""
        _, requests = self._worker = self._worker or self._start()
        try:
            requests.send((do, *given))
            if not wait([requests], seconds):
                self._end()
                raise WorkerGone(TIMEOUT, f"no answer within {seconds:g} s")
            answer, stale = requests.recv()
        except (EOFError, OSError):
            raise self._gone() from None
        if stale:
            self._end()
        return answer

    def close(self) -> None:
        """End the worker, if there is one."""
        self._end()
        self._folder.cleanup()

    def _start(self) -> tuple[SpawnProcess, Connection]:
        context = get_context("spawn")
        self._output.write_bytes(b"")
        requests, theirs = context.Pipe()
        arguments = (theirs, self._output, self._library, self._settings)
        process = context.Process(target=serve, args=arguments, daemon=True)
        process.start()
        theirs.close()  # the worker has the only other end, so that its death is the end of the connection
        self.starts += 1
        return process, requests

    def _end(self) -> int:
        """End the worker, if there is one, and return its exit code."""
        if self._worker is None:
            return 0
        process, requests = self._worker
        self._worker = None
        requests.close()
        process.kill()
        process.join()
        return process.exitcode or 0

    def _gone(self) -> WorkerGone:
        """The exit status of the worker and its last output."""
        assert self._worker is not None, "it was started"
        self._worker[0].join()
        code = self._end()
        lines = self._output.read_text(errors="replace").strip().splitlines()
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return WorkerGone(CRASHED, how + (f": {lines[-1][:_SAID]}" if lines else ""))

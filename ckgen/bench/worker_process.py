"""The parent's side of a worker process: started when needed, called with a time limit, replaced when it dies."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ckgen.bench.job import CRASHED, TIMEOUT, Settings
from ckgen.paths import PACKAGE

_CHUNK = 65536
_SAID = 400  # characters to keep of a dead worker's last output
# ckgen need not be installed in the worker's environment.
_START = "import sys; sys.path.insert(0, {root!r}); from ckgen.bench.worker import main; sys.exit(main(sys.argv[1:]))"


class WorkerGone(Exception):
    """The worker died or was killed during a request. ``verdict`` is crashed or timeout."""

    def __init__(self, verdict: str, message: str) -> None:
        super().__init__(message)
        self.verdict, self.message = verdict, message


class WorkerProcess:
    """A worker for a library, at most one at a time. Use it as a context manager, or call ``close``."""

    def __init__(self, library: Path, settings: Settings) -> None:
        start = _START.format(root=str(PACKAGE.parent))
        described = json.dumps(dataclasses.asdict(settings))
        self._command: Sequence[str] = (sys.executable, "-c", start, str(library), described)
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self.starts = 0

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return the worker's answer. Raise WorkerGone when the worker dies or takes longer; the
        next call starts a new worker. After an answer marked `stale` the worker is replaced too."""
        process = self._process or self._start()
        assert process.stdin is not None, "both ends are pipes"
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise self._gone() from None
        answer: dict[str, Any] = json.loads(self._line(process, seconds))
        if answer.pop("stale", False):
            self.close()
        return answer

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        if self._said is not None:
            self._said.close()
        self._process = self._said = None

    def _start(self) -> subprocess.Popen[bytes]:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the worker)
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=self._said)
        self.starts += 1
        return self._process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        assert process.stdout is not None, "both ends are pipes"
        source, until, line = process.stdout.fileno(), time.monotonic() + seconds, b""
        while not line.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([source], [], [], left)[0]:
                self.close()
                raise WorkerGone(TIMEOUT, f"no answer within {seconds:g} s")
            chunk = os.read(source, _CHUNK)
            if not chunk:
                raise self._gone()
            line += chunk
        return line

    def _gone(self) -> WorkerGone:
        """The exit status of the worker and its last output."""
        assert self._process is not None and self._said is not None, "it was started"
        code = self._process.wait()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        self.close()
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return WorkerGone(CRASHED, how + (f": {lines[-1][:_SAID]}" if lines else ""))

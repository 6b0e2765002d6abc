"""The thread that has libraries built for the problems of a process, a few instances at a time.

A caller asks for what a problem needs and goes on without it; it asks again when the problem comes again. Compiling is
done by another process (ckgen.jit.make), so that the thread only waits.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from ckgen.build.toolchain import find_toolchain
from ckgen.errors import CkgenError
from ckgen.jit.instances import Known, Need, Target
from ckgen.jit.progress import Progress
from ckgen.jit.shelf import Shelf
from ckgen.paths import PACKAGE

LEAST_BATCH, MOST_BATCH = 4, 16  # instances per library: as many as there are processors, within these limits
_STEP = re.compile(r"\[(\d+/\d+)\]|\[ *(\d+%)\]")  # ninja's and make's
_TAIL = 3  # lines of a process that fails without saying why


class Background:
    """The built instances for a target, and those on the way. With ``generic``, problems also get their generic
    instances, which take every valid problem. ``tell`` is called once if something cannot be built, in the
    background."""

    def __init__(
        self, folder: Path, target: Target, generic: bool, progress: Progress, tell: Callable[[str], None]
    ) -> None:
        self.folder, self.target, self.generic = folder, target, generic
        self.paths: dict[str, Path] = {}  # instances and their libraries
        self.identity = ""  # of the shelf
        self._progress, self._tell, self._told = progress, tell, False
        self._known: Known | None = None
        self._shelf: Shelf | None = None
        self._answers: dict[Need, tuple[str, ...]] = {}
        self._waiting: dict[Need, tuple[str, ...]] = {}  # with the instances to build, () before these are known
        self._failed: set[str] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def ask(self, need: Need, *, wait: bool = False) -> tuple[str, ...] | None:
        """The built instances for a need, the probably fastest first; none if none takes it or if building failed. None
        if they are on the way; with ``wait``, wait for them."""
        with self._changed:
            if need not in self._answers:
                self._waiting.setdefault(need, ())
                self._start()
            while wait and need not in self._answers:
                self._changed.wait()
            return self._answers.get(need)

    def wait(self) -> None:
        """Wait until everything asked for is answered."""
        with self._changed:
            while self._waiting:
                self._start()  # in a forked process
                self._changed.wait()

    @property
    def failed(self) -> bool:
        """True if something could not be built."""
        return bool(self._failed)

    def ranked(self, need: Need) -> tuple[str, ...]:
        """All instances that could take this, the probably fastest first, whether or not they are built."""
        return () if self._known is None else self._known.ranked(need)

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():  # a fork has no threads
            self._thread = threading.Thread(target=self._work, name="ckgen", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        """Serve all needs, then end: the next one starts another thread."""
        while True:
            with self._changed:
                if not self._waiting:
                    self._thread = None
                    self._progress.end(len(self.paths))
                    return
                needs = list(self._waiting)
            try:
                self._serve(needs)
            except Exception as error:  # whatever it is: nobody may wait for ever, and PyTorch computes
                said = error.sentence if isinstance(error, CkgenError) else _of(error)
                self._fail(f"nothing can be built here: {said}")
                self._answer(needs, everything=True)

    def _serve(self, needs: Sequence[Need]) -> None:
        """Answer needs whose instances are on the shelf, and build a batch of the missing ones."""
        if self._known is None or self._shelf is None:
            self._shelf = Shelf(self.folder, self.target, find_toolchain())
            self._known, self.identity = Known(self.target), repr(self._shelf.key)
        for need in needs:
            if not self._waiting[need]:
                self._waiting[need] = self._known.needed(need, self.generic)
        self.paths |= {name: path for name, path in self._held().items() if name not in self.paths}
        self._answer(needs)
        wanted = dict.fromkeys(name for names in self._waiting.values() for name in names)
        missing = [name for name in wanted if name not in self.paths and name not in self._failed]
        if missing:
            most = min(max(LEAST_BATCH, len(os.sched_getaffinity(0))), MOST_BATCH)
            self._build(self._known.batch(missing, most), len(missing))

    def _held(self) -> dict[str, Path]:
        return {} if self._shelf is None else self._shelf.held()

    def _answer(self, needs: Sequence[Need], everything: bool = False) -> None:
        with self._changed:
            for need in [need for need in needs if need in self._waiting]:
                names = self._waiting[need]
                if everything or all(name in self.paths or name in self._failed for name in names):
                    self._answers[need] = tuple(name for name in names if name in self.paths)
                    del self._waiting[need]
            self._changed.notify_all()

    def _build(self, names: Sequence[str], of: int) -> None:
        """Have a library built, by a process that is ended with this one."""
        found = os.pathsep.join((str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")))
        self.folder.mkdir(parents=True, exist_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-m", "ckgen.jit.make"],
            cwd=self.folder,  # where no module of the user's hides another
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "PYTHONPATH": found},
            start_new_session=True,  # Ctrl-C is for this process, which then ends that one
        )
        atexit.register(process.terminate)
        lines: list[str] = []
        said: dict[str, str] = {}
        assert process.stdin is not None and process.stdout is not None
        with process:
            request = {"folder": str(self.folder), "target": self.target, "names": names}
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.close()
            for line in process.stdout:
                said = _read(line)
                lines = [*lines, line.strip()][-_TAIL:]
                if step := _STEP.match(said.get("line", "")):
                    self._progress.show(self.target.arch, len(names), of, step[1] or step[2])
        atexit.unregister(process.terminate)
        if process.returncode:
            reason = said.get("error") or "; ".join(lines) or f"exit code {process.returncode}"
            log = f"; log: {said['log']}" if said.get("log") else ""
            self._failed |= set(names)
            self._fail(f"{len(names)} instances for {self.target.arch} cannot be built: {reason}{log}")
        elif missing := set(names).difference(self._held()):  # as after an update of ckgen or of the compiler
            self._failed |= missing
            self._fail(f"the build of {len(missing)} instances gave others than this process needs: start it again")

    def _fail(self, message: str) -> None:
        if not self._told:
            self._told = True
            self._progress.end(0)
            self._tell(message)


def _of(error: Exception) -> str:
    """An error as text; one of the operating system with its file."""
    return str(error) if isinstance(error, OSError) and error.filename else repr(error)


def _read(line: str) -> dict[str, str]:
    """A line of the building process; a line of anything else, such as a traceback, has no words."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}

"""The process that builds a library on first use: ``python -m ckgen.jit.make``.

It reads a request, a line of JSON, from standard input and writes lines of JSON: `{"line": ...}` for each line of the
build tools, then `{"error": ..., "log": ...}` if it failed. A process of its own, so that neither rendering nor
compiling holds up PyTorch, and that it can be ended at any time.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ckgen.build.toolchain import find_toolchain
from ckgen.errors import CkgenError
from ckgen.jit.instances import Target
from ckgen.jit.shelf import Shelf

NICENESS = 10  # the process that waits for the library computes meanwhile


def make(folder: Path, target: Target, names: Sequence[str]) -> dict[str, str]:
    """Build what is missing on the shelf, after every other process that builds for it; say why not if that fails."""
    try:
        shelf = Shelf(folder, target, find_toolchain())
        log = shelf.log_of(names)
        with shelf.locked() as lock:
            missing = [name for name in names if name not in shelf.held()]
            if not missing:
                return {}
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("w", encoding="utf-8", buffering=1) as file:

                def on_line(line: str) -> None:
                    file.write(line + "\n")
                    say({"line": line})

                try:
                    shelf.build(missing, len(os.sched_getaffinity(0)), lock, on_line)
                except CkgenError as error:
                    file.write("".join(f"{one.message}\n" for one in error.diagnostics))
                    return {"error": error.sentence, "log": str(log)}
            log.unlink(missing_ok=True)
    except CkgenError as error:
        return {"error": error.sentence, "log": ""}
    return {}


def say(words: dict[str, Any]) -> None:
    """Tell the process that waits; it may have ended, which is no reason to end before the library is built."""
    try:
        print(json.dumps(words), flush=True)
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def main() -> int:
    """Serve the request on standard input."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the build tools are ended
    os.nice(NICENESS)
    request = json.loads(sys.stdin.readline())
    said = make(Path(request["folder"]), Target(*request["target"]), request["names"])
    if said:
        say(said)
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())

"""Reasons why a file on disk differs from the generated one: a hand edit, or another command, spec, template or ckgen.

The manifest on disk records the bytes of each file as ckgen wrote it and its inputs, so every reported cause is
certain: bytes that differ from the manifest were changed by hand, and only inputs that changed are named.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from ckgen.generate.manifest import MANIFEST_NAME, Manifest, digest

Kind = Literal["changed", "missing", "orphan"]
LINE_ENDS = "line ends"


@dataclass(frozen=True, slots=True)
class Drift:
    """One file that `ckgen generate` would write, add or remove.

    `causes` contains some of "spec", "template", "command" and "hand edit". It is "tool" if none of these changed, so
    that another version of ckgen wrote the file; "line ends" if only these differ from the generated file's; "not
    generated" if there is no manifest to compare with; "unfinished" if the manifest is that of an interrupted run; and
    empty if a file was deleted that would be written again unchanged. `diff` leads from the file on disk to the
    generated text; only files whose text changed have one.
    """

    path: str
    kind: Kind
    causes: tuple[str, ...]
    diff: str

    @property
    def summary(self) -> str:
        """One line: `src/x.cpp: changed (hand edit)`."""
        return f"{self.path}: {self.kind}" + (f" ({', '.join(self.causes)})" if self.causes else "")


def describe_drift(
    path: str, expected: str | None, actual: bytes | None, previous: Manifest | None, current: Manifest
) -> Drift:
    """The drift of one file; `expected` is None if the file should not exist, `actual` is None if it does not."""
    kind: Kind = "missing" if actual is None else "orphan" if expected is None else "changed"
    if expected is not None and actual is not None and actual.replace(b"\r\n", b"\n") == expected.encode():
        return Drift(path, kind, (LINE_ENDS,), "")
    causes = _causes(path, actual, previous, current)
    show = expected is not None and actual is not None and path != MANIFEST_NAME
    return Drift(path, kind, causes, _diff(path, actual or b"", expected or "") if show else "")


def _causes(path: str, actual: bytes | None, previous: Manifest | None, current: Manifest) -> tuple[str, ...]:
    if previous is None or previous.unfinished:
        return ("unfinished" if previous else "not generated",)
    was, now = previous.files.get(path), current.files.get(path)
    if path == MANIFEST_NAME:
        edited, moved = not previous.intact, previous.intact or previous.origin != current.origin
    else:
        edited = actual is not None and (was is None or digest(actual) != was.sha256)
        moved = (was and was.sha256) != (now and now.sha256)
    causes = _moved(path, previous, current) if moved else []
    if moved and not (causes or edited):
        causes.append("tool")
    return (*causes, "hand edit") if edited else tuple(causes)


def _moved(path: str, previous: Manifest, current: Manifest) -> list[str]:
    """Name the inputs of one file that changed."""
    old, new = previous.origin, current.origin
    record = current.files.get(path) or previous.files.get(path)
    template = old.templates != new.templates
    if record is not None:
        template = old.templates.get(record.template) != new.templates.get(record.template)
        if not record.template.endswith(".j2"):  # copied from the templates, with the style's names
            copied = {"template": template, "command": old.command.style != new.command.style}
            return [cause for cause, is_so in copied.items() if is_so]
    spec = (old.spec_sha256, old.command.spec) != (new.spec_sha256, new.command.spec)
    causes = {"spec": spec, "template": template, "command": old.command != new.command}
    return [cause for cause, is_so in causes.items() if is_so]


def _diff(path: str, actual: bytes, expected: str) -> str:
    on_disk = actual.decode("utf-8", errors="replace").splitlines(keepends=True)
    wanted = expected.splitlines(keepends=True)
    lines = difflib.unified_diff(on_disk, wanted, f"{path} (on disk)", f"{path} (as generated)")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)

"""Why a file on disk is not what ckgen would write now: spec, template, table, tool, command or a hand edit.

The manifest on disk says what each file was when ckgen wrote it and what it was made from; the new one says
what it would be and what it would be made from. What differs between disk and old manifest was done by hand;
what differs between the manifests was done by whichever digest moved.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from ckgen.generate.manifest import MANIFEST_NAME, Manifest, digest
from ckgen.generate.view_models import TABLE_TEMPLATE

Kind = Literal["changed", "missing", "orphan"]


@dataclass(frozen=True, slots=True)
class Drift:
    """One file that `ckgen generate` would write, add or remove.

    `causes` are some of "spec", "template", "table", "tool", "command" and "hand edit"; "not generated" where there is
    no manifest to compare with; none where a file was deleted that should be as it was. `diff` leads from the file on
    disk to the text it should have; only changed files have one.
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
    """The drift of one file; `expected` is None where there should be none, `actual` where there is none."""
    kind: Kind = "missing" if actual is None else "orphan" if expected is None else "changed"
    causes = _causes(path, actual, previous, current)
    show = expected is not None and actual is not None and path != MANIFEST_NAME
    return Drift(path, kind, causes, _diff(path, actual or b"", expected or "") if show else "")


def _causes(path: str, actual: bytes | None, previous: Manifest | None, current: Manifest) -> tuple[str, ...]:
    if previous is None:
        return ("not generated",)
    if path == MANIFEST_NAME:
        edited = not previous.intact
        moved = True
    else:
        was = previous.files.get(path)
        now = current.files.get(path)
        edited = (None if actual is None else digest(actual)) != (was.sha256 if was else None)
        moved = (was.sha256 if was else None) != (now.sha256 if now else None)
    causes = _generator_causes(path, previous, current) if moved else []
    if actual is not None and (edited or not causes):
        causes.append("hand edit")
    return tuple(causes)


def _generator_causes(path: str, previous: Manifest, current: Manifest) -> list[str]:
    """What moved between two generations of one file, as far as digests can tell."""
    old, new = previous.origin, current.origin
    record = current.files.get(path) or previous.files.get(path)
    if record is None:
        templates = old.templates != new.templates
        copied = False
    else:
        templates = old.templates.get(record.template) != new.templates.get(record.template)
        copied = not record.template.endswith(".j2")
    table = old.tables != new.tables and (record is None or record.template == TABLE_TEMPLATE)
    spec = not copied and (old.spec_sha256 != new.spec_sha256 or old.spec != new.spec)
    tool = old.tool_sha256 != new.tool_sha256 or old.tool_version != new.tool_version
    command = not copied and old.command != new.command
    moved = {"spec": spec, "template": templates, "table": table, "tool": tool, "command": command}
    return [cause for cause, is_so in moved.items() if is_so]


def _diff(path: str, actual: bytes, expected: str) -> str:
    on_disk = actual.decode("utf-8", errors="replace").splitlines(keepends=True)
    wanted = expected.splitlines(keepends=True)
    lines = difflib.unified_diff(on_disk, wanted, f"{path} (on disk)", f"{path} (as generated)")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)

"""The form of a rule.

Scope "domain" says which values a field may have at all, "tile" how the tile splits into waves and steps,
"instance" how everything else fits, "arch" what a target has; where a scope is broken the next ones mean
nothing. `blame` names the YAML keys whose values are at fault, most likely first: the caret points at one of
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.operations.operation import OPERATIONS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """One rule: `condition` must hold, `sentence` says so, `message` says with numbers how it fails.

    It is for the families that have it in their table, of which `only` may leave some out, and for `operations`; for
    others its names may mean nothing.
    """

    id: str
    scope: str
    condition: str
    sentence: str
    message: str
    help: str
    reason: str
    blame: tuple[str, ...]
    operations: tuple[str, ...] = tuple(OPERATIONS)
    only: tuple[str, ...] = ()

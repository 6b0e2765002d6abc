"""What a rule is.

Scope "domain" says which values a field may have at all, "tile" how the tile splits into waves and steps,
"instance" how everything else fits, "arch" what a target has; where a scope is broken the next ones mean
nothing. `blame` names the YAML keys whose values are at fault, most likely first: the caret points at one of
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.operations.operation import MFMA_FAMILIES, OPERATIONS


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `condition` must hold, `sentence` says so, `message` says with numbers how it fails.

    It is for instances of `families` and `operations` only; for others its names may mean nothing.
    """

    id: str
    scope: str
    condition: str
    sentence: str
    message: str
    help: str
    reason: str
    blame: tuple[str, ...]
    families: tuple[str, ...] = MFMA_FAMILIES
    operations: tuple[str, ...] = tuple(OPERATIONS)

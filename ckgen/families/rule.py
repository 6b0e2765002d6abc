"""The record of a rule.

Rules of scope "domain" restrict the values of single fields, "tile" the division of a tile into waves and steps,
"instance" everything else in an instance, "arch" its use on one architecture. If a rule of one scope is broken, the
later scopes are not checked. `blame` names the YAML keys whose values may be at fault, most likely first; the caret of
a message points at one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.operations.operation import OPERATIONS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """One rule: `condition` must hold. `sentence` states it in words, `message` states with numbers how it is broken.

    The rule applies to the families that have it in their table, or to those in `only` if that is not empty, and to
    `operations`. For other families and operations its names may be undefined.
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

"""Every static_assert of the templates is a rule of the table, or cannot fail where the rules hold.

A specification that ckgen accepts must compile. So an assert that depends on an instance belongs into the table
(ckgen/rule_table.py), from which the header's asserts are made; one that stays in a template is listed here with why no
valid instance breaks it. The random instances of test_compile_random.py look for what this list overlooks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_RULES_HEADER = "instance/rules.hpp.j2"  # asserts the table itself


def asserts_of(text: str) -> Iterator[str]:
    """The arguments of each static_assert, blanks made one."""
    for found in re.finditer(r"\bstatic_assert\(", text):
        depth, at = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield " ".join(text[found.end() : at - 1].split())

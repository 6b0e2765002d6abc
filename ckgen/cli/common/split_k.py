"""Split-K factors on the command line."""

from __future__ import annotations

from typing import Any

import click

from ckgen.selection.time_model import MOST_SPLITS


class Factor(click.IntRange):
    """-1, for the library's choice, or a split-K factor."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert as click.IntRange does; fail (exit 2) for 0, too."""
        number = super().convert(value, param, ctx)
        return number if number else self.fail("0: a factor is -1 (the library chooses) or at least 1", param, ctx)


FACTOR = Factor(-1, MOST_SPLITS)


class Factors(click.ParamType):  # type: ignore[type-arg]
    """Several factors, with commas between them."""

    name = "integers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A tuple of factors."""
        return tuple(FACTOR.convert(word, param, ctx) for word in value.split(","))

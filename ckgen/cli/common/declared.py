"""Declare the parameters of a command as the fields of a dataclass."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Options = TypeVar("Options")


def declared_by(options: type[Options]) -> Callable[[Callable[[Options], int]], Callable[..., int]]:
    """A decorator that gives a command one parameter per field of the dataclass ``options``, in this order, and passes
    their values to it as one object. A field is annotated with its type and click's decorator:
    `Annotated[int, click.option("--jobs", ...)]`. The module must not import ``annotations`` from ``__future__``."""

    def declare(run: Callable[[Options], int]) -> Callable[..., int]:
        @wraps(run)
        def command(**given: object) -> int:
            return run(options(**given))

        for declared in reversed(options.__annotations__.values()):
            command = declared.__metadata__[0](command)
        return command

    return declare

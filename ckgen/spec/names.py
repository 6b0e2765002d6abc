"""The names of groups and sets in a spec, and the number of its format."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from ckgen.spec.types import refuse

# Names below build/: the store and the page of a bench, and the builds of the tree that has no set.
RESERVED = ("bench.sqlite", "bench.sqlite-journal", "bench.sqlite-shm", "bench.sqlite-wal", "report.html", "generated")


def _free(name: str) -> str:
    """The name of a set; builds of the set are in a folder of this name beside these files and folders."""
    if name in RESERVED:
        raise refuse("set-name", f"`{name}` is a file or folder that ckgen writes below build/", "choose another name")
    return name


def exactly(number: int) -> BeforeValidator:
    """Annotation: this number, written as such: for Python, `true` and `1.0` are equal to 1 too."""

    def check(value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, (bool, float)):
            raise refuse("wrong-value", f"`{info.field_name}` is {str(value).lower()}, it must be {number}")
        return value

    return BeforeValidator(check)


GroupName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")]
SetName = Annotated[GroupName, AfterValidator(_free)]

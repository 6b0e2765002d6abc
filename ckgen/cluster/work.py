"""The interface between a pool and what it runs: a work, which opens a session on each worker."""

from __future__ import annotations

from typing import Protocol, TypeVar

Request = TypeVar("Request")
Answer = TypeVar("Answer")
Asked = TypeVar("Asked", contravariant=True)
Told = TypeVar("Told", covariant=True)


class Session(Protocol[Asked, Told]):
    """State of a work on one worker, such as a loaded library. Calling it answers one request."""

    def __call__(self, request: Asked, /) -> Told: ...
    def close(self) -> None: ...


class Work(Protocol[Asked, Told]):
    """A kind of work. It travels to the workers, so it is plain data: paths and settings.

    ``alone`` is true if a worker may run only one request at a time, as for measurements. ``check`` raises CkgenError
    on a worker that must not take part, for example because its library differs.
    """

    @property
    def alone(self) -> bool: ...
    def check(self) -> None: ...
    def open(self) -> Session[Asked, Told]: ...

"""A pool: runs the requests of a work on its workers and streams the answers. This process alone is a pool too."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from ckgen.cluster.work import Answer, Asked, Request, Session, Work

Item = TypeVar("Item")
HERE = "here"


class Pool(Protocol[Asked, Answer]):
    """Workers with an open work."""

    def everywhere(self, request: Asked) -> dict[str, Answer]:
        """The answer of every worker, by the worker's name."""

    def ask(self, request: Asked) -> Answer:
        """The answer of the least busy worker, or of another one if that is lost. Threads may ask at a time."""

    def slots(self) -> int:
        """The number of requests that run at a time."""

    def spread(
        self,
        items: Sequence[Item],
        request: Callable[[Item], Asked | None],
        lost: Callable[[Item, str], Answer],
        *,
        cost: Callable[[Item], float],
        group: Callable[[Item], Hashable],
    ) -> Iterator[tuple[Item, Answer]]:
        """Yield each item with its answer as soon as it is there, in any order, each item once.

        ``request`` makes the request when a worker is about to get the item; None skips the item. ``lost`` makes the
        answer for an item that ended several workers, from a sentence that says so. ``cost`` and ``group`` cut the
        items into shards, see ``ckgen.cluster.shards.cut``.
        """


class Here(Generic[Request, Answer]):
    """The pool of this process: one request after another, in the order of the items."""

    def __init__(self, work: Work[Request, Answer]) -> None:
        self._work = work
        self._session: Session[Request, Answer] | None = None

    def everywhere(self, request: Request) -> dict[str, Answer]:
        """The answer of this process."""
        return {HERE: self._opened()(request)}

    def ask(self, request: Request) -> Answer:
        """The answer of this process."""
        return self._opened()(request)

    def slots(self) -> int:
        """One."""
        return 1

    def spread(
        self,
        items: Sequence[Item],
        request: Callable[[Item], Request | None],
        lost: Callable[[Item, str], Answer],
        *,
        cost: Callable[[Item], float],
        group: Callable[[Item], Hashable],
    ) -> Iterator[tuple[Item, Answer]]:
        """Yield each item with its answer, in order."""
        for item in items:
            asked = request(item)
            if asked is not None:
                yield item, self._opened()(asked)

    def close(self) -> None:
        """End the session."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _opened(self) -> Session[Request, Answer]:
        self._session = self._session or self._work.open()
        return self._session

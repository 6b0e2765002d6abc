"""A pool on a dask cluster: each item is a task on one worker, fed shard by shard.

At most one task per thread runs and one more waits on a worker. The tasks of a worker that is lost are handed to others
by this client, because dask may leave a task waiting for a worker that never comes back.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar
from uuid import uuid4

from distributed import Client, Future

import ckgen
from ckgen.cluster.plugin import NAME, Failure, TakenOver, WorkPlugin, perform
from ckgen.cluster.shards import Shards, cut
from ckgen.cluster.work import Answer, Request, Work
from ckgen.errors import EXIT_FAILED, CkgenError, Diagnostic

Item = TypeVar("Item")
_AHEAD = 1  # tasks that wait on a worker, so that it need not wait for the client
_PARTS = 4  # shards per worker
_LOOK = 2.0  # seconds between looks at the workers while no answer comes
_LONELY = 60.0  # seconds without any worker after which the run ends
_MOST_LOSSES = 3  # workers that may be lost with an item before it is given up
_GONE = (OSError, TimeoutError, RuntimeError, AttributeError)  # what dask raises when the scheduler is gone


@dataclass(slots=True)
class _Flight(Generic[Item]):
    """An item on its way: the worker that has it, and the number of workers that were lost while they ran it."""

    item: Item
    request: Any
    worker: str = ""
    losses: int = 0


class DaskPool(Generic[Request, Answer]):
    """The workers of a dask cluster with an open work. Raise CkgenError if a worker must not take part.

    ``check`` is called again and again while the pool waits; what it raises ends the wait.
    """

    def __init__(self, client: Client, work: Work[Request, Answer], check: Callable[[], None] = lambda: None) -> None:
        self._client, self._token, self._check = client, uuid4().hex, check
        self._lock, self._busy = threading.Lock(), Counter[str]()
        try:
            client.register_plugin(WorkPlugin(self._token, ckgen.__version__, work))
        except RuntimeError as error:
            raise _refused(f"a worker of the cluster cannot take part: {error}") from None

    def everywhere(self, request: Request) -> dict[str, Answer]:
        """The answer of every worker, by its address."""
        tasks = {worker: self.submit(worker, request) for worker in self.workers()}
        answers = {worker: self._answer_while_there(worker, task) for worker, task in tasks.items()}
        found = {worker: answer for worker, answer in answers.items() if answer is not None}
        if not found:
            raise _refused("every worker of the cluster was lost at its first request")
        return found

    def ask(self, request: Request) -> Answer:
        """The answer of the least busy worker, or of another one if that is lost."""
        for _ in range(_MOST_LOSSES):
            with self._least_busy() as worker:
                answer = self._answer_while_there(worker, self.submit(worker, request))
                if answer is not None:
                    return answer
        raise _refused(f"{_MOST_LOSSES} workers of the cluster were lost while they ran the same request")

    def _answer_while_there(self, worker: str, task: Future) -> Answer | None:
        """The answer of a worker; None if the worker is lost."""
        while worker in self.workers():
            with suppress(TimeoutError):
                return self.answer_of(task, timeout=_LOOK)
        self.cancel(task)
        return None

    def slots(self) -> int:
        """The number of threads of all workers."""
        return max(1, sum(self.workers().values()))

    @contextmanager
    def _least_busy(self) -> Iterator[str]:
        """A worker, which counts as busier until the end of the block."""
        since = time.monotonic()
        while not (workers := self.workers()):
            if time.monotonic() - since > _LONELY:
                raise _alone()
            time.sleep(_LOOK)
        with self._lock:
            worker = min(workers, key=lambda worker: self._busy[worker] / workers[worker])
            self._busy[worker] += 1
        try:
            yield worker
        finally:
            with self._lock:
                self._busy[worker] -= 1

    def spread(
        self,
        items: Sequence[Item],
        request: Callable[[Item], Request | None],
        lost: Callable[[Item, str], Answer],
        *,
        cost: Callable[[Item], float],
        group: Callable[[Item], Hashable],
    ) -> Iterator[tuple[Item, Answer]]:
        """Yield each item with its answer as soon as it is there; see ``Pool.spread``."""
        shards = Shards(cut(items, _PARTS * max(1, len(self.workers())), cost=cost, group=group))
        run = _Run(self, shards, request)
        try:
            while run.feed():
                for item, losses in run.given_up():
                    yield item, lost(item, f"{losses} workers of the cluster were lost while they ran it")
                yield from run.next_answer()
        finally:
            with suppress(Exception):  # the cluster may be gone
                self._client.cancel(list(run.flying), force=True)

    def close(self) -> None:
        """End the sessions of the workers."""
        with suppress(Exception):  # the cluster may be gone
            self._client.unregister_worker_plugin(NAME)

    def submit(self, worker: str, request: Any) -> Future:
        """The task of a request on a worker."""
        return self._client.submit(perform, self._token, request, workers=[worker], pure=False)

    def cancel(self, task: Future) -> None:
        """Forget a task."""
        self._client.cancel([task], force=True)

    def answer_of(self, task: Future, timeout: float | None = None) -> Answer:
        """The answer of a task. Raise TimeoutError if its worker is lost before it hands the answer over."""
        try:
            answer: Answer | Failure = task.result(timeout=timeout)
        except TakenOver:
            raise _refused("another ckgen has begun to use this cluster, so this one ends") from None
        except TimeoutError:
            raise
        except Exception as error:
            if task.cancelled() or isinstance(error, OSError):
                raise _refused("the scheduler of the cluster is gone") from error
            raise _refused(f"a worker failed: {type(error).__name__}: {error}") from error
        if isinstance(answer, Failure):
            raise CkgenError([Diagnostic(None, *message) for message in answer.messages], EXIT_FAILED)
        return answer

    def workers(self) -> dict[str, int]:
        """The number of threads of each worker."""
        self._check()
        try:
            return dict(self._client.nthreads())
        except _GONE as error:
            raise _refused("the scheduler of the cluster is gone") from error


class _Run(Generic[Item, Request, Answer]):
    """State of one call of ``DaskPool.spread``."""

    def __init__(
        self,
        pool: DaskPool[Request, Answer],
        shards: Shards[Item],
        request: Callable[[Item], Request | None],
    ) -> None:
        self._pool, self._shards, self._request = pool, shards, request
        self._done: SimpleQueue[Future] = SimpleQueue()
        self._again: deque[_Flight[Item]] = deque()
        self._given_up: list[_Flight[Item]] = []
        self._lonely_since: float | None = None
        self.flying: dict[Future, _Flight[Item]] = {}

    def feed(self) -> bool:
        """Take back what lost workers had, and hand items to the workers that have too few. False at the end."""
        workers = self._pool.workers()
        self._shards.keep(workers)
        self._take_back(workers)
        busy = dict.fromkeys(workers, 0)
        for flight in self.flying.values():
            busy[flight.worker] += 1
        for most in range(1, max(workers.values(), default=0) + _AHEAD + 1):
            for worker, threads in workers.items():
                given = self._next_for(worker) if busy[worker] < most <= threads + _AHEAD else None
                if given is not None:
                    self._launch(given, worker)
                    busy[worker] += 1
        self._watch_loneliness(workers)
        return bool(self.flying or self._again or self._given_up or self._shards)

    def given_up(self) -> Iterator[tuple[Item, int]]:
        """Yield the items that ended too many workers, with their number."""
        while self._given_up:
            flight = self._given_up.pop()
            yield flight.item, flight.losses

    def next_answer(self) -> Iterator[tuple[Item, Answer]]:
        """Wait a while for an answer and yield it."""
        try:
            task = self._done.get(timeout=_LOOK)
            if task not in self.flying:
                return  # it was taken back
            answer = self._pool.answer_of(task, timeout=_LOOK)
        except Empty:
            return
        except TimeoutError:
            self._done.put(task)  # its worker may have been lost since; then it will be taken back
            return
        yield self.flying.pop(task).item, answer

    def _next_for(self, worker: str) -> _Flight[Item] | None:
        if self._again:
            return self._again.popleft()
        while (item := self._shards.next_for(worker)) is not None:
            request = self._request(item)
            if request is not None:
                return _Flight(item, request)
        return None

    def _launch(self, flight: _Flight[Item], worker: str) -> None:
        flight.worker = worker
        task = self._pool.submit(worker, flight.request)
        self.flying[task] = flight
        task.add_done_callback(self._done.put)

    def _take_back(self, workers: dict[str, int]) -> None:
        """Take back the items of lost workers. A worker runs its items in order, so it was lost with its first one."""
        blamed: set[str] = set()
        for task, flight in list(self.flying.items()):
            if flight.worker in workers:
                continue
            del self.flying[task]
            self._pool.cancel(task)
            if flight.worker not in blamed:
                blamed.add(flight.worker)
                flight.losses += 1
            (self._given_up if flight.losses >= _MOST_LOSSES else self._again).append(flight)

    def _watch_loneliness(self, workers: dict[str, int]) -> None:
        """Raise CkgenError after a while without any worker."""
        if workers:
            self._lonely_since = None
            return
        self._lonely_since = self._lonely_since or time.monotonic()
        if time.monotonic() - self._lonely_since > _LONELY:
            raise _alone()


def _refused(message: str) -> CkgenError:
    return CkgenError([Diagnostic(None, "cluster", message, "rows that are finished are kept; run this again")])


def _alone() -> CkgenError:
    return _refused(f"the cluster has had no worker for {_LONELY:g} s")

"""A pool on a dask cluster: each item is a task, fed to the workers shard by shard.

At most one task per thread runs and one more waits on a worker. dask runs the tasks of a worker that is lost on
another; this pool yields each item once, whatever dask repeats.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar
from uuid import uuid4

from distributed import Client, Future, KilledWorker

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
_GONE = (OSError, TimeoutError, RuntimeError, AttributeError)  # what dask raises when the scheduler is gone


class DaskPool(Generic[Request, Answer]):
    """The workers of a dask cluster with an open work. Raise CkgenError if a worker must not take part."""

    def __init__(self, client: Client, work: Work[Request, Answer]) -> None:
        self._client, self._token = client, uuid4().hex
        try:
            client.register_plugin(WorkPlugin(self._token, ckgen.__version__, work))
        except RuntimeError as error:
            raise _refused(f"a worker of the cluster cannot take part: {error}") from None
        self._flying: dict[Future, tuple[Any, str]] = {}

    def everywhere(self, request: Request) -> dict[str, Answer]:
        """The answer of every worker, by its address."""
        submit, token = self._client.submit, self._token
        tasks = [submit(perform, token, request, workers=[worker], pure=False) for worker in self._workers()]
        return dict(self._answered(task) for task in tasks)

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
        shards = Shards(cut(items, _PARTS * max(1, len(self._workers())), cost=cost, group=group))
        done: SimpleQueue[Future] = SimpleQueue()
        alone_since: float | None = None
        try:
            while True:
                self._feed(shards, request, done)
                if not self._flying:
                    return
                try:
                    future = done.get(timeout=_LOOK)
                except Empty:
                    alone_since = self._look(alone_since)
                    continue
                answered = self._collect(future, lost)
                if answered is None:
                    done.put(future)  # its worker was lost before it handed the answer over; dask runs it again
                    continue
                item, _ = self._flying.pop(future)
                yield item, answered
        finally:
            with suppress(Exception):
                self._client.cancel(list(self._flying), force=True)
            self._flying.clear()

    def close(self) -> None:
        """End the sessions of the workers."""
        with suppress(Exception):  # the cluster may be gone
            self._client.unregister_worker_plugin(NAME)

    def _feed(self, shards: Shards[Item], request: Callable[[Item], Request | None], done: SimpleQueue[Future]) -> None:
        """Hand items to the workers that have too few."""
        if not shards:
            return
        workers = self._workers()
        shards.keep(workers)
        busy = Counter(worker for _, worker in self._flying.values())
        for wave in range(max(workers.values(), default=0) + _AHEAD):
            for worker, threads in workers.items():
                if busy[worker] <= wave < threads + _AHEAD and self._hand_over(worker, shards, request, done):
                    busy[worker] += 1

    def _hand_over(
        self,
        worker: str,
        shards: Shards[Item],
        request: Callable[[Item], Request | None],
        done: SimpleQueue[Future],
    ) -> bool:
        """Submit the next item of a worker; False if there is none."""
        while (item := shards.next_for(worker)) is not None:
            asked = request(item)
            if asked is not None:
                arguments = {"workers": [worker], "allow_other_workers": True, "pure": False}
                future = self._client.submit(perform, self._token, asked, **arguments)
                self._flying[future] = item, worker
                future.add_done_callback(done.put)
                return True
        return False

    def _collect(self, future: Future, lost: Callable[[Any, str], Answer]) -> Answer | None:
        """The answer of a task that has ended; None if it is to run again."""
        try:
            return self._answered(future, timeout=_LOOK)[1]
        except KilledWorker as killed:
            item, _ = self._flying[future]
            return lost(item, f"it ended {killed.allowed_failures + 1} workers of the cluster")
        except TimeoutError:
            return None

    def _answered(self, future: Future, timeout: float | None = None) -> tuple[str, Answer]:
        try:
            worker, answer = future.result(timeout=timeout)
        except TakenOver:
            raise _refused("another ckgen has begun to use this cluster, so this one ends") from None
        except (KilledWorker, TimeoutError):
            raise
        except Exception as error:
            if future.cancelled() or isinstance(error, OSError):
                raise _scheduler_gone() from error
            raise _refused(f"a worker failed: {type(error).__name__}: {error}") from error
        if isinstance(answer, Failure):
            raise CkgenError([Diagnostic(None, *message) for message in answer.messages], EXIT_FAILED)
        return worker, answer

    def _workers(self) -> dict[str, int]:
        """The number of threads of each worker."""
        try:
            return dict(self._client.nthreads())
        except _GONE as error:
            raise _scheduler_gone() from error

    def _look(self, alone_since: float | None) -> float | None:
        """Since when there is no worker. Raise CkgenError after a while without any."""
        if self._workers():
            return None
        if alone_since is not None and time.monotonic() - alone_since > _LONELY:
            raise _refused(f"the cluster has had no worker for {_LONELY:g} s")
        return alone_since or time.monotonic()


def _refused(message: str) -> CkgenError:
    return CkgenError([Diagnostic(None, "cluster", message, "rows that are finished are kept; run this again")])


def _scheduler_gone() -> CkgenError:
    return _refused("the scheduler of the cluster is gone")

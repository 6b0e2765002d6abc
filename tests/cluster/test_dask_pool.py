"""Test pools on a dask cluster of this machine: each item is answered once, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import ckgen
from ckgen.cluster.connect import LOCAL, connected, pool_of
from ckgen.cluster.dask_pool import DaskPool
from ckgen.cluster.pool import Here, Pool
from ckgen.errors import CkgenError
from tests.cluster.works import FATAL, STUCK, WRONG, Squares, runs_of
from tests.support.patience import HANG_GUARD


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two workers, each with its own environment."""
    with connected(LOCAL, hands=[{"CKGEN_HAND": "0"}, {"CKGEN_HAND": "1"}]) as client:
        yield client


@contextmanager
def pool_in(client: Any, folder: Path) -> Iterator[DaskPool[int, int]]:
    client.wait_for_workers(2)
    pool = DaskPool(client, Squares(folder))
    try:
        yield pool
    finally:
        pool.close()


def spread(pool: Pool[int, int], items: list[int]) -> Iterator[tuple[int, int]]:
    return pool.spread(
        items, lambda item: item, lambda item, why: 0, cost=lambda item: 1.0, group=lambda item: item // 5
    )


def test_both_pools_answer_each_item_once(client: Any, tmp_path: Path) -> None:
    items = list(range(40))
    expected = [(item, item * item) for item in items]
    with pool_in(client, tmp_path) as pool:
        assert sorted(spread(pool, items)) == expected
        assert list(pool.everywhere(3).values()) == [9, 9]
    runs = runs_of(tmp_path)
    assert len(runs) == 42 and len({pid for pid, _ in runs}) == 2
    assert os.getpid() not in {pid for pid, _ in runs}
    assert len(list(tmp_path.glob("closed-*"))) == 2
    assert list(spread(Here(Squares(tmp_path)), items)) == expected


def test_each_worker_has_its_own_environment(client: Any) -> None:
    assert sorted(client.run(os.getenv, "CKGEN_HAND").values()) == ["0", "1"]


def test_what_the_check_raises_ends_the_wait(client: Any, tmp_path: Path) -> None:
    interrupted = threading.Event()

    def check() -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt

    pool = DaskPool(client, Squares(tmp_path), check)
    answers = spread(pool, list(range(40)))
    assert next(answers)
    interrupted.set()
    with pytest.raises(KeyboardInterrupt):
        list(answers)
    pool.close()


def test_an_item_without_a_request_is_skipped(client: Any, tmp_path: Path) -> None:
    def even(item: int) -> int | None:
        return None if item % 2 else item

    with pool_in(client, tmp_path) as pool:
        found = pool.spread(range(9), even, lambda item, why: 0, cost=lambda item: 1.0, group=lambda item: item)
        assert sorted(item for item, _ in found) == [0, 2, 4, 6, 8]


def test_a_killed_worker_costs_only_the_row_that_it_ran(client: Any, tmp_path: Path) -> None:
    """The worker of STUCK is killed in the middle: once the client has all that this worker finished before."""
    os.mkfifo(tmp_path / "told")
    os.mkfifo(tmp_path / "never")
    items = [*range(20), STUCK, *range(20, 40)]
    answered: list[tuple[int, int]] = []
    changed = threading.Condition()

    def kill() -> None:
        pid = int((tmp_path / "told").read_text())
        before = {request for process, request in runs_of(tmp_path) if process == pid} - {STUCK}
        with changed:
            assert changed.wait_for(lambda: before <= {item for item, _ in answered}, HANG_GUARD)
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pool_in(client, tmp_path) as pool:
        for pair in spread(pool, items):
            with changed:
                answered.append(pair)
                changed.notify()
    killer.join()
    assert sorted(answered) == sorted((item, item * item) for item in items)
    assert {request: n for request, n in Counter(r for _, r in runs_of(tmp_path)).items() if n > 1} == {STUCK: 2}


def test_a_single_request_survives_the_loss_of_its_worker(client: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    os.mkfifo(tmp_path / "never")
    killer = threading.Thread(target=lambda: os.kill(int((tmp_path / "told").read_text()), signal.SIGKILL))
    killer.start()
    with pool_in(client, tmp_path) as pool:
        assert pool.slots() == 2
        assert [pool.ask(request) for request in (STUCK, 3)] == [1, 9]
    killer.join()
    (first, _), (second, _), _ = runs_of(tmp_path)
    assert first != second


def test_an_item_that_ends_every_worker_is_given_up(client: Any, tmp_path: Path) -> None:
    with pool_in(client, tmp_path) as pool:
        items = [0, FATAL, 1, 2]
        found = pool.spread(
            items, lambda item: item, lambda item, why: why, cost=lambda item: 1.0, group=lambda item: item
        )  # type: ignore[arg-type, return-value]
        assert dict(found) == {0: 0, 1: 1, 2: 4, FATAL: "3 workers of the cluster were lost while they ran it"}


def test_an_error_of_a_worker_is_raised_here(client: Any, tmp_path: Path) -> None:
    with pool_in(client, tmp_path) as pool:
        with pytest.raises(CkgenError, match="no number") as raised:
            list(spread(pool, [1, WRONG]))
        assert raised.value.diagnostics[0].help == "take another"
        assert sorted(spread(pool, [1, 2])) == [(1, 1), (2, 4)]


def test_a_run_that_is_left_leaves_a_cluster_that_works(client: Any, tmp_path: Path) -> None:
    with pool_in(client, tmp_path) as pool:
        run = spread(pool, list(range(30)))
        next(run)
        run.close()
        assert sorted(spread(pool, [5, 6])) == [(5, 25), (6, 36)]


def test_a_second_run_ends_the_first_with_a_sentence(client: Any, tmp_path: Path) -> None:
    begun = pytest.raises(CkgenError, match="another ckgen has begun to use this cluster")
    with pool_in(client, tmp_path) as first, pool_in(client, tmp_path), begun:
        list(spread(first, [1]))


def test_a_worker_that_does_not_fit_is_refused(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client.wait_for_workers(2)
    with pytest.raises(CkgenError, match="cannot take part: this worker is not wanted"):
        DaskPool(client, Squares(tmp_path, allowed=False))
    monkeypatch.setattr(ckgen, "__version__", "9.9")
    address = client.scheduler.address
    differs = r"of the cluster has ckgen .*, this is ckgen 9\.9"
    with pytest.raises(CkgenError, match=differs), connected(address, hands=[]):
        pass
    with pytest.raises(CkgenError, match=r"cannot take part: it has ckgen .*, this is ckgen 9\.9"):
        DaskPool(client, Squares(tmp_path))


def test_workers_that_would_share_a_gpu_are_refused(client: Any, tmp_path: Path) -> None:
    client.wait_for_workers(2)
    address = client.scheduler.address
    refused = pool_of(address, Squares(tmp_path), platform="nvidia", hands=[])
    with pytest.raises(CkgenError, match="use the same GPU: CUDA_VISIBLE_DEVICES is not set"), refused:
        pass


def test_more_threads_than_one_are_refused_for_measurements(tmp_path: Path) -> None:
    with connected(LOCAL, hands=[{}], threads=2) as two:
        with pytest.raises(CkgenError, match="it has 2 threads and would run as many rows at a time"):
            DaskPool(two, Squares(tmp_path))
        pool = DaskPool(two, Squares(tmp_path, alone=False))
        assert sorted(spread(pool, [1, 2, 3])) == [(1, 1), (2, 4), (3, 9)]


def test_without_dask_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CkgenError, match="needs the package distributed") as raised, connected(LOCAL, hands=[{}]):
        pass
    assert raised.value.diagnostics[0].help == "pip install 'ckgen[cluster]'"


def test_a_scheduler_that_does_not_answer_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ckgen.cluster.connect._ANSWER_SECONDS", 0.1)
    silent = pytest.raises(CkgenError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:1")
    with silent, connected("tcp://127.0.0.1:1", hands=[]):
        pass

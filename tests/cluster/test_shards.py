"""Test the cut of work into shards: nothing lost, nothing twice, and the balance that is promised."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ckgen.cluster.shards import Shard, Shards, balanced, cut

COSTS = st.lists(st.floats(0.001, 1000), max_size=60)


@given(COSTS, st.integers(1, 9), st.integers(1, 7))
def test_a_cut_keeps_every_item_once_and_in_order(costs: list[float], parts: int, size: int) -> None:
    items = list(range(len(costs)))
    shards = cut(items, parts, cost=lambda item: costs[item], group=lambda item: item // size)
    assert [item for shard in shards for item, _ in shard.items] == items
    limit = sum(costs) / parts
    for shard in shards:
        own = [item for item, _ in shard.items]
        assert len({item // size for item in own}) == 1
        assert len(own) == 1 or sum(costs[item] for item in own) <= limit * (1 + 1e-9)


@given(COSTS, st.integers(1, 5), st.data())
def test_workers_that_come_and_go_get_every_item_once(costs: list[float], parts: int, data: st.DataObject) -> None:
    items = list(range(len(costs)))
    shards = Shards(cut(items, parts, cost=lambda item: costs[item], group=lambda item: item // 3))
    seen: list[int] = []
    while shards:
        there = data.draw(st.lists(st.sampled_from("abcd"), min_size=1, unique=True))
        shards.keep(there)
        for worker in there:
            item = shards.next_for(worker)
            if item is not None:
                seen.append(item)
    assert sorted(seen) == items
    assert shards.next_for("a") is None


def test_a_worker_keeps_its_shard_and_takes_half_of_another_at_the_end() -> None:
    shards = Shards(cut(list(range(8)), 1, cost=lambda item: 1.0, group=lambda item: 0))
    assert [shards.next_for("a"), shards.next_for("b"), shards.next_for("b"), shards.next_for("a")] == [0, 5, 6, 1]
    free: Shard[int] = Shard()
    free.add(9, 2.0)
    small: Shard[int] = Shard()
    small.add(8, 1.0)
    assert Shards([small, free]).next_for("a") == 9  # the costliest first


@given(COSTS, st.integers(1, 9))
def test_lists_are_disjoint_complete_and_balanced(costs: list[float], parts: int) -> None:
    items = list(range(len(costs)))
    lists = balanced(items, parts, cost=lambda item: costs[item])
    assert Counter(item for own in lists for item in own) == Counter(items)
    assert len(lists) == parts and all(own == sorted(own) for own in lists)
    totals = [sum(costs[item] for item in own) for own in lists]
    assert max(totals) <= sum(costs) / parts + max(costs, default=0) + 1e-6

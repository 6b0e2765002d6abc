"""Cut work into shards by predicted cost, and hand the shards to workers."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(slots=True)
class Shard(Generic[Item]):
    """Items that one worker runs in order, with the predicted cost of each; ``owner`` is that worker, once it has
    begun."""

    items: deque[tuple[Item, float]] = field(default_factory=deque)
    cost: float = 0.0
    owner: str | None = None

    def add(self, item: Item, cost: float) -> None:
        """Append an item."""
        self.items.append((item, cost))
        self.cost += cost

    def take(self) -> Item:
        """Remove the first item."""
        item, cost = self.items.popleft()
        self.cost -= cost
        return item

    def halve(self) -> Shard[Item]:
        """Remove items from the end, about half of the cost but at least one, and return them as a new shard."""
        tail: list[tuple[Item, float]] = []
        moved, half = 0.0, self.cost / 2
        while self.items and (not tail or moved + self.items[-1][1] <= half):
            tail.append(self.items.pop())
            moved += tail[-1][1]
        self.cost -= moved
        return Shard(deque(reversed(tail)), moved)


class Shards(Generic[Item]):
    """The shards of a run. A worker continues its own shard, then begins the costliest that nobody has, and at the end
    takes half of the costliest that another worker has."""

    def __init__(self, shards: Iterable[Shard[Item]]) -> None:
        self._shards = sorted(shards, key=lambda shard: -shard.cost)

    def __bool__(self) -> bool:
        return bool(self._shards)

    def next_for(self, worker: str) -> Item | None:
        """The next item for a worker; None if every item is taken."""
        if not self._shards:
            return None
        own = next((shard for shard in self._shards if shard.owner == worker), None)
        free = max((shard for shard in self._shards if shard.owner is None), key=lambda s: s.cost, default=None)
        shard = own or free or self._stolen()
        shard.owner = worker
        item = shard.take()
        self._shards = [other for other in self._shards if other.items]
        return item

    def keep(self, workers: Collection[str]) -> None:
        """Note which workers are there: the shards of all others are free again."""
        for shard in self._shards:
            if shard.owner is not None and shard.owner not in workers:
                shard.owner = None

    def _stolen(self) -> Shard[Item]:
        richest = max(self._shards, key=lambda shard: shard.cost)
        new = richest.halve()
        self._shards.append(new)
        return new


def cut(
    items: Sequence[Item], parts: int, *, cost: Callable[[Item], float], group: Callable[[Item], Hashable]
) -> list[Shard[Item]]:
    """Cut items into at least ``parts`` shards if there are enough. Adjacent items of a group share data, so they stay
    together unless their cost exceeds 1 / ``parts`` of the total. Costs are positive."""
    costs = [cost(item) for item in items]
    limit = sum(costs) / max(parts, 1)
    shards: list[Shard[Item]] = []
    before: Hashable = None
    for item, own in zip(items, costs, strict=True):
        key = group(item)
        if not shards or key != before or shards[-1].cost + own > limit:
            shards.append(Shard())
        shards[-1].add(item, own)
        before = key
    return shards


def balanced(items: Sequence[Item], parts: int, *, cost: Callable[[Item], float]) -> list[list[Item]]:
    """Divide items into ``parts`` lists of nearly equal cost: the costliest item first, each to the cheapest list.

    The costliest list costs at most the mean of the lists plus the costliest item. The items of a list keep their
    order.
    """
    lists: list[list[int]] = [[] for _ in range(parts)]
    totals = [(0.0, number) for number in range(parts)]
    for at in sorted(range(len(items)), key=lambda at: -cost(items[at])):
        total, number = heapq.heappop(totals)
        lists[number].append(at)
        heapq.heappush(totals, (total + cost(items[at]), number))
    return [[items[at] for at in sorted(own)] for own in lists]

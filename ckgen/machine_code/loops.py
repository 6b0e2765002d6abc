"""Loops of a kernel, and the hot path through each, which nearly all iterations take.

Basic blocks, dominators and natural loops are found in the standard way (Cooper, Harvey, Kennedy: "A Simple, Fast
Dominance Algorithm"). The hot path is this module's own rule: of all paths from a loop's head back to it, the one with
the most matrix and memory instructions, and of these the shortest. This excludes the last iteration, which issues no
loads, and the rare block that moves a window to the next gigabyte, which is only arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.machine_code.assembly import Instruction, Kernel

_WORK = frozenset(("matrix", "lds_read", "lds_write", "global_load", "to_lds", "global_store", "barrier"))
_ALWAYS = ("s_branch", "s_setpc_b64")


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: all its instructions in text order, those of the hot path in execution order, and the number of
    loops nested in it."""

    body: tuple[Instruction, ...]
    hot: tuple[Instruction, ...]
    inner: int


@dataclass(frozen=True, slots=True)
class _Graph:
    """Basic blocks as ranges of instructions, in text order; edges are block numbers."""

    ranges: tuple[tuple[int, int], ...]
    successors: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]  # reachable blocks in reverse postorder
    dominator: dict[int, int]  # the immediate dominator; the entry's is itself

    def dominates(self, above: int, block: int) -> bool:
        while block != above and block != 0:
            block = self.dominator[block]
        return block == above


def find_loops(kernel: Kernel) -> tuple[Loop, ...]:
    """Find the natural loops of a kernel, in the order of their heads."""
    graph = _graph(kernel)
    bodies: dict[int, set[int]] = {}
    predecessors = _reverse(graph)
    for block in graph.order:
        for head in graph.successors[block]:
            if graph.dominates(head, block):
                body = bodies.setdefault(head, {head})
                _grow(body, block, predecessors)
    loops = []
    for head, body in sorted(bodies.items()):
        inner = sum(1 for other, blocks in bodies.items() if other != head and blocks < body)
        hot = _hot_path(kernel, graph, head, body)
        loops.append(Loop(_instructions(kernel, graph, sorted(body)), _instructions(kernel, graph, hot), inner))
    return tuple(loops)


def _graph(kernel: Kernel) -> _Graph:
    code = kernel.instructions
    starts = {0, *(position for position in kernel.labels.values() if position < len(code))}
    starts |= {i + 1 for i, item in enumerate(code[:-1]) if item.kind == "branch" or item.mnemonic == "s_endpgm"}
    heads = sorted(starts)
    ranges = tuple(zip(heads, [*heads[1:], len(code)], strict=True))
    number = {start: index for index, start in enumerate(heads)}
    successors = []
    for index, (_, end) in enumerate(ranges):
        last, targets = code[end - 1], []
        if last.kind == "branch":
            target = kernel.labels.get(last.operands.split(",")[-1].strip())
            targets += [number[target]] if target in number else []
        if last.mnemonic not in (*_ALWAYS, "s_endpgm") and index + 1 < len(ranges):
            targets.append(index + 1)
        successors.append(tuple(dict.fromkeys(targets)))
    order = _reverse_postorder(successors)
    return _Graph(ranges, tuple(successors), order, _dominators(successors, order))


def _reverse_postorder(successors: list[tuple[int, ...]]) -> tuple[int, ...]:
    seen, done = {0}, []
    stack = [(0, iter(successors[0]))]
    while stack:
        block, rest = stack[-1]
        following = next((item for item in rest if item not in seen), None)
        if following is None:
            done.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(successors[following])))
    return tuple(reversed(done))


def _dominators(successors: list[tuple[int, ...]], order: tuple[int, ...]) -> dict[int, int]:
    place = {block: index for index, block in enumerate(order)}
    predecessors: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for target in successors[block]:
            predecessors[target].append(block)
    found, changed = {0: 0}, True
    while changed:
        changed = False
        for block in order[1:]:
            known = [item for item in predecessors[block] if item in found]
            best = known[0]
            for other in known[1:]:
                while best != other:
                    if place[best] > place[other]:
                        best = found[best]
                    else:
                        other = found[other]
            if found.get(block) != best:
                found[block], changed = best, True
    return found


def _reverse(graph: _Graph) -> dict[int, list[int]]:
    reverse: dict[int, list[int]] = {block: [] for block in graph.order}
    for block in graph.order:
        for target in graph.successors[block]:
            reverse[target].append(block)
    return reverse


def _grow(body: set[int], latch: int, predecessors: dict[int, list[int]]) -> None:
    """Add all blocks to a loop's body that reach its latch without passing its head, which is already in the body."""
    pending = [latch]
    while pending:
        block = pending.pop()
        if block not in body:
            body.add(block)
            pending += predecessors[block]


def _hot_path(kernel: Kernel, graph: _Graph, head: int, body: set[int]) -> list[int]:
    """Find the blocks of the hot path. Back edges are not followed, so an inner loop counts once."""
    best: dict[int, tuple[int, int, tuple[int, ...]]] = {}  # work, minus length, path from the block to the latch
    for block in reversed([item for item in graph.order if item in body]):
        start, end = graph.ranges[block]
        work = sum(item.kind in _WORK for item in kernel.instructions[start:end])
        ways: list[tuple[int, int, tuple[int, ...]]] = []
        for target in graph.successors[block]:
            if target == head:
                ways.append((0, 0, ()))
            elif target in best and not graph.dominates(target, block):
                ways.append(best[target])
        if ways:
            rest = max(ways, key=lambda way: way[:2])
            best[block] = work + rest[0], start - end + rest[1], (block, *rest[2])
    return list(best[head][2])


def _instructions(kernel: Kernel, graph: _Graph, blocks: list[int]) -> tuple[Instruction, ...]:
    return tuple(item for block in blocks for item in kernel.instructions[slice(*graph.ranges[block])])

"""The rules of backward data alone: A lies along GEMM-K, and its tile is copied slot by slot.

That whole reads fill a slot follows from rule vector-width.
"""

from __future__ import annotations

from ckgen.instance.rule import Rule
from ckgen.operations.operation import BWD_DATA

DATA_RULES: tuple[Rule, ...] = (
    Rule(
        "channels-first-vectors",
        "domain",
        "channels_last or (a_vector == 1 and c_vector == 1)",
        "where channels do not come last, output and input are accessed one element at a time",
        "vectors of {a_vector} (A) and {c_vector} (C) elements, and the channels of {layout} are not last",
        "give `vector` a: 1 and c: 1, or take a layout with the channels last",
        "The channels that a thread takes lie a plane of positions apart in a layout like NGKHW/GKYXC/NGCHW.",
        ("vector", "layout"),
        operations=(BWD_DATA,),
    ),
    Rule(
        "a-slot-cover",
        "instance",
        "a_slices >= 1 and a_slices * k1 * copy_threads == m_per_block * k_per_block and copy_threads % planes == 0",
        "the copy threads fill the slots of A's tile in equal numbers, and whole rows at a time",
        "{copy_threads} threads x {k1} elements do not cover A's {m_per_block}x{k_per_block}",
        "use fewer copy waves or a larger tile",
        "A branch-free copy gives every thread the same number of slots, always of the same part of a row.",
        ("tile", "k_per_block", "wave_ratio", "block_size"),
        operations=(BWD_DATA,),
    ),
)

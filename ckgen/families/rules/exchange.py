"""The rules of the key `exchange` of backward weight, with which the input is operand A and the output operand B."""

from __future__ import annotations

from ckgen.families.rule import Rule
from ckgen.operations.operation import BWD_WEIGHT

EXCHANGE_RULES: tuple[Rule, ...] = (
    Rule(
        id="exchange-spec",
        scope="domain",
        condition="not exchange or (not generic and not pointwise and groups_to_merge == 1)",
        sentence="input and output are exchanged with conv_spec Default, without merged groups, in no generic instance",
        message="exchange with conv_spec {conv_spec} and {groups_to_merge} merged groups",
        help="use conv_spec Default, leave `generic` and `groups_to_merge` out",
        reason=(
            "Exchanged products are of stride 1 only, which a generic instance could not promise. Of one tap, they are"
            " the transposed product, for which a tile of other proportions does as well."
        ),
        blame=("exchange", "conv_spec", "generic", "groups_to_merge"),
        operations=(BWD_WEIGHT,),
    ),
    Rule(
        id="exchange-writes",
        scope="domain",
        condition="not exchange or c_vector == 1",
        sentence="with input and output exchanged, weights are written one at a time",
        message="exchange with a c vector of {c_vector}",
        help="give `vector` c: 1",
        reason="Neighbouring columns of the product are output channels of a tap, which are far apart in the weight.",
        blame=("vector", "exchange"),
        operations=(BWD_WEIGHT,),
    ),
)

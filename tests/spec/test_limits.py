"""Tests of `limits:` against machine code: the nearest layer counts, and messages name the place of the limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ckgen.machine_code.analyse import CodeReport
from ckgen.spec.expand import Expansion
from ckgen.spec.limits import check_limits, limits_of
from tests.machine_code.test_table import report
from tests.support.specs import WAVELET, XDL, expand_groups


def codes(expansion: Expansion) -> list[CodeReport]:
    """An invented report for each instance."""
    return [report(i.name, load=bool(i.load_waves)) for i in expansion.instances]


def broken(*groups: dict[str, Any], **defaults: Any) -> list[str]:
    expansion = expand_groups(*groups, defaults=defaults)
    return [diagnostic.message.partition(": ")[2] for diagnostic in check_limits(expansion, codes(expansion))]


def test_each_limit_is_checked() -> None:
    limits = {"spills": 2, "scratch": 0, "vgprs": 64, "lds_bytes": 1024, "code_bytes": 20000, "waves": 4.5}
    assert broken({**XDL, "limits": limits}) == [
        "3 spilled registers, at most 2",
        "88 vector registers, at most 64",
        "32768 bytes of LDS, at most 1024",
        "21992 bytes of code, at most 20000",
        "4 waves per SIMD, at least 4.5",
    ]
    assert broken({**XDL, "limits": {"spills": 3, "vgprs": 88, "lds_bytes": 32768, "waves": 4}}) == []


def test_loops_have_limits_of_their_own() -> None:
    limits = {"math": {"valu_per_matrix": 0.18, "valu_per_tile": 3}, "load": {"valu_per_tile": 16, "exposed_loads": 5}}
    assert broken({**WAVELET, "limits": limits}) == [
        "0.1875 VALU instructions per matrix instruction in the math loop, at most 0.18",
        "123 VALU instructions per tile in the load loop, at most 16",
        "6 loads waited for at once in the load loop, at most 5",
    ]


def test_the_group_comes_before_the_family_and_that_before_all() -> None:
    defaults = {"limits": {"spills": 0, "vgprs": 10}, "xdl": {"limits": {"vgprs": 20, "main": {"valu_per_tile": 1}}}}
    expansion = expand_groups({**XDL, "limits": {"main": {"valu_per_tile": 2}}}, WAVELET, defaults=defaults)
    xdl, wavelet = (limits_of(expansion.spec, index) for index in (0, 1))
    assert {(limit.role, limit.key): limit.value for limit in xdl} == {
        ("", "spills"): 0,
        ("", "vgprs"): 20,
        ("main", "valu_per_tile"): 2,
    }
    assert {limit.key: limit.value for limit in wavelet} == {"spills": 0, "vgprs": 10}


def test_a_broken_limit_is_told_with_its_place() -> None:
    expansion = expand_groups({**XDL, "limits": {"main": {"valu_per_matrix": 0}}})
    (found,) = check_limits(expansion, codes(expansion))
    assert found.place is not None and found.rule == "isa-limit"
    assert expansion.spec.document.text.splitlines()[found.place.line - 1].strip() == "valu_per_matrix: 0"
    assert found.message.startswith(f"{expansion.instances[0].name} for gfx942: 0.1875")


def test_a_loop_without_matrix_instructions_has_no_ratio_to_limit() -> None:
    expansion = expand_groups({**XDL, "limits": {"main": {"valu_per_matrix": 0}}})
    (code,) = codes(expansion)
    (loop,) = code.loops
    plain = replace(code, loops=(replace(loop, hot=replace(loop.hot, matrix=0)),))
    assert check_limits(expansion, [plain]) == []

"""Test the copies that only CK's rows have: narrow LDS writes, slices that fill a part of a slot, and other K1."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ckgen.ck.exporting import has_row, type_string
from ckgen.conv.problem import make_problem
from ckgen.instance.instance import Instance, parse
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from ckgen.problems.sets import NamedProblem
from ckgen.verify.plan import make_plan
from ckgen.verify.smoke import run_plan
from tests.support.cxx import compile_with, link, run_instance, write_tree
from tests.support.specs import default_expansion

pytestmark = pytest.mark.compiles

PREFIX = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk"
DATA_PREFIX = "grouped_conv2d_bwd_data_xdl_nhwgk_gkyxc_nhwgc"
WEIGHT = (
    f"{PREFIX}_f16_default_128x32x32_w0x2_xdl32_v8x2x2_lds4x1_s1",  # pairs of columns, single elements to LDS
    f"{PREFIX}_bf16_f32_bf16_default_128x32x32_w0x2_xdl32_v8x1x1_lds4x1_s1",  # a slice fills half of B's slots
    f"{PREFIX}_bf16_f32_bf16_default_32x64x32_w0x1_xdl32_v1x8x4_lds2x4_s1",  # the same for A, 4 bytes to LDS
    f"{PREFIX}_bf16_1x1s1p0_32x128x32_w0x2_xdl32_v8x8x8_lds1x4_s1",
)
DATA = (
    f"{DATA_PREFIX}_f16_default_128x256x32_w0x4_xdl32_v8x4x8_k8x2_s1",
    f"{DATA_PREFIX}_bf16_default_128x32x32_w0x2_xdl32_v8x8x8_lds8x1_s1",
    f"{DATA_PREFIX}_f32_default_64x64x32_w0x1_xdl32_v1x1x1_k8x8_s1",
    f"{DATA_PREFIX}_f32_default_32x64x32_w0x1_xdl32_v8x8x4_k8x8_s1",  # reads of 32 bytes
)

BYTES_PREFIX = "grouped_conv3d_bwd_weight_xdl_ndhwgc_gkzyxc_ndhwgk_f16_comp_bf8_f8"
BYTES_DATA = "grouped_conv3d_bwd_data_xdl_ndhwgk_gkzyxc_ndhwgc_f16_comp_bf8_f8"
INT8 = "grouped_conv3d_bwd_weight_wmma_ndhwgc_gkzyxc_ndhwgk_i8"
INT8_DATA = "grouped_conv3d_bwd_data_wmma_gndhwk_gkzyxc_gndhwc_i8"
BYTES = (
    f"{BYTES_PREFIX}_default_64x128x32_w0x4_xdl32_v8x8x8_lds1x2_k8x8_s1",  # single bytes and pairs to LDS
    f"{BYTES_PREFIX}_default_128x32x32_w0x2_xdl32_v8x2x2_lds4x1_k8x8_s1",
    f"{BYTES_PREFIX}_1x1s1p0_32x64x32_w0x1_xdl32_v2x8x8_lds2x4_k8x8_s1",
    f"{BYTES_DATA}_default_128x256x32_w0x4_xdl32_v4x4x4_lds16x2_k8x2_s1",
    f"{BYTES_DATA}_default_128x32x32_w0x2_xdl32_v4x1x1_k8x8_s1",
    f"{INT8}_default_64x64x32_w0x4_xdl16_v1x1x1_k8x8_s1",
    f"{INT8}_1x1s1p0_16x64x64_w0x1_xdl16_v4x16x8_k8x8_s1",
    f"{INT8_DATA}_default_32x64x128_w0x2_xdl16_v16x8x8_s1",
)


# CK's rows of newer versions: K1 is two slots.
WIDE_K1 = tuple(
    parse(f"{PREFIX}_f32_{rest}")
    for rest in (
        "default_64x64x64_w0x4_xdl32_v4x4x4_k8x8_s1",
        "1x1s1p0_16x16x32_w0x1_xdl16_v1x1x2_k8x8_p2_s1",
    )
)


def one_of_each_kind() -> tuple[Instance, ...]:
    """An instance of set `full` for each combination of the values that decide about a type string."""
    expansion = default_expansion()
    full = set(expansion.sets["full"])
    kinds: dict[tuple[object, ...], Instance] = {}
    for made in filter(has_row, expansion.instances):
        given = (made.given_write, made.given_k1, made.given_pipeline, made.given_transpose)
        if made.name in full:
            kinds.setdefault((made.operation, made.family, made.compute_bytes, *given), made)
    return tuple(kinds.values())


def rows(names: tuple[str, ...]) -> tuple[Instance, ...]:
    expansion = default_expansion()
    found = tuple(made for made in expansion.instances if made.name in names)
    assert {made.name for made in found} == set(names) <= set(expansion.sets["ck_rows"])
    return found


@pytest.mark.parametrize("flags", [[], ["-DCKGEN_HOST_TRANSPOSING_LDS=1"]], ids=["slots", "transposing"])
def test_rows_of_backward_weight(tmp_path: Path, flags: list[str]) -> None:
    library = Library(link(tmp_path, write_tree(tmp_path, rows(WEIGHT)), flags))
    default = make_problem(groups=2, batch=3, k=24, c=16, filter=[3, 3], input=[9, 11], pad=1)
    pointwise = make_problem(batch=3, k=72, c=16, filter=[1, 1], input=[9, 11])
    for name in WEIGHT:
        for split_k in (1, 2):
            library.configure_host(seed=split_k)
            run_instance(library, name, pointwise if "1x1s1p0" in name else default, split_k)


def test_rows_of_backward_data(tmp_path: Path) -> None:
    library = Library(link(tmp_path, write_tree(tmp_path, rows(DATA))))
    problem = make_problem(groups=2, batch=2, k=40, c=48, filter=[3, 3], input=[9, 11], pad=1, stride=2)
    plan = make_plan(library, [NamedProblem("strided", problem)], names=list(DATA), split_ks=(1, 2), everything=True)
    done = list(run_plan(library, plan, seed=3))
    assert {library.instance(case.instance).operation for case in plan.cases} == {BWD_DATA}
    assert len(done) == 2 * len(DATA) and [row for row in done if not row.ok] == []


def test_rows_with_operands_of_8_bits(tmp_path: Path) -> None:
    library = Library(link(tmp_path, write_tree(tmp_path, rows(BYTES))))
    problem = make_problem(groups=2, batch=2, k=48, c=40, filter=[3, 2, 1], input=[5, 6, 3], pad=1, stride=[2, 1, 1])
    pointwise = make_problem(groups=2, batch=3, k=80, c=16, filter=[1, 1, 1], input=[4, 5, 3])
    named = [NamedProblem("strided", problem), NamedProblem("pointwise", pointwise)]
    plan = make_plan(library, named, names=list(BYTES), split_ks=(1, 2), everything=True)
    done = list(run_plan(library, plan, seed=7))
    assert {case.instance for case in plan.cases} == set(BYTES)
    assert [row for row in done if not row.ok] == []


def test_rows_whose_k1_is_two_slots(tmp_path: Path) -> None:
    library = Library(link(tmp_path, write_tree(tmp_path, WIDE_K1)))
    problem = make_problem(groups=2, batch=3, k=20, c=12, filter=[1, 1], input=[9, 7])
    for made in WIDE_K1:
        assert library.type_string(made.name) == type_string(made)
        run_instance(library, made.name, problem, 2)
    assert ", 8, Default, 8, " in type_string(WIDE_K1[0]) and ", Filter1x1Stride1Pad0, 8, " in type_string(WIDE_K1[1])


def test_type_strings_are_those_of_the_library(tmp_path: Path) -> None:
    kinds = one_of_each_kind()
    assert len(kinds) >= 30
    library = Library(link(tmp_path, write_tree(tmp_path, kinds)))
    different = {made.name for made in kinds if library.type_string(made.name) != type_string(made)}
    assert different == set()


# Accesses of threads to one word of LDS: thread, byte, bytes, write or read; `|` is a barrier.
PARTS = """#include <cstdlib>
#include <iostream>
#include <sstream>
#include "ckgen/platform/host_lds.hpp"
int main(int, char** argv) {
    ckgen::platform::CheckedLds lds;
    lds.prepare(64, 64);
    lds.begin();
    std::istringstream words(argv[1]);
    std::string word;
    try {
        while(words >> word) {
            int thread = 0, offset = 0, bytes = 0;
            char way = 'r';
            if(word == "|") {
                lds.pass_barrier();
                continue;
            }
            std::sscanf(word.c_str(), "%d:%d+%d%c", &thread, &offset, &bytes, &way);
            lds.access(lds.by_thread(thread, ckgen::platform::Site::here()), offset, bytes, way == 'w');
        }
    } catch(const ckgen::platform::HostError& error) {
        std::cout << error.what();
    }
}
"""
SAID = {
    "1:0+2w 2:2+2w | 3:0+4r": "",
    "1:0+2w 1:2+2w 1:0+4r": "",
    "1:0+4w | 2:2+2w | 3:0+4r": "",
    "1:0+2w 2:2+2w | 3:0+2w 4:2+2w | 5:0+4r": "",
    "1:2+2w 2:2+2w": "LDS race at offset 0: write by",
    "1:0+2w 2:2+2w 3:0+4r": "LDS race at offset 0: read by",
    "1:0+2w 2:2+2w 3:0+4w": "LDS race at offset 0: write by",
    "1:0+4w 2:2+2w": "LDS race at offset 0: write by",
    "1:0+4w | 3:0+4r 2:2+2w": "LDS race at offset 0: write by",
    "1:0+2w | 2:0+4r": "LDS read of bytes that nobody wrote",
    "1:0+1w 2:1+1w 3:2+2w | 4:0+4r": "",
    "1:0+1w 2:1+1w 3:3+1w | 4:0+4r": "LDS read of bytes that nobody wrote",
    "1:0+2w 2:1+1w": "LDS race at offset 0: write by",
    "1:0+1w 1:0+1r": "",
    "1:0+4w | 2:2+2r 3:0+2r": "",
    "1:0+2w | 2:0+2r 3:0+1r": "",
    "1:0+2w | 2:2+2r": "LDS read of bytes that nobody wrote",
    "1:0+4w 2:0+2r": "LDS race at offset 0: read by",
    "1:0+4w | 2:2+2r 3:2+2w": "LDS race at offset 0: write by",
    "1:1+2w": "is neither made of whole 4-byte words nor a part of one",
    "1:0+4w 1:1+2r": "is neither made of whole 4-byte words nor a part of one",
}


def test_threads_may_access_parts_of_a_word(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, rows(WEIGHT[:1]))
    (tmp_path / "parts.cpp").write_text(PARTS, encoding="utf-8")
    compile_with(tmp_path, [f"-I{tree / 'include'}", "parts.cpp", "-o", "parts"])
    for accesses, message in SAID.items():
        done = subprocess.run([tmp_path / "parts", accesses], capture_output=True, text=True, check=True)
        assert message in done.stdout and bool(message) == bool(done.stdout), (accesses, done.stdout)

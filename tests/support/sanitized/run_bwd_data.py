"""Run hand-made instances of backward data on a few problems.

test_bwd_data_sanitized.py starts `python -m tests.support.sanitized.run_bwd_data LIBRARY` with the sanitizers' runtime
preloaded.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

from ckgen.conv.problem import make_problem
from ckgen.elementwise.function import BUILTINS
from tests.support.bwd_data_library import BwdDataLibrary, Fused, Given, check, random_storage

ODD = make_problem(groups=2, batch=2, k=9, c=5, filter=[2, 3], input=[6, 9], dilation=[2, 1], stride=[3, 2], pad=[1, 2])
WHOLE = make_problem(groups=2, batch=2, k=40, c=24, filter=[3, 3], input=[7, 6], pad=1, stride=2)
POINT = make_problem(groups=2, batch=3, k=72, c=40, filter=[1, 1], input=[5, 5])
DEEP = make_problem(batch=2, k=8, c=8, filter=[2, 1, 3], input=[4, 3, 5], pad=[1, 0, 1], stride=[1, 2, 2])


def main(path: str) -> None:
    library, rng = BwdDataLibrary(Path(path)), random.Random(1)
    for split_k in (1, 3):
        for name, dtype in (("generic_2d_f16", "f16"), ("generic_2d_f32", "f32"), ("generic_ngchw_f16", "f16")):
            layout = "NGCHW/GKYXC/NGKHW" if "ngchw" in name else ""
            for problem in (ODD, WHOLE, POINT):
                check(library, name, problem, dtype, layout, split_k=split_k, seed=rng.randrange(99))
        for name, dtype in (("wide_2d_f16", "f16"), ("wide_2d_f32", "f32"), ("wavelet_f16", "f16")):
            for problem in (WHOLE, POINT):
                check(library, name, problem, dtype, split_k=split_k)
        for problem in (ODD, WHOLE, POINT):  # of a weight whose channels come first, in a copy
            check(library, "copied_ngchw_f16", problem, "f16", "NGCHW/GKCYX/NGKHW", split_k=split_k)
        check(library, "pointwise_2d_f16", POINT, "f16", split_k=split_k)
        check(library, "generic_3d_f32", DEEP, "f32", split_k=split_k)
        for in_place in (False, True):
            d = Given(
                random_storage(np.random.default_rng(1), WHOLE.shape("in", "NHWGC/GKYXC/NHWGK"), "f16"), "f16", "NHWGC"
            )
            fusion = Fused(BUILTINS["AddResidual"], {"d0": d}, in_place=in_place)
            check(library, "residual_f16", WHOLE, "f16", split_k=split_k, fusion=fusion)
    print("without a report")


if __name__ == "__main__":
    main(sys.argv[1])

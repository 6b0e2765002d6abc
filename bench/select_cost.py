"""Measure the time of a selection in C++: python bench/select_cost.py LIBRARY [--arch sm_90a] [--problems 200]

Asks ckgen_select of the C API for the best instance of random layers of the zoo, each for the first time, and prints
microseconds per call: the median and the 95th percentile. A call orders the candidates of the problem by the model of
time, and checks that the first of them supports it.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import statistics
import sys
import time

from ckgen.conv.layout import tensors_first_to_last
from ckgen.library.c_api import CCandidate, CProblem
from ckgen.library.library import Library
from ckgen.operations.operation import OPERATIONS
from ckgen.problems.sets import load_problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--problems", type=int, default=200)
    options = parser.parse_args()
    library = Library(options.library)
    draw = random.Random(5)
    found, count = (CCandidate * 1)(), ctypes.c_int32()
    taken = []
    for named in draw.sample(load_problems("zoo"), options.problems):
        operation = OPERATIONS[draw.choice(sorted(OPERATIONS))]
        layout = operation.home(named.problem.ndim)
        words = operation.name, tensors_first_to_last(layout), "f16", None, options.arch
        texts = [word.encode() if word else None for word in words]
        problem = CProblem.make(named.problem, layout, 1)
        begin = time.perf_counter()
        status = library._api.ckgen_select(*texts, ctypes.byref(problem), 0, 0, 0, 1, found, ctypes.byref(count))
        if status == 0:
            taken.append((time.perf_counter() - begin) * 1e6)
    middle, last = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
    print(f"{len(taken)} problems, {len(library.names)} instances: {middle:.1f} us, 95 %: {last:.1f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())

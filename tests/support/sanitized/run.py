"""Run every instance of a library on a few problems: `python -m tests.support.sanitized.run LIBRARY`, started by
test_sanitizers.py with the sanitizers' runtime preloaded."""

from __future__ import annotations

import sys

from ckgen.conv.problem import make_problem
from ckgen.library.library import Library
from tests.support.cxx import run_instance

PROBLEMS = {
    1: [make_problem(groups=2, batch=3, k=9, c=5, filter=[3], input=[11], pad=[2], right_pad=[0], stride=2)],
    2: [
        make_problem(groups=2, batch=2, k=24, c=16, filter=[3, 3], input=[7, 6], pad=1),
        make_problem(batch=3, k=16, c=40, filter=[1, 1], input=[5, 5]),
        make_problem(batch=2, k=9, c=64, filter=[3, 3], input=[5, 6], stride=[1, 2], pad=1),
        make_problem(groups=9, batch=2, k=8, c=8, filter=[3, 3], input=[9, 11], pad=1),
        make_problem(batch=1, k=3, c=7, filter=[2, 3], input=[6, 9], dilation=[2, 1], stride=[3, 2], pad=[1, 2]),
    ],
    3: [make_problem(batch=2, k=8, c=8, filter=[2, 1, 3], input=[4, 3, 5], pad=[1, 0, 1])],
}


def main(path: str) -> None:
    library = Library(path)
    runs = 0
    for instance in library.instances:
        for problem in PROBLEMS[instance.ndim]:
            for split_k in (1, 3):
                if library.unsupported_reason(instance.name, problem, split_k=split_k) is None:
                    run_instance(library, instance.name, problem, split_k)
                    runs += 1
    assert runs >= 2 * len(library.instances), "an instance did not run"
    print(f"{runs} runs without a report")


if __name__ == "__main__":
    main(sys.argv[1])

"""The work of `ckgen smoke --cluster`: each worker checks cases in its own child process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.cluster.child import ChildGone, ChildProcess
from ckgen.cluster.pool import Pool
from ckgen.library.digest import check_library
from ckgen.library.library import Library
from ckgen.verify.plan import Case, Plan
from ckgen.verify.smoke import Checker, Row, gap_row

_CASE_SECONDS = 3600.0
_FIXED_COST = 1_000_000  # of a case, in multiply-accumulates


@dataclass(frozen=True, slots=True)
class Checking:
    """Check cases of a library, which every worker has under the same path."""

    library: Path
    digest: str
    platform: str
    seed: int
    alone: bool = True

    def check(self) -> None:
        """Raise CkgenError if the library is not here or is another one."""
        check_library(self.library, self.digest)

    def open(self) -> CheckSession:
        """A session with its own child process."""
        return CheckSession(self)


class CheckSession:
    """Checks cases of one library one after another. A case that ends its process is a failed row."""

    def __init__(self, work: Checking) -> None:
        self._platform = work.platform
        self._child = ChildProcess(open_checker, work.library, work.seed)

    def __call__(self, case: Case) -> Row:
        """Run and check one case."""
        try:
            row: Row = self._child.ask(_CASE_SECONDS, case)
            return row
        except ChildGone as gone:
            return failed(self._platform, case, gone.message)

    def close(self) -> None:
        """End the child process."""
        self._child.close()


def open_checker(library: Path, seed: int) -> Callable[..., tuple[Any, bool]]:
    """Load a library; for ``ChildProcess``. A process that lost its GPU ends, so that the next case gets a new one."""
    checker = Checker(Library(library), seed)
    return lambda case: (checker(case), checker.lost is not None)


def failed(platform: str, case: Case, reason: str) -> Row:
    """The row of a case without a result."""
    return Row(case.instance, platform, str(case.problem), case.split_k, None, None, None, f"FAIL: {reason}")


def spread_plan(
    pool: Pool[Case, Row], plan: Plan, platform: str, *, allow_uncovered: bool = False
) -> Iterator[tuple[int, Row]]:
    """The rows of a plan with their places in it: its gaps first, then every case as it finishes."""
    for at, gap in enumerate(plan.gaps):
        yield at - len(plan.gaps), gap_row(platform, gap, allow_uncovered=allow_uncovered)
    answers = pool.spread(
        list(enumerate(plan.cases)),
        lambda item: item[1],
        lambda item, why: failed(platform, item[1], why),
        cost=lambda item: item[1].problem.problem.flops / 2 + _FIXED_COST,
        group=lambda item: item[1].problem.name,
    )
    for (at, _), row in answers:
        yield at, row

"""Named problems: the sets that come with ckgen and a user's own, in YAML."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.problem import ConvProblem


@dataclass(frozen=True, slots=True)
class NamedProblem:
    """A problem with a name. ``original`` is the full-size problem where this one was scaled down to fit a
    run."""

    name: str
    problem: ConvProblem
    original: ConvProblem | None = None

    def fitted(self, max_macs: int) -> NamedProblem:
        """This problem with at most ``max_macs`` multiply-accumulates if scaling can reach that, see
        ConvProblem."""
        small = self.problem.fitted(max_macs)
        return (
            self if small == self.problem else NamedProblem(self.name, small, self.original or self.problem)
        )

    def __str__(self) -> str:
        if self.original is None:
            return f"{self.name}: {self.problem}"
        size = "x".join(str(edge) for edge in self.original.input)
        return f"{self.name}: {self.problem} (scaled from N{self.original.batch} on {size})"

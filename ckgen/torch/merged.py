"""Several libraries as one: what plans need of a Library, for libraries that are built while the process runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ckgen.elementwise.function import PASS_THROUGH
from ckgen.jit.background import Background
from ckgen.jit.instances import Need
from ckgen.library.c_api import CProblem, UnsupportedProblem
from ckgen.library.library import Library
from ckgen.library.prepared import Prepared
from ckgen.selection.candidates import Choice


class Merged:
    """The libraries of a background that were asked for so far. Members are those of Library."""

    def __init__(self, background: Background) -> None:
        self.platform = background.target.platform
        self.path = f"the libraries built for {background.target.arch}"
        self._background = background
        self._libraries: dict[Path, Library] = {}
        self._holders: dict[str, Library] = {}

    @property
    def memory(self) -> Merged:
        """The object itself, whose ``using`` is the one of a library's memory."""
        return self

    @contextmanager
    def using(self, device: int | None) -> Iterator[None]:
        """Make a GPU the current one of all libraries for the block's duration."""
        with ExitStack() as stack:
            for library in self._libraries.values():
                stack.enter_context(library.memory.using(device))
            yield

    def hold(self, paths: Mapping[str, Path]) -> None:
        """Load the libraries of these instances. Raise LibraryError."""
        for name in [name for name in paths if name not in self._holders]:
            path = paths[name]
            if path not in self._libraries:
                self._libraries[path] = Library(path)
            self._holders[name] = self._libraries[path]

    def candidates_for(
        self,
        c_problem: CProblem,
        dtype: str,
        layout: str,
        arch: str | None,
        addresses: tuple[int, int, int],
        most: int | None = None,
        function: str = PASS_THROUGH,
        operation: str | None = None,
    ) -> tuple[Choice, ...]:
        """The candidates of all libraries, in the order that a library with all these instances has."""
        found: dict[str, Choice] = {}
        for library in self._libraries.values():
            with suppress(UnsupportedProblem):
                words = c_problem, dtype, layout, arch, addresses, None, function, operation
                found |= {choice.name: choice for choice in library.candidates_for(*words)}
        if not found:
            raise UnsupportedProblem(self.path, f"they have no instance for {operation} in {dtype} that takes it")
        order = self._background.ranked(Need(operation or "", dtype, layout, c_problem.problem()))
        places = {name: at for at, name in enumerate(order)}
        ranked = sorted(found.values(), key=lambda choice: places.get(choice.name, len(places)))
        return tuple(ranked[:most])

    def prepare(self, name: str, c_problem: CProblem, addresses: tuple[int, int, int]) -> Prepared:
        """A run of an instance. Raise UnsupportedProblem, even for an instance that none of them has."""
        if name not in self._holders:
            raise UnsupportedProblem(name, "it is not built")
        return self._holders[name].prepare(name, c_problem, addresses)

"""Libraries that tests run: stand-ins compiled in a second, and the real host libraries of sets `quick` and `ci`; and
which tests `make test` chooses.

Markers (pyproject.toml) are given here by fixture: a test of a library compiles. What else starts a compiler is marked
where it stands, which tests.support.compilers enforces.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest

from ckgen.generate.known import SWITCH
from ckgen.library.library import Library
from tests.support import compilers
from tests.support.stub_library import compile_stub

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
StubMaker = Callable[..., Library]
# Fixtures that are compiled; those of `make test` among them take a second, or a minute that all their tests share.
QUICK_FIXTURES = {"stub", "make_stub", "stub_folder", "quick_library"}
SLOW_FIXTURES = {"host_library", "torch_library"}

if importlib.util.find_spec("hypothesis"):  # which a machine that only runs may lack
    from hypothesis import HealthCheck, settings

    # A loaded machine is no reason to fail: no deadlines, no complaint that drawing examples is slow.
    settings.register_profile("ckgen", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("ckgen")


def pytest_configure() -> None:
    compilers.install()
    if shutil.which("ccache"):  # builds in different folders share objects
        shared = {"CCACHE_DIR": str(BUILD / "ccache"), "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
        shared |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_SLOPPINESS": "locale"}
        os.environ |= shared | os.environ
    # Temporary folders are below ccache's base folder too. git must not find this repository from there.
    BUILD.mkdir(exist_ok=True)
    os.environ |= {"PYTEST_DEBUG_TEMPROOT": str(BUILD), "GIT_CEILING_DIRECTORIES": str(BUILD)} | os.environ
    os.environ[SWITCH] = "1"  # a test may replace a part of ckgen that the cache's keys take from the files


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark by fixtures what compiles, and what of it `make test` runs."""
    for item in items:
        asked = set(getattr(item, "fixturenames", ()))
        if asked & (QUICK_FIXTURES | SLOW_FIXTURES):
            item.add_marker("compiles")
            if not asked & SLOW_FIXTURES:
                item.add_marker("quick")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Hold a test, its fixtures included, to its markers."""
    compilers.watch(item)
    try:
        return (yield)
    finally:
        compilers.watch(None)


@pytest.fixture(scope="session")
def stub_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stand-in libraries of this run."""
    return tmp_path_factory.mktemp("stubs")


@pytest.fixture(scope="session")
def make_stub(stub_folder: Path) -> StubMaker:
    """Loads the stand-in library, with the planted bug that is asked for."""
    return lambda bug="NONE", platform="host": Library(compile_stub(stub_folder, bug, platform))


@pytest.fixture(scope="session")
def stub(make_stub: StubMaker) -> Library:
    """The stand-in library without a bug."""
    return make_stub()


@pytest.fixture(scope="session")
def quick_library() -> Library:
    """The host library of set `quick`, which `make demo` builds too."""
    from tests.support.host_library import build_host_library

    return Library(build_host_library("quick"))


@pytest.fixture(scope="session")
def host_library() -> Library:
    """The host library of set `ci`. A missing compiler fails the tests that need it, with the reason."""
    from tests.support.host_library import build_host_library  # needs pydantic, which a machine that only runs may lack

    return Library(build_host_library())


@pytest.fixture(scope="session")
def torch_library(request: pytest.FixtureRequest) -> Library:
    """The library for tests of ckgen.torch: for a GPU where CKGEN_NVIDIA_LIBRARY names one, else the host's."""
    import torch

    path = os.environ.get("CKGEN_NVIDIA_LIBRARY")
    if not path:
        library: Library = request.getfixturevalue("host_library")
        return library
    if not torch.cuda.is_available():
        pytest.skip(f"CKGEN_NVIDIA_LIBRARY is {path}, but PyTorch sees no GPU")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    return Library(path)

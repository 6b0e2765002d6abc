"""No test and no script fails because a machine is slow: this searches their sources for time limits."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.patience import HANG_GUARD

ROOT = Path(__file__).resolve().parents[2]
LEAST = 600  # seconds of a guard against hangs
CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "sleep"}
WAITS = {"wait", "communicate", "ask", "join", "acquire"}
# A use of the time that decides no result: the age of a cache.
ALLOWED = {("tests/support/objects.py", "time")}


def impatient(text: str, name: str) -> Iterator[str]:
    """Find code in a Python source whose result depends on elapsed time."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        where, called = f"{name}:{node.lineno}", ast.unparse(node.func)
        attribute = called.rpartition(".")[2]
        if (
            (called.startswith("time.") or "." not in called)
            and attribute in CLOCKS
            and (name, attribute) not in ALLOWED
        ):
            yield f"{where}: {called}()"
        limits = [word.value for word in node.keywords if word.arg in ("timeout", "job_seconds")]
        limits += [given for given in node.args if attribute in WAITS and not isinstance(given, ast.Starred)]
        for limit in limits:
            if isinstance(limit, ast.Constant) and isinstance(limit.value, int | float) and 0 <= limit.value < LEAST:
                yield f"{where}: {called} waits {limit.value} s"
        for word in node.keywords:
            said = ast.unparse(word.value)
            if word.arg == "deadline" and said != "None":
                yield f"{where}: a deadline of {said}"
            if word.arg == "suppress_health_check" and "too_slow" not in said:
                yield f"{where}: suppress_health_check without too_slow, which the profile has"


def test_no_test_depends_on_the_speed_of_the_machine() -> None:
    paths = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path.name != Path(__file__).name]
    found = [line for path in paths for line in impatient(path.read_text(), path.relative_to(ROOT).as_posix())]
    assert len(paths) > 80 and found == []


@pytest.mark.parametrize(
    "text",
    [
        "time.sleep(0.1)",
        "assert time.perf_counter() - begin < 2",
        "sleep(3)",
        "process.communicate(timeout=20)",
        "process.wait(20)",
        "subprocess.run(words, timeout=599)",
        "Limits(job_seconds=5)",
        "settings(deadline=200)",
        "settings(suppress_health_check=[HealthCheck.filter_too_much])",
    ],
)
def test_each_kind_of_impatience_is_found(text: str) -> None:
    assert list(impatient(text, "tests/test_x.py"))


def test_patience_is_left_alone() -> None:
    fine = "process.wait(HANG_GUARD); run(timeout=600); settings(deadline=None); ', '.join(words); d.get('x', 1.5e9)"
    assert list(impatient(fine, "tests/test_x.py")) == [] and HANG_GUARD >= LEAST


def test_hypothesis_has_no_deadline() -> None:
    assert settings.default is not None and settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


def test_scripts_end_what_hangs_alone() -> None:
    """Each `timeout` before a command has a single, long limit."""
    scripts = [*sorted((ROOT / "scripts").glob("*.sh")), ROOT / ".ci/run", ROOT / "Makefile"]
    limits = [limit for path in scripts for limit in re.findall(r"^\s*timeout (.*?) ", path.read_text(), re.MULTILINE)]
    assert limits == ['"${STEP_SECONDS:-1800}"']

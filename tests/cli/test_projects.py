"""Projects of users: what `ckgen init --ci` writes passes its own workflow, and the hooks and the action of this
repository find what is wrong with a project."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ckgen.cli import main
from ckgen.cli.common.files import write_new
from ckgen.cli.init import SERVICES, TEMPLATES
from ckgen.errors import CkgenError, Diagnostic
from tests.support.sweep.sampled import chosen

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_COMPILER = ("validate", "check")
Steps = list[tuple[str, str]]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `ckgen` is this checkout's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "ckgen"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ckgen "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def project(folder: Path, template: str, service: str = "github") -> Path:
    """A new project of a template, committed to git."""
    assert main(["init", str(folder), "--template", template, "--ci", service]) == 0
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    return folder


def github_steps(text: str) -> Steps:
    """(name, script) of each step of a workflow that runs a script, without the one that installs ckgen."""
    (job,) = yaml.safe_load(text)["jobs"].values()
    found = [(step["name"], step["run"]) for step in job["steps"] if "run" in step]
    assert found[0][0] == "install"
    return found[1:]


def gitlab_steps(text: str) -> Steps:
    return [(line.split()[1], line) for line in yaml.safe_load(text)["ckgen"]["script"]]


def run(script: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-e", "-o", "pipefail", "-c", script]  # as GitHub and GitLab run it
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def steps_of(folder: Path, service: str) -> Steps:
    if service == "github":
        return github_steps((folder / ".github/workflows/ckgen.yml").read_text())
    return gitlab_steps((folder / ".gitlab-ci.yml").read_text())


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_project_is_valid_and_up_to_date(
    template: str, service: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = project(tmp_path / "new", template, service)
    steps = dict(steps_of(folder, service))
    assert list(steps) == [*WITHOUT_COMPILER, "build", "smoke"]
    for name in WITHOUT_COMPILER:
        done = run(steps[name], folder, environment)
        assert done.returncode == 0, done.stderr
    ignored = subprocess.run(
        ["git", "check-ignore", "build/x", "generated/x"], cwd=folder, capture_output=True, text=True
    )
    assert ignored.stdout == "build/x\n"


def test_the_workflow_refuses_a_tree_with_a_filter(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = project(tmp_path / "new", "bwd_weight")
    assert run("ckgen generate dtype=f16", folder, environment).returncode == 0
    assert run("ckgen check", folder, environment).returncode == 0
    assert run(dict(steps_of(folder, "github"))["check"], folder, environment).returncode == 1


def test_git_does_not_change_line_ends_of_a_new_project(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = project(tmp_path / "new", "bwd_weight")
    done = run(f"git clone -q -c core.autocrlf=true {folder} clone && cd clone && ckgen check", tmp_path, environment)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.compiles
@pytest.mark.parametrize("template", chosen(TEMPLATES, ("bwd_weight", "bwd_data", "fusion")))  # docs/pytorch.md: torch
def test_a_new_project_passes_its_workflow(template: str, tmp_path: Path, environment: dict[str, str]) -> None:
    folder = project(tmp_path / "new", template)
    for name, script in steps_of(folder, "github"):
        done = run(script, folder, environment)
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    assert "all ok" in done.stdout
    status = subprocess.run(["git", "status", "--short"], cwd=folder, capture_output=True, text=True)
    assert status.stdout == "", "the workflow leaves the repository as it is"
    if (folder / "train.py").exists() and importlib.util.find_spec("torch"):
        command = [sys.executable, "train.py", "build/ci/host/libckgen_conv.so"]
        trained = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert trained.returncode == 0 and "with PyTorch" in trained.stdout, trained.stderr


def test_init_that_fails_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """A disk that is full after the first file is no reason to refuse the next try."""

    def full(path: Path, text: str, *, replace: bool) -> bool:
        if path.name == "instances.yaml":
            raise CkgenError([Diagnostic(None, "file", "no space", "")])
        return write_new(path, text, replace=replace)

    with monkeypatch.context() as patched:
        patched.setattr("ckgen.cli.init.write_new", full)
        assert main(["init", str(tmp_path)]) == 2
    assert list(tmp_path.iterdir()) == []
    assert main(["init", str(tmp_path)]) == 0


def test_init_names_every_file_in_its_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["init", str(tmp_path), "--template", "torch", "--ci", "github"]) == 2
    assert f"{tmp_path}/instances.yaml exists already" in capsys.readouterr().err
    assert not (tmp_path / "train.py").exists(), "nothing was written"
    (tmp_path / "other").mkdir()
    (tmp_path / "other/instances.schema.json").write_text("mine\n")
    assert main(["init", str(tmp_path / "other")]) == 2
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["instances.schema.json"]
    assert main(["init", str(tmp_path), "--template", "torch", "--ci", "github", "--force"]) == 0


def spoiled(folder: Path, how: str) -> None:
    if how == "spec":
        spec = folder / "instances.yaml"
        spec.write_text(spec.read_text().replace("dtype: [f16, bf16]", "dtype: [f16, bf61]"))
    else:
        (folder / "generated/src/library/registry.cpp").write_text("// mine\n")


def hooks(file: Path) -> dict[str, dict[str, Any]]:
    loaded = yaml.safe_load(file.read_text())
    listed = loaded if isinstance(loaded, list) else loaded["repos"][0]["hooks"]
    return {hook["id"]: hook for hook in listed}


@pytest.mark.parametrize("where", ["this repository", "a new project"])
def test_hooks_find_a_bad_spec_and_drift(where: str, tmp_path: Path, environment: dict[str, str]) -> None:
    folder = project(tmp_path / "new", "bwd_data")
    file = ROOT / ".pre-commit-hooks.yaml" if where == "this repository" else folder / ".pre-commit-config.yaml"
    found = hooks(file)

    def codes() -> dict[str, int]:
        return {name: run(hook["entry"], folder, environment).returncode for name, hook in found.items()}

    assert codes() == {"ckgen-validate": 0, "ckgen-check": 0}
    spoiled(folder, "tree")
    assert codes() == {"ckgen-validate": 0, "ckgen-check": 1}
    spoiled(folder, "spec")
    assert codes() == {"ckgen-validate": 2, "ckgen-check": 2}


def test_hooks_run_for_the_files_that_they_check() -> None:
    import re

    for name, hook in hooks(ROOT / ".pre-commit-hooks.yaml").items():
        assert re.search(hook["files"], "instances.yaml") and re.search(hook["files"], "some/instances.yaml")
        assert bool(re.search(hook["files"], "generated/src/x.cpp")) == (name == "ckgen-check")
        assert not re.search(hook["files"], "other.yaml")


@pytest.mark.skipif(shutil.which("pre-commit") is None, reason="pre-commit is not installed")
def test_pre_commit_runs_the_hooks_of_a_new_project(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = project(tmp_path / "new", "bwd_weight")
    environment["PRE_COMMIT_HOME"] = str(tmp_path / "home")
    assert run("pre-commit run --all-files", folder, environment).returncode == 0
    spoiled(folder, "tree")
    done = run("git add -A && pre-commit run --all-files", folder, environment)
    assert done.returncode == 1 and "registry.cpp: changed (hand edit)" in done.stdout


def action(where: Path, environment: dict[str, str], **given: str) -> list[tuple[str, int, str]]:
    """Run the steps of action.yml, without the one that installs ckgen, as GitHub does: (name, code, output)."""
    described = yaml.safe_load((ROOT / "action.yml").read_text())
    inputs = {name: given.get(name, item.get("default", "")) for name, item in described["inputs"].items()}
    assert not set(given) - set(inputs)

    def filled(text: str) -> str:
        for name, value in inputs.items():
            text = text.replace(f"${{{{ inputs.{name} }}}}", value)
        assert "${{" not in text
        return text

    results = []
    for step in described["runs"]["steps"]:
        if step["name"] == "install":
            continue
        own = {name: filled(value) for name, value in step["env"].items()}
        assert "${{" not in step["run"], "an input in a script could be code"
        done = run(step["run"], where / filled(step["working-directory"]), {**environment, **own})
        results.append((step["name"], done.returncode, done.stdout))
        if done.returncode:
            break
    return results


def test_the_action_checks_a_project(tmp_path: Path, environment: dict[str, str]) -> None:
    runner = tmp_path / "runner/ckgen/bin"
    runner.mkdir(parents=True)
    (runner / "ckgen").symlink_to(tmp_path / "bin/ckgen")
    environment["RUNNER_TEMP"] = str(tmp_path / "runner")
    folder = project(tmp_path / "repository/new", "bwd_weight")
    assert action(folder.parent, environment, folder="new") == [("sarif", 0, ""), ("validate", 0, ""), ("check", 0, "")]
    assert not (folder / "x.sarif").exists()
    assert run("ckgen generate dtype=f16", folder, environment).returncode == 0
    assert action(folder, environment)[-1][:2] == ("check", 1)
    assert action(folder, environment, set="")[-1][:2] == ("check", 0)
    assert run("ckgen generate", folder, environment).returncode == 0
    spoiled(folder, "tree")
    name, code, said = action(folder, environment)[-1]
    assert (name, code) == ("check", 1)
    assert said.startswith("::error file=generated/src/library/registry.cpp,line=1,")
    assert action(folder, environment, tree="")[-1] == ("check", 0, "")
    spoiled(folder, "spec")
    name, code, said = action(folder, environment, sarif="x.sarif")[-1]
    assert (name, code) == ("validate", 2) and said.startswith("::error file=instances.yaml,line=")
    assert '"ruleId": "unknown-dtype"' in (folder / "x.sarif").read_text()

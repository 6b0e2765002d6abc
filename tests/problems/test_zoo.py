"""The bundled zoo: what it has, and that its networks of papers are what scripts/zoo.py writes. tests/torch/test_zoo.py
compares networks of packages.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ckgen.conv.classes import CLASSES, class_of
from ckgen.paths import PACKAGE
from ckgen.problems.choice import sample
from ckgen.problems.models import Model
from ckgen.problems.sets import NamedProblem, bundled_sets, load_models, load_problems

ROOT = Path(__file__).resolve().parents[2]
FILE = PACKAGE / "problems" / "zoo.yaml"
PACKAGES = ("torchvision", "timm", "transformers", "diffusers")


@pytest.fixture(scope="module")
def models() -> tuple[Model, ...]:
    return load_models("zoo")


@pytest.fixture(scope="module")
def problems() -> tuple[NamedProblem, ...]:
    return load_problems("zoo")


def test_it_has_many_models_of_every_domain(models: tuple[Model, ...]) -> None:
    assert len(models) >= 100
    assert {len(model.batches) for model in models} == {len(model.images) for model in models} == {2}
    assert all(counts for model in models for counts in model.uses.values()) and all(len(m.uses) == 4 for m in models)
    domains = Counter(model.domain for model in models)
    assert set(domains) == {
        *("classification", "detection", "segmentation", "video", "diffusion", "gan", "signal", "volume")
    }
    assert min(domains.values()) >= 6


def test_a_third_is_held_out_in_every_domain(models: tuple[Model, ...]) -> None:
    assert 0.3 <= sum(model.held_out for model in models) / len(models) <= 0.37
    for domain in {model.domain for model in models}:
        own = [model.held_out for model in models if model.domain == domain]
        assert 0.2 <= sum(own) / len(own) <= 0.45, domain


def test_its_problems_are_distinct_and_have_models(problems: tuple[NamedProblem, ...]) -> None:
    assert len({each.problem for each in problems}) == len({each.name for each in problems}) == len(problems) > 10_000
    assert all(each.models for each in problems)
    held_out = {model.name for model in load_models("zoo") if model.held_out}
    assert all(each.held_out == (set(each.models) <= held_out) for each in problems)


def test_no_bundled_set_has_a_held_out_problem(problems: tuple[NamedProblem, ...]) -> None:
    """All other problems are for tuning."""
    held_out = {each.problem for each in problems if each.held_out}
    others = [each for name in bundled_sets() if name != "zoo" for each in load_problems(name)]
    assert others and [each.name for each in others if each.problem in held_out and not each.held_out] == []


def test_every_class_is_in_both_parts(problems: tuple[NamedProblem, ...]) -> None:
    found = Counter((each.part, class_of(each.problem)) for each in problems)
    assert {name for _, name in found} == set(CLASSES)
    assert [
        key for key in ((part, name) for part in ("fitted", "held_out") for name in CLASSES) if not found[key]
    ] == []
    drawn = Counter((each.part, class_of(each.problem)) for each in sample(problems, 260))
    assert set(drawn) == set(found) and max(drawn.values()) <= 14


def test_known_networks_have_their_convolutions(models: tuple[Model, ...]) -> None:
    by_name = {model.name: model for model in models}
    macs = {each.name: each.problem.macs for each in load_problems("zoo")}
    # Published numbers of multiply-accumulates of the convolutions of one image of 224x224, in millions.
    for name, published in (("resnet50", 4087), ("vgg16", 15347), ("mobilenet_v2", 299), ("densenet121", 2833)):
        uses = by_name[name].uses[32, "224x224"]
        assert sum(macs[each] * count for each, count in uses.items()) / 32e6 == pytest.approx(published, rel=0.01)
    assert sum(by_name["resnet50"].uses[32, "224x224"].values()) == 53


def test_it_is_small() -> None:
    assert FILE.stat().st_size < 500_000


def script(*arguments: str) -> str:
    words = (sys.executable, ROOT / "scripts" / "zoo.py", *arguments)
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_script_writes_the_networks_of_papers(models: tuple[Model, ...]) -> None:
    of_papers = [model.name for model in models if not model.source.startswith(PACKAGES)]
    assert len(of_papers) >= 20
    text = script(*(word for name in of_papers for word in ("--only", name)))
    found = FILE.read_text(encoding="utf-8")
    entries = text.split("  - name: ")[1:]
    assert len(entries) == len(of_papers)
    assert [entry.split("\n")[0] for entry in entries if f"  - name: {entry}" not in found] == []

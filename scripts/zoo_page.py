"""Text of docs/zoo.md: what the problem set `zoo` has. scripts/docs.py writes it."""

from __future__ import annotations

from collections import Counter

from ckgen.conv.classes import CLASSES, class_of
from ckgen.problems.sets import load_models, load_problems

HEAD = """\
# The zoo

The problem set `zoo` has the convolutions of {models} networks: {problems} distinct problems. Each network is listed at
two batch sizes and two image sizes, with the number of times that a forward pass runs each convolution.
A transposed convolution is listed as the convolution whose input gradient it computes; {transposed} networks have some.

A third of the networks are **held out**: nothing may be fitted to them, tuned on them or chosen by them, so that a
number measured on them says what to expect of any other network. Related networks, such as ResNet-18 and ResNet-50, are
in one part. A problem is held out if all networks that have it are; {shared} problems of fitted networks occur in
held-out ones too and count as fitted, and {near} held-out problems differ from a fitted one only in the batch.
`scripts/zoo.py` has the rule: a hash of the domain chooses one of three consecutive families, with a number that was
fixed before any measurement.

```sh
ckgen bench --problems zoo --only part=fitted --only class=depthwise      # all problems of a class
ckgen bench --problems zoo --only part=held_out --sample 100 3   # seed 3; a share of each class
ckgen bench --problems zoo --only 'model=resnet*,unet_3d' --batch 4
```

```python
from ckgen.problems.sets import load_models, load_problems   # NamedProblem has .models, .held_out and .part
from ckgen.problems.choice import chosen, sample             # what --only and --sample do
from ckgen.conv.classes import class_of

uses = {{model.name: model.uses for model in load_models("zoo")}}
uses["resnet50"][32, "224x224"]      # name of each problem and how often it occurs in this setting
```

The file format is described in `ckgen/problems/models.py`; users' own files may have it too.
"""
FOOT = """\
## How to write the file again

```sh
python -m venv zoo && zoo/bin/pip install torch torchvision timm transformers diffusers click pyyaml
zoo/bin/python scripts/zoo.py                       # the whole file, a few minutes
zoo/bin/python scripts/zoo.py --only resnet50       # one entry, to the terminal
```

No weights are downloaded or computed: networks of packages run on PyTorch's meta device while a dispatch mode records
`aten.convolution`. Networks that no package has are in `scripts/zoo_models/` with their published sizes; each docstring
names the paper, and these need no package. Parts without convolutions, such as the choice of a detector's proposals,
are left out: heads run on a fixed number of regions per image. New families go last in their domain, so that the parts
of the others stay.
"""


def zoo_page(notice: str) -> str:
    """The page, which opens with ``notice``."""
    models, problems = load_models("zoo"), load_problems("zoo")
    held_out = {model.name for model in models if model.held_out}
    shared = sum(1 for each in problems if not each.held_out and held_out & set(each.models))
    fitted = {each.with_batch(1).problem for each in problems if not each.held_out}
    near = sum(1 for each in problems if each.held_out and each.with_batch(1).problem in fitted)
    counts = {"models": len(models), "problems": len(problems), "shared": shared, "near": near}
    head = HEAD.format(**counts, transposed=_transposed())
    domains = dict.fromkeys(model.domain for model in models)
    rows = [
        (
            domain,
            *(", ".join(m.name for m in models if m.domain == domain and m.held_out is part) for part in (False, True)),
        )
        for domain in domains
    ]
    found = Counter((each.part, class_of(each.problem)) for each in problems)
    classes = [
        (f"`{row.name}`", row.meaning, str(found["fitted", row.name]), str(found["held_out", row.name]))
        for row in CLASSES.values()
    ]
    sums = (
        "all",
        "",
        *(str(sum(n for (part, _), n in found.items() if part == name)) for name in ("fitted", "held_out")),
    )
    names = f"{len(models) - len(held_out)} fitted", f"{len(held_out)} held out"
    return "\n".join(
        (
            notice,
            head,
            "## Networks\n\n" + _table(("domain", *names), rows),
            "## Problems by class\n\nThe first class that fits counts; the batch never matters.\n",
            _table(("class", "which", "fitted", "held out"), [*classes, sums]),
            FOOT,
        )
    )


def _transposed() -> int:
    from ckgen.paths import PACKAGE

    return (PACKAGE / "problems" / "zoo.yaml").read_text(encoding="utf-8").count("\n    transposed: ")


def _table(headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [headers, ("---",) * len(headers), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

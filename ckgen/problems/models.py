"""The `models:` part of a problem set: the convolutions of whole networks, and how often each occurs.

    models:
      - name: resnet50
        domain: classification
        source: torchvision 0.28
        held_out: false
        batches: [32, 128]
        images: [224x224, 288x288]
        convolutions:
          K64 C3 7x7 on 224x224|288x288 s2 p3: 1
          G32 K8 C8 3x3 on 56x56|72x72 s1 p1: 3

A row is the text of a problem (see `ckgen.conv.notation`, channels per group) in which N and G may contain `b`, the
batch: `N16b` is 16 images for each item of a batch. N is `b` unless given. Input sizes of the model's images are
separated by `|`, with `-` where the convolution does not occur; a single size is for all images. The value is the
number of times that the convolution occurs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from ckgen.conv.notation import problem_fields
from ckgen.conv.problem import ConvProblem
from ckgen.errors import CkgenError, Diagnostic
from ckgen.text.source import Document

Setting = tuple[int, str]  # batch and image of a run of a model

_BATCHED = re.compile(r"\b([GN])(\d*)b\b")
_ROW = re.compile(r"(?P<head>.+) on (?P<inputs>\S+)(?P<tail>.*)")


@dataclass(frozen=True, slots=True)
class Model:
    """A network whose convolutions a problem set has.

    ``uses`` holds, per setting (batch and image), the names of its problems and how often each occurs in one forward
    pass. ``held_out`` models are for validation: nothing may be fitted to, tuned on or chosen by them.
    """

    name: str
    domain: str
    source: str
    held_out: bool
    batches: tuple[int, ...]
    images: tuple[str, ...]
    uses: Mapping[Setting, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A convolution of a model in one setting: its name if no earlier model has it, and how often it occurs."""

    model: int
    setting: Setting
    name: str
    problem: ConvProblem
    count: int


def occurrences(document: Document) -> Iterator[Occurrence]:
    """Yield each convolution of each model of the file in each setting. Raises CkgenError with the place of every error
    in the rows."""
    known: dict[str, ConvProblem] = {}
    found: list[Diagnostic] = []
    for index, model in enumerate(document.root.plain().get("models", ())):
        for number, (row, count) in enumerate(model["convolutions"].items(), 1):
            try:
                for setting, text in _texts(row, model["batches"], list(map(str, model["images"]))):
                    if text not in known:
                        known[text] = ConvProblem(**problem_fields(text))
                    name = f"{model['name']}.{number}.{setting[1]}.n{setting[0]}"
                    yield Occurrence(index, setting, name, known[text], count)
            except CkgenError as error:
                place = document.key_place("models", index, "convolutions", row)
                found += [replace(finding, place=place) for finding in error.diagnostics]
    if found:
        raise CkgenError(found)


def _texts(row: str, batches: list[int], images: list[str]) -> Iterator[tuple[Setting, str]]:
    """The text of a row's problem in each setting in which it occurs."""
    match = _ROW.fullmatch(row)
    inputs = match["inputs"].split("|") if match else []
    inputs *= len(images) if len(inputs) == 1 else 1
    if match is None or len(inputs) != len(images):
        message = f"`{row}` is not a row of a model with {len(images)} images"
        raise CkgenError([Diagnostic(None, "model-row", message, "write it as `K8 C8 3x3 on 56x56|72x72 s1 p1`")])
    for batch in batches:
        head = match["head"] if re.search(r"\bN", match["head"]) else f"Nb {match['head']}"
        head = _BATCHED.sub(partial(_times, batch), head)
        for image, size in zip(images, inputs, strict=True):
            if size != "-":
                yield (batch, image), f"{head} on {size}{match['tail']}"


def _times(batch: int, found: re.Match[str]) -> str:
    return f"{found[1]}{int(found[2] or 1) * batch}"

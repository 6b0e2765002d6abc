"""Small specs for tests."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from ckgen.conv.dtypes import DTYPES, ELEMENTS
from ckgen.instance.instance import Instance
from ckgen.operations.operation import BWD_WEIGHT, OPERATIONS
from ckgen.spec.collect import parse
from ckgen.spec.expand import Expansion, expand, expand_document
from ckgen.text.source import loads

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).parents[1] / "data"

WEIGHT_LAYOUTS = OPERATIONS[BWD_WEIGHT].layouts

XDL: dict[str, Any] = {
    "name": "a",
    "family": "xdl",
    "layout": "NHWGC/GKYXC/NHWGK",
    "dtype": "f16",
    "block_size": 256,
    "tile": "128x128",
}
WAVELET: dict[str, Any] = {
    "name": "w",
    "family": "wavelet",
    "layout": "NHWGC/GKYXC/NHWGK",
    "dtype": "f16",
    "wave_ratio": [4, 4],
    "tile": "128x128",
}

TMA: dict[str, Any] = {
    "name": "t",
    "family": "wavelet_tma",
    "layout": "NHWGC/GKYXC/NHWGK",
    "dtype": "f16",
    "tile": "128x256",
}


def spec_text(*groups: dict[str, Any], **top: Any) -> str:
    """A spec file with these groups and other top-level keys."""
    return yaml.safe_dump({"version": 1, "groups": list(groups), **top}, sort_keys=False)


def expand_groups(*groups: dict[str, Any], **top: Any) -> Expansion:
    """The expansion of a spec with these groups; raise CkgenError if it is wrong."""
    return expand_document(loads(spec_text(*groups, **top)))


@lru_cache
def default_expansion() -> Expansion:
    """The repository's own instances.yaml."""
    return expand(parse(loads((ROOT / "instances.yaml").read_text(encoding="utf-8"))))


# Data types whose tensors are floating-point and are multiplied as they are; others exist for a few layouts only.
USUAL_DTYPES = tuple(
    name for name, dtype in DTYPES.items() if dtype.as_stored and not ELEMENTS[dtype.operand_type].integer
)


def usual_instances_of(operation: str) -> tuple[Instance, ...]:
    """The instances of USUAL_DTYPES of the repository's own instances.yaml for one operation."""
    return tuple(made for made in instances_of(operation) if made.dtype in USUAL_DTYPES)


def instances_of(operation: str) -> tuple[Instance, ...]:
    """The instances of the repository's own instances.yaml for one operation."""
    return tuple(made for made in default_expansion().instances if made.operation == operation)


def instance(**fields: Any) -> Instance:
    """A valid xdl instance with some fields changed."""
    base: dict[str, Any] = {
        "family": "xdl",
        "layout": "NHWGC/GKYXC/NHWGK",
        "dtype": "f16",
        "conv_spec": "Default",
        "m_per_block": 128,
        "n_per_block": 128,
        "k_per_block": 32,
        "m_per_xdl": 32,
        "load_waves": 0,
        "math_waves": 4,
        "a_vector": 8,
        "b_vector": 8,
        "c_vector": 8,
        "stages": 1,
    }
    return Instance(**{**base, **fields})

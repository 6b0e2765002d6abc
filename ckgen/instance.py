"""One kernel instance: its fields and its name, the identity, which round-trips; `derived` has what follows.

GEMM terms: M = K channels, N = C x filter, K = N x output positions; A = dOut, B = In, C = dWei. A wave is 64
threads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any

from ckgen.derived import COPY_FAMILIES, MFMA_FAMILIES, Derived, derived_names

OPERATIONS = ("grouped_conv_bwd_weight",)
FAMILIES = (*MFMA_FAMILIES, *COPY_FAMILIES)
# In the YAML and in Python as CK writes them; in names as the short form.
CONV_SPECS = {"Default": "default", "Filter1x1Stride1Pad0": "1x1s1p0"}

# Where In, dWei and dOut lie, slowest axis first.
LAYOUTS = (
    "NWGC/GKXC/NWGK",
    "NHWGC/GKYXC/NHWGK",
    "NDHWGC/GKZYXC/NDHWGK",
    "GNWC/GKXC/GNWK",
    "GNHWC/GKYXC/GNHWK",
    "GNDHWC/GKZYXC/GNDHWK",
)

_NAME = re.compile(
    r"grouped_conv[123]d_bwd_weight_(?P<family>xdl|wavelet_tma|wavelet|halo)_(?P<layout>[a-z]+_[a-z]+_[a-z]+)"
    r"_(?P<dtype>bf16_f32_bf16|bf16|f16|f32)_(?P<conv_spec>default|1x1s1p0)"
    r"_(?P<m_per_block>\d+)x(?P<n_per_block>\d+)x(?P<k_per_block>\d+)_w(?P<load_waves>\d+)x(?P<math_waves>\d+)"
    r"_xdl(?P<m_per_xdl>\d+)_v(?P<a_vector>\d+)x(?P<b_vector>\d+)x(?P<c_vector>\d+)_s(?P<stages>\d+)"
    r"(?P<generic>_generic)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Instance(Derived):
    """A kernel as data. All fields but `archs` are the identity and stand in the name."""

    family: str
    layout: str
    dtype: str
    conv_spec: str
    m_per_block: int
    n_per_block: int
    k_per_block: int
    m_per_xdl: int
    load_waves: int
    math_waves: int
    a_vector: int
    b_vector: int
    c_vector: int
    stages: int
    generic: bool = False
    operation: str = "grouped_conv_bwd_weight"
    archs: tuple[str, ...] = field(default=(), compare=False)
    name: str = field(init=False, compare=False, repr=False)  # in sources, symbols, CMake, Python and reports

    def __post_init__(self) -> None:
        # Made once, because every dictionary of instances is keyed by it.
        object.__setattr__(self, "name", self._make_name())

    def _make_name(self) -> str:
        return (
            f"{self._prefix}_{CONV_SPECS[self.conv_spec]}"
            f"_{self.m_per_block}x{self.n_per_block}x{self.k_per_block}_w{self.load_waves}x{self.math_waves}"
            f"_xdl{self.m_per_xdl}_v{self.a_vector}x{self.b_vector}x{self.c_vector}_s{self.stages}"
            + ("_generic" if self.generic else "")
        )

    @property
    def add_function(self) -> str:
        """The C++ function that adds this instance and its siblings to a list, in CK's way of naming."""
        suffix = "_1x1s1p0" if self.pointwise else ""
        return f"add_device_{self._prefix}{suffix}_instances"

    @property
    def _prefix(self) -> str:
        return f"grouped_conv{self.ndim}d_bwd_weight_{self.family}_{self.layout_tag.lower()}_{self.dtype}"

    @property
    def layout_tag(self) -> str:
        """The layout's C++ type in namespace ckgen::layout: `NHWGC_GKYXC_NHWGK`."""
        return self.layout.replace("/", "_")

    @property
    def pointwise(self) -> bool:
        """True where the kernel takes 1x1 filters with stride 1 and no padding only."""
        return self.conv_spec == "Filter1x1Stride1Pad0"


FIELD_NAMES = tuple(f.name for f in fields(Instance) if f.compare)


def primary(instance: Instance) -> dict[str, Any]:
    """The fields that are the identity, in declaration order."""
    return {name: getattr(instance, name) for name in FIELD_NAMES}


def derived(instance: Instance) -> dict[str, int]:
    """Every derived integer of the instance's family by name."""
    return {name: getattr(instance, name) for name in derived_names(instance.family)}


def parse(name: str) -> Instance:
    """The instance a name stands for (`archs`, no part of it, stays empty); ValueError if it is no name."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not the name of an instance")
    words: dict[str, Any] = match.groupdict()
    words.update((key, int(text)) for key, text in words.items() if text and text.isdigit())
    words["layout"] = words["layout"].upper().replace("_", "/")
    words["conv_spec"] = next(spec for spec, short in CONV_SPECS.items() if short == words["conv_spec"])
    words["generic"] = words["generic"] is not None
    instance = Instance(**words)
    if instance.layout not in LAYOUTS or instance.name != name:  # `convNd` against the layout, leading zeros
        raise ValueError(f"{name!r} is not the name of an instance; its fields make {instance.name!r}")
    return instance

"""One kernel instance: its fields and its name. The name identifies the instance and can be parsed back; derived values
belong to its family (ckgen.families).

`operation` determines M, N, K, A, B and C of the matrix product. A wave is 64 threads.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import tensors_first_to_last
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.families.fields import Fields
from ckgen.families.registry import DERIVED_NAMES, FAMILIES
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS

# YAML and Python use CK's names, instance names use the short form.
CONV_SPECS = {"Default": "default", "Filter1x1Stride1Pad0": "1x1s1p0"}
# Fields that are 0 if a rule gives the value or, for the pipeline, if the class has one only.
BY_RULE = ("a_write", "b_write", "a_k1", "b_k1", "pipeline_version")
# The widths of CK's copy to channels-last tensors: in type strings of CK only, 0 if the spec gives none.
TRANSPOSE = ("transpose_dst", "transpose_vector", "transpose_lds")
_DERIVED_NAMES = frozenset(DERIVED_NAMES)
_BY_SHORT = {operation.short: operation for operation in OPERATIONS.values()}
_LONGEST = 500  # characters of a name: more than file systems allow; it bounds the backtracking of the pattern
_NAME = re.compile(
    rf"grouped_conv[123]d_(?P<operation>{'|'.join(_BY_SHORT)})_(?P<family>{'|'.join(sorted(FAMILIES, reverse=True))})"
    r"(?:_(?P<function>[a-z0-9_]+?))?_(?P<layout>[a-z]+_[a-z]+_[a-z]+)"
    rf"_(?P<dtype>{'|'.join(sorted(DTYPES, key=len, reverse=True))})_(?P<conv_spec>default|1x1s1p0)"
    r"_(?P<m_per_block>\d+)x(?P<n_per_block>\d+)x(?P<k_per_block>\d+)_w(?P<load_waves>\d+)x(?P<math_waves>\d+)"
    r"_xdl(?P<m_per_xdl>\d+)_v(?P<a_vector>\d+)x(?P<b_vector>\d+)x(?P<c_vector>\d+)"
    r"(?:_lds(?P<a_write>\d+)x(?P<b_write>\d+))?(?:_k(?P<a_k1>\d+)x(?P<b_k1>\d+))?"
    r"(?:_p(?P<pipeline_version>\d+)(?P<interwave>i)?)?_s(?P<stages>\d+)"
    r"(?:_m(?P<groups_to_merge>\d+))?(?P<exchange>_exchange)?(?:_c(?P<cluster>\d+))?"
    r"(?:_t(?P<transpose_dst>\d+)x(?P<transpose_vector>\d+)x(?P<transpose_lds>\d+))?(?P<generic>_generic)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Instance(Fields):
    """A kernel as a record. All fields except `archs` form its identity and are part of the name.

    `a_write`, `b_write`, `a_k1` and `b_k1` are 0 if a rule gives the value; `pipeline_version` is 0 if the spec gives
    none.
    """

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
    operation: str = DEFAULT_OPERATION
    a_write: int = 0
    b_write: int = 0
    a_k1: int = 0
    b_k1: int = 0
    pipeline_version: int = 0
    interwave: bool = False
    groups_to_merge: int = 1
    exchange: bool = False
    cluster: int = 1
    transpose_dst: int = 0
    transpose_vector: int = 0
    transpose_lds: int = 0
    function: str = PASS_THROUGH
    archs: tuple[str, ...] = field(default=(), compare=False)
    name: str = field(init=False, compare=False, repr=False)  # used in sources, symbols, CMake, Python and reports
    _derived: Mapping[str, int] | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Computed once, because the name is the key of every dictionary of instances.
        object.__setattr__(self, "name", self._make_name())

    def moved(self, layout: str, function: str, archs: tuple[str, ...]) -> Instance:
        """The instance of the same shape with these values; faster than dataclasses.replace."""
        family, _, *shape, _, _ = _VALUES(self)
        values = (family, layout, *shape, function, archs)
        return Instance(*values)

    def _make_name(self) -> str:
        return (
            f"{self._prefix}_{CONV_SPECS[self.conv_spec]}"
            f"_{self.m_per_block}x{self.n_per_block}x{self.k_per_block}_w{self.load_waves}x{self.math_waves}"
            f"_xdl{self.m_per_xdl}_v{self.a_vector}x{self.b_vector}x{self.c_vector}"
            + (f"_lds{self.a_write}x{self.b_write}" if self.a_write or self.b_write else "")
            + (f"_k{self.a_k1}x{self.b_k1}" if self.a_k1 or self.b_k1 else "")
            + (f"_p{self.pipeline_version}{'i' if self.interwave else ''}" if self.pipeline_version else "")
            + f"_s{self.stages}"
            + (f"_m{self.groups_to_merge}" if self.groups_to_merge > 1 else "")
            + ("_exchange" if self.exchange else "")
            + (f"_c{self.cluster}" if self.in_cluster else "")
            + (f"_t{self.transpose_dst}x{self.transpose_vector}x{self.transpose_lds}" if self.transpose_dst else "")
            + ("_generic" if self.generic else "")
        )

    @property
    def add_function(self) -> str:
        """The C++ function that adds this instance and its siblings to a list, named as CK names them."""
        suffix = "_1x1s1p0" if self.pointwise else ""
        return f"add_device_{self._prefix}{suffix}_instances"

    @property
    def _prefix(self) -> str:
        return _prefix(self.operation, self.family, self.function, self.layout, self.dtype)

    @property
    def short_id(self) -> str:
        """The short id of the instance, see `short_id`."""
        return short_id(self.name)

    @property
    def layout_tag(self) -> str:
        """The C++ type of the layouts in namespace ckgen::layout, with the layout of the input first:
        `NHWGC_GKYXC_NHWGK`."""
        return tensors_first_to_last(self.layout).replace("/", "_")

    @property
    def given_copy(self) -> bool:
        """True if the spec gives LDS writes, K1, a pipeline or a transposition, as for CK's rows; those by rule are as
        good."""
        return self.given_write or self.given_k1 or self.given_pipeline or self.given_transpose

    @property
    def given_write(self) -> bool:
        """True if the spec gives the LDS writes."""
        return self.a_write > 0

    @property
    def given_k1(self) -> bool:
        """True if the spec gives K1."""
        return self.a_k1 > 0

    @property
    def given_pipeline(self) -> bool:
        """True if the spec gives a pipeline."""
        return self.pipeline_version > 0

    @property
    def given_transpose(self) -> bool:
        """True if the spec gives the widths of CK's transposition."""
        return self.transpose_dst > 0

    @property
    def merges_groups(self) -> bool:
        """True if a workgroup computes several groups as one."""
        return self.groups_to_merge > 1

    @property
    def in_cluster(self) -> bool:
        """True if several workgroups run together and share copies."""
        return self.cluster > 1

    @property
    def uses_tma(self) -> bool:
        """True if TMA fills shared memory, which only Hopper families use."""
        return FAMILIES[self.family].uses_tma

    def __getattr__(self, name: str) -> int:
        # Called only for names that are neither fields nor properties. Derived values are computed on first use.
        if name in _DERIVED_NAMES:
            if self._derived is None:
                object.__setattr__(self, "_derived", FAMILIES[self.family].formulas.values(self))
            if self._derived is not None and name in self._derived:
                return self._derived[name]
        raise AttributeError(f"no instance of family {self.family} has {name}" if name in _DERIVED_NAMES else name)


ID_DIGITS = 8  # two of 2,000 instances have the same id with a probability of 0.05 %


def short_id(name: str) -> str:
    """The first hexadecimal digits of the SHA-256 of an instance's name: short, and the same for ever."""
    return hashlib.sha256(name.encode()).hexdigest()[:ID_DIGITS]


FIELD_NAMES = tuple(f.name for f in fields(Instance) if f.compare)
_VALUES = attrgetter(*(f.name for f in fields(Instance) if f.init))
_PRIMARY = attrgetter(*FIELD_NAMES)


@cache
def _prefix(operation: str, family: str, function: str, layout: str, dtype: str) -> str:
    """The part of names that instances of one add function share."""
    fused = "" if function == PASS_THROUGH else f"_{function_tag(function)}"
    axes = layout.replace("/", "_").lower()
    return f"grouped_conv{axes.index('_') - 3}d_{OPERATIONS[operation].short}_{family}{fused}_{axes}_{dtype}"


def primary(instance: Instance) -> dict[str, Any]:
    """The fields that form the identity, in declaration order."""
    return dict(zip(FIELD_NAMES, _PRIMARY(instance), strict=True))


def derived(instance: Instance) -> Mapping[str, int]:
    """Every derived integer of the instance's family by name."""
    return FAMILIES[instance.family].formulas.values(instance)


def function_tag(function: str) -> str:
    """A function's name as it appears in names of instances: `ScaledResidual` becomes `scaled_residual`."""
    return re.sub("(?<!^)(?=[A-Z])", "_", function).lower()


def function_of_tag(tag: str) -> str:
    """The inverse of `function_tag`."""
    return "".join(word[:1].upper() + word[1:] for word in tag.split("_"))


def parse(name: str) -> Instance:
    """The instance with the given name; `archs` is not part of the name and stays empty. Raises ValueError for an
    invalid name."""
    match = _NAME.fullmatch(name) if len(name) <= _LONGEST else None
    if match is None:
        raise ValueError(f"{name!r} is not the name of an instance")
    words: dict[str, Any] = match.groupdict()
    operation = _BY_SHORT[words["operation"]]
    words.update((key, int(text)) for key, text in words.items() if text and text.isdigit())
    words.update((key, 0) for key in (*BY_RULE, *TRANSPOSE) if words[key] is None)
    words.update((key, 1) for key in ("groups_to_merge", "cluster") if words[key] is None)
    words["operation"] = operation.name
    words["function"] = function_of_tag(words["function"]) if words["function"] else PASS_THROUGH
    words["layout"] = words["layout"].upper().replace("_", "/")
    words["conv_spec"] = next(spec for spec, short in CONV_SPECS.items() if short == words["conv_spec"])
    words["generic"] = words["generic"] is not None
    words["exchange"] = words["exchange"] is not None
    words["interwave"] = words["interwave"] is not None
    instance = Instance(**words)
    # `convNd` that contradicts the layout, or leading zeros
    if instance.layout not in operation.layouts or instance.name != name:
        raise ValueError(f"{name!r} is not the name of an instance; its fields make {instance.name!r}")
    return instance

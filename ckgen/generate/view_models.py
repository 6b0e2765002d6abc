"""The records that templates read: instances as files, and groups of instances for a C++ file or CMake list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import attrgetter

from ckgen.conv.dtypes import ELEMENTS, element_of
from ckgen.conv.layout import d_layout, tensors_first_to_last
from ckgen.conv.notation import problem_fields
from ckgen.elementwise.function import BUILTINS, Function
from ckgen.families.family import Coverage, Family
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import NVIDIA_ARCHES
from ckgen.instance.instance import Instance
from ckgen.operations.operation import OPERATIONS
from ckgen.selection.measured import Candidate, parse_table

AMD_ONLY = "AMD_ONLY"  # the end of a macro of ckgen/contents.h, and in small letters the beginning of CMake's groups


def guard_of(archs: Sequence[str], amd_only: bool = False) -> str:
    """The macro of ckgen/contents.h that must be set for a library to include instances for these architectures.

    It is empty if they are always included; instances for NVIDIA architectures alone are left out on other platforms,
    those of families for AMD alone on NVIDIA.
    """
    if amd_only:
        return f"CKGEN_HAS_{AMD_ONLY}"
    if not archs or any(arch not in NVIDIA_ARCHES for arch in archs):
        return ""
    return f"CKGEN_HAS_{'_'.join(archs).upper()}"


@dataclass(frozen=True, slots=True)
class Types:
    """The C++ types of instances with the same operation, layout, dtype and function.

    `layout` has the order of the C API, the input's first. `operator` is the operator's type in namespace
    ckgen::tensor_operation::device, `ds_layout` and `ds_data_type` are the lists of the D tensors' layouts and types.
    """

    layout: str
    layout_tag: str
    fused: bool
    own_function: bool  # from the spec; generated headers declare it
    operator: str
    ds_layout: str
    ds_data_type: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """The C++ names of a family's kernels for one operation.

    `header` in ckgen/op/impl has the struct `family`, which binds a kernel to an instance; `macro` defines the kernels
    and the operator.
    """

    header: str
    family: str
    macro: str


@dataclass(frozen=True)
class Source:
    """One instance and its source file, as templates read them."""

    name: str
    path: str
    instance: Instance
    types: Types

    @property
    def dtype(self) -> str:
        return self.instance.dtype

    @property
    def kept_rows(self) -> int:
        """Rows of GEMM-K of B that stay in LDS, for the selector."""
        return self.record.kept_rows(self.instance)

    @cached_property
    def coverage(self) -> Coverage:
        """The part of the result that a tile covers, for the selector."""
        return self.record.coverage(self.instance)

    @property
    def registers(self) -> int:
        """Vector registers of a lane, for the time model."""
        return self.record.registers(self.instance)

    @property
    def copied_units(self) -> tuple[int, int]:
        """See ckgen.families.family.Family.copied_units."""
        return self.record.copied_units(self.instance)

    @property
    def pace(self) -> float:
        """The time of a product in multiples of that at the family's rate."""
        return self.record.pace(self.instance)

    @property
    def tap_step(self) -> int:
        """See ckgen.families.family.Family.tap_step."""
        return self.record.tap_step(self.instance)

    @property
    def splits(self) -> bool:
        """True if split_k divides its work."""
        return self.record.splits(self.instance)

    @property
    def record(self) -> Family:
        return FAMILIES[self.instance.family]

    @property
    def guard(self) -> str:
        return guard_of(self.instance.archs, self.record.amd_only)

    @property
    def kernel(self) -> Kernel:
        return _kernel(self.instance.operation, self.instance.family, self.types.fused, self.instance.exchange)


@dataclass(frozen=True, slots=True)
class Factory:
    """One add function; its instances have the same operation, family, layout, dtype and conv_spec."""

    name: str
    path: str
    instances: tuple[Source, ...]

    @property
    def guard(self) -> str:
        """The guard of its instances; all are of one family, so either all have this guard or none has one."""
        return self.instances[0].guard

    @property
    def operator(self) -> str:
        """The C++ type of the operators that it adds: `BwdWeightOperator<layout::X, dtype::Y>`."""
        return self.instances[0].types.operator

    @property
    def operation(self) -> str:
        """The name of its instances' operation."""
        return self.instances[0].instance.operation

    @property
    def interface(self) -> str:
        """The header in ckgen/op that declares its operators."""
        return OPERATIONS[self.operation].cpp_class(self.instances[0].instance.function).interface

    @property
    def fused(self) -> bool:
        """True if the type of its operators has a function and D tensors."""
        return self.instances[0].types.fused

    @property
    def own_function(self) -> bool:
        """True if the function of its instances is defined in the spec."""
        return self.instances[0].types.own_function


@dataclass(frozen=True, slots=True)
class ArchGroup:
    """The instances of one operation for the same architectures, which are compiled with the same flags."""

    archs: tuple[str, ...]
    sources: tuple[Source, ...]
    amd_only: bool = False

    @property
    def label(self) -> str:
        return "_".join((AMD_ONLY.lower(), *self.archs) if self.amd_only else self.archs)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the tree for CMake, and the header with its factory."""

    name: str
    groups: tuple[ArchGroup, ...]
    factories: tuple[Factory, ...]


def path_of(instance: Instance) -> str:
    """The path of an instance's file in the tree."""
    return f"src/{instance.operation}/{instance.family}/{instance.name}.cpp"


def sources_of(instances: Sequence[Instance], functions: Mapping[str, Function]) -> tuple[Source, ...]:
    """The instances with their files and C++ types, in the order given; `functions` holds all that they may have."""
    known: dict[tuple[str, ...], Types] = {}
    found = []
    for instance in instances:
        key = (instance.operation, instance.layout, instance.dtype, instance.function)
        if key not in known:
            known[key] = _types(instance, functions[instance.function])
        found.append(Source(instance.name, path_of(instance), instance, known[key]))
    return tuple(found)


@cache
def _kernel(operation: str, family: str, fused: bool, exchange: bool) -> Kernel:
    short, record = OPERATIONS[operation].short, FAMILIES[family]
    struct = OPERATIONS[operation].cpp + "".join(word.capitalize() for word in family.split("_"))
    # A second kernel that adds partial sums belongs to the instance if it has a function, or places them.
    own_reduction = (exchange or fused) and operation not in record.own_sums
    macro = "CKGEN_DEFINE_INSTANCE_AND_REDUCTION" if own_reduction else "CKGEN_DEFINE_INSTANCE"
    return Kernel(f"{short}_{record.header}.hpp", struct, macro)


def _types(instance: Instance, function: Function) -> Types:
    operation = OPERATIONS[instance.operation]
    written = element_of(instance.dtype, operation.written)
    fused = operation.has_function(instance.function)
    own_layout = instance.layout, operation.written
    ds_layout = ", ".join(f"tags::{d_layout(kind.layout, *own_layout)}" for kind in function.kinds)
    ds_data_type = ", ".join((ELEMENTS[kind.dtype] if kind.dtype else written).cpp for kind in function.kinds)
    types = [f"layout::{instance.layout_tag}", f"dtype::{instance.dtype}"]
    if fused:
        types += [f"functions::{instance.function}", f"Tuple<{ds_layout}>", f"Tuple<{ds_data_type}>"]
    return Types(
        tensors_first_to_last(instance.layout),
        instance.layout_tag,
        fused,
        fused and instance.function not in BUILTINS,
        f"{operation.cpp_class(instance.function).operator}<{', '.join(types)}>",
        f"Tuple<{ds_layout}>",
        f"Tuple<{ds_data_type}>",
    )


def factories_of(sources: Sequence[Source]) -> tuple[Factory, ...]:
    """The add functions in name order; within one, instances stay in the order of the spec."""
    groups: dict[str, list[Source]] = {}
    for source in sources:
        groups.setdefault(source.instance.add_function, []).append(source)
    return tuple(
        Factory(name, f"src/{groups[name][0].instance.operation}/factory/{name}.cpp", tuple(groups[name]))
        for name in sorted(groups)
    )


def operations_of(sources: Sequence[Source], factories: Sequence[Factory]) -> tuple[Operation, ...]:
    """The operations in name order, with their instances grouped by architectures."""
    by_archs: dict[str, dict[tuple[tuple[str, ...], bool], list[Source]]] = {}
    for source in sorted(sources, key=attrgetter("name")):
        groups = by_archs.setdefault(source.instance.operation, {})
        amd_only = FAMILIES[source.instance.family].amd_only
        groups.setdefault((source.instance.archs, amd_only), []).append(source)
    return tuple(
        Operation(
            name,
            tuple(ArchGroup(archs, tuple(members), own) for (archs, own), members in sorted(by_archs[name].items())),
            tuple(factory for factory in factories if factory.operation == name),
        )
        for name in sorted(by_archs)
    )


@dataclass(frozen=True, slots=True)
class MeasuredSource:
    """A measured problem for C++: its numbers as initialisers, and its candidates that are in the tree."""

    operation: str
    arch: str
    layout: str
    dtype: str
    predicted: bool
    problem: str
    numbers: str
    candidates: tuple[Candidate, ...]


def measured_of(sources: Sequence[Source], tables: Mapping[str, str]) -> tuple[MeasuredSource, ...]:
    """The rows of the tables that concern instances of a tree, table by table; problems without a candidate in it are
    omitted."""
    names = {source.name for source in sources}
    found: list[MeasuredSource] = []
    for file, text in tables.items():
        table = parse_table(text, file)
        for row in table.rows:
            own = tuple(candidate for candidate in row.candidates if candidate.name in names)
            if own:
                numbers = _initialisers(problem_fields(row.problem))
                where = (table.operation, table.arch, tensors_first_to_last(row.layout), row.dtype, table.predicted)
                found.append(MeasuredSource(*where, row.problem, numbers, own))
    return tuple(found)


def _initialisers(fields: Mapping[str, int | tuple[int, ...]]) -> str:
    """A problem's fields as C++ initialisers, dimensions first: `2, 32, 32, 8, 8, {3, 3}, {100, 100}, ...`."""
    values = list(fields.values())
    ndim = next(len(value) for value in values if isinstance(value, tuple))
    texts = ["{" + ", ".join(map(str, value)) + "}" if isinstance(value, tuple) else str(value) for value in values]
    return ", ".join([str(ndim), *texts])

"""Instances as CK writes them: type strings, serialised instances and entries of the dispatcher's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ckgen.ck.notation import SERIALISED, sequence, show
from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import TENSORS, physical_axes
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.errors import CkgenError, Diagnostic
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance
from ckgen.operations.operation import OPERATIONS, CkRows

DTYPE_WORDS = {"f16": "fp16", "bf16": "bf16", "f32": "fp32", "i8": "int8", "i32": "int32"}  # of one element
DTYPE_WORDS |= {"f8": "fp8", "bf8": "bf8", "tf32": "tf32"}
VARIANTS = {row.name: row.short for row in OPERATIONS.values()}
SPECIALIZATIONS = {"Default": "default", "Filter1x1Stride1Pad0": "filter1x1_stride1_pad0"}
# Keys of the dispatcher's entries that have one value in all instances; an absent key has it too.
FIXED: dict[str, Any] = {
    "warp_k": 1,
    "scheduler": "intrawave",
    "epilogue": "cshuffle",
    "num_wave_groups": 1,
    "explicit_gemm": False,
    "split_image": False,
}
# Those that families have with different values, and what an absent key means.
OF_FAMILY: dict[str, Any] = {
    "pipeline": "compv1",
    "num_groups_to_merge": 1,
    **{family.ck_flag: False for family in FAMILIES.values() if family.ck_flag},
}
_LARGE_TILE = 256 * 128


def has_row(instance: Instance) -> bool:
    """True if a class of CK can describe the instance: all waves load and multiply, with one LDS buffer unless the
    class names its pipeline, and with the widths of its transposition if it transposes."""
    row = _rows_of(instance)
    if row is None or (row.transposing and transposes(instance) != instance.given_transpose):
        return False
    if instance.exchange or (instance.merges_groups and "groups_to_merge" not in row.type_string):
        return False
    return instance.stages == 1 or names_pipeline(instance)


def transposes(instance: Instance) -> bool:
    """True if CK copies the tensors of this layout to channels-last ones, where its class does so."""
    return instance.a_k_major and instance.b_k_major


def names_pipeline(instance: Instance) -> bool:
    """True if CK's class names the pipeline, from which the LDS buffers follow."""
    row = _rows_of(instance)
    return row is not None and "pipeline" in row.type_string


def has_entry(instance: Instance) -> bool:
    """True if the dispatcher's JSON can describe the instance."""
    return FAMILIES[instance.family].has_ck_rows and has_row(instance) and not instance.given_pipeline


def type_string(instance: Instance) -> str:
    """The type string of an instance that has a row."""
    return show(_class_of(instance), _values(instance), transposing=instance.given_transpose)


def serialised(instance: Instance) -> str | None:
    """All template arguments; None for a class whose rows CK's lists give as type strings.

    The arguments of the copy to LDS (`OF_COPY`) follow from the widths, as in most of CK's rows.
    """
    name = _class_of(instance)
    if name not in SERIALISED:
        return None
    return show(name, _template_values(instance, SERIALISED[name]), serialised=True)


def _rows_of(instance: Instance) -> CkRows | None:
    """The class that describes the instance, None if there is none."""
    row = FAMILIES[instance.family].ck_class(instance.operation)
    if row is None or not instance.given_pipeline:
        return row
    return row.pipelined if instance.function == PASS_THROUGH else None


def _class_of(instance: Instance) -> str:
    row = _rows_of(instance)
    assert row is not None, f"{instance.name} has no row"
    return row.class_of(instance.function)


def _values(instance: Instance) -> dict[str, object]:
    """The arguments that come from the instance, of all classes."""
    copied = instance.given_transpose
    return {
        "block_size": instance.block_size,
        "m": instance.m_per_block,
        "n": instance.n_per_block,
        "k": instance.k_per_block,
        "k0": instance.k_per_block // instance.ak1,
        "k1": instance.ak1,
        "ak1": instance.ak1,
        "bk1": instance.bk1,
        "conv_spec": instance.conv_spec,
        "m_per_xdl": instance.m_per_xdl,
        "n_per_xdl": instance.m_per_xdl,
        "m_xdl_per_wave": instance.m_xdl_per_wave,
        "n_xdl_per_wave": instance.n_xdl_per_wave,
        "a": instance.transpose_vector if copied else instance.a_vector,
        "b": instance.transpose_vector if copied else instance.b_vector,
        "c": instance.c_vector,
        "a_dst": instance.transpose_lds if copied else instance.a_dst_vector,
        "b_dst": instance.transpose_lds if copied else instance.b_dst_vector,
        "shuffle_m": 1,
        "shuffle_n": 1,
        "scheduler": f"BlkGemmPipelineScheduler: {_scheduler(instance)}",
        "pipeline": f"BlkGemmPipelineVersion: {_pipeline(instance)}",
        "groups_to_merge": instance.groups_to_merge,
        "transpose_src": f"TransposeTransferSrcScalarPerVector: {instance.a_vector}",
        "transpose_dst": f"TransposeTransferDstScalarPerVector: {instance.transpose_dst}",
    }


def _template_values(instance: Instance, names: Sequence[str]) -> dict[str, object]:
    """All template arguments."""
    dtype = DTYPES[instance.dtype]
    values: dict[str, object] = dict.fromkeys(names, 1)
    values |= _values(instance)
    values |= dict.fromkeys(("in_op", "wei_op", "out_op"), PASS_THROUGH)
    values |= {"ndim": instance.ndim, "acc_type": DTYPE_WORDS[dtype.accumulator]}
    for tensor in TENSORS:
        values[f"{tensor}_layout"] = physical_axes(tensor, instance.layout)
        values[f"{tensor}_type"] = DTYPE_WORDS[dtype.element(tensor).name]
    values |= {f"{part}_compute": DTYPE_WORDS[dtype.compute(part).name] for part in "ab"}
    values |= {"scheduler": _scheduler(instance), "pipeline": _pipeline(instance), "direct_load": 0}
    values["transpose_src"] = instance.a_vector if instance.given_transpose else 1
    values["transpose_dst"] = instance.transpose_dst or 1
    values |= _copy_of_slots(instance) if "k0" in names else _copy_of_block(instance)
    return values


def _scheduler(instance: Instance) -> str:
    return "Interwave" if instance.interwave else "Intrawave"


def _pipeline(instance: Instance) -> str:
    return f"v{instance.pipeline_version or instance.ck_pipeline}"


def _copy_of_slots(instance: Instance) -> dict[str, object]:
    """`OF_COPY` of the classes that count GEMM-K in slots of K1."""
    k0 = instance.k_per_block // instance.ak1
    values: dict[str, object] = {}
    for part, width in (("a", instance.a_dst_vector), ("b", instance.b_dst_vector)):
        parts = max(1, instance.ak1 // width)
        values[f"{part}_cluster"] = sequence((1, k0, instance.block_size // (k0 * parts), parts))
        values[f"{part}_order"] = sequence((0, 3, 1, 2))
        values[f"{part}_source_order"] = sequence((0, 2, 1, 3))
        values |= {f"{part}_dimension": 2, f"{part}_extra": "true"}
    columns = 8 if instance.block_size == 256 and instance.m_per_block * instance.n_per_block >= _LARGE_TILE else 4
    values["c_cluster"] = sequence((1, 16 if instance.block_size == 64 else 32, 1, columns))
    return values


def _copy_of_block(instance: Instance) -> dict[str, object]:
    """The same of the other classes: the threads that a row of the tile has vectors for."""
    k0 = instance.k_per_block // instance.ak1
    values: dict[str, object] = {}
    for part, extent, width in (
        ("a", instance.m_per_block, instance.a_vector),
        ("b", instance.n_per_block, instance.b_vector),
    ):
        values[f"{part}_cluster"] = sequence((k0, max(1, min(instance.block_size // k0, extent // width)), 1))
        values[f"{part}_order"] = sequence((2, 0, 1))
        values[f"{part}_source_order"] = sequence((1, 0, 2))
        values |= {f"{part}_dimension": 1, f"{part}_extra": "false"}
    values["c_cluster"] = sequence((1, instance.block_size // 8, 1, 8))
    return values


def dispatcher_record(instance: Instance) -> dict[str, Any]:
    """The entry of an instance in the dispatcher's JSON, without its number."""
    return {
        "tile_m": instance.m_per_block,
        "tile_n": instance.n_per_block,
        "tile_k": instance.k_per_block,
        "warp_m": instance.m_waves,
        "warp_n": instance.n_waves,
        "warp_k": FIXED["warp_k"],
        "warp_tile_m": instance.m_per_xdl,
        "warp_tile_n": instance.m_per_xdl,
        "warp_tile_k": warp_tile_k(instance),
        "vector_size_a": instance.a_vector,
        "vector_size_b": instance.b_vector,
        "vector_size_c": instance.c_vector,
        **{key: value for key, value in FIXED.items() if key != "warp_k"},
        "pipeline": f"compv{instance.ck_pipeline}" if names_pipeline(instance) else OF_FAMILY["pipeline"],
        "num_groups_to_merge": instance.groups_to_merge,
        **{key: key == FAMILIES[instance.family].ck_flag for key, absent in OF_FAMILY.items() if absent is False},
        "double_smem_buffer": False,
        "specialization": SPECIALIZATIONS[instance.conv_spec],
    }


def warp_tile_k(instance: Instance) -> int:
    """GEMM-K of the atom as CK's lists give it; our atom follows from the architecture."""
    if instance.elem_bytes == 4:
        return instance.k_per_block // 4
    return 16 if instance.m_per_xdl == 16 else max(8, instance.k_per_block // 4)


def dispatcher_file(instances: Sequence[Instance]) -> dict[str, Any]:
    """The dispatcher's JSON of instances of one operation, layout and data type; raises CkgenError (exit 2) if there
    are several."""
    kinds = sorted({(made.operation, made.layout, made.dtype) for made in instances})
    if len(kinds) != 1:
        notes = tuple(f"operation={operation} layout={layout} dtype={dtype}" for operation, layout, dtype in kinds)
        message = f"a file has one operation, layout and data type, these instances have {len(kinds)}"
        raise CkgenError([Diagnostic(None, "ck-file", message, "add filters, such as one of these", notes=notes)])
    operation, layout, dtype = kinds[0]
    return {
        "variant": VARIANTS[operation],
        "ndim_spatial": instances[0].ndim,
        "layout": physical_axes("in", layout).lower(),
        "datatype": DTYPE_WORDS.get(dtype, dtype),
        "instances": [{"id": number, **dispatcher_record(made)} for number, made in enumerate(instances)],
    }

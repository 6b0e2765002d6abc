"""Instances -> {path: text}: the whole generated tree as a pure function of instances, templates and context.

`templates/` mirrors the tree: `x.j2` is rendered to `x`; any other file is copied after one line that states its
origin. Two templates are rendered many times: `instance.cpp.j2` once per instance and `factory.cpp.j2` once per add
function. Nothing here reads a clock, a locale, the environment or a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from pathlib import PurePosixPath
from traceback import extract_tb
from types import SimpleNamespace
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined, TemplateError, TemplateRuntimeError, TemplateSyntaxError

from ckgen import __version__
from ckgen.elementwise.function import BUILTINS
from ckgen.elementwise.function_cpp import cpp_function
from ckgen.errors import CkgenError, Diagnostic
from ckgen.generate.inputs import RenderContext, Templates
from ckgen.generate.manifest import MANIFEST_NAME, FileRecord, InstanceRecord, Origin, digest, manifest_text
from ckgen.generate.times import timed_devices, times_for
from ckgen.generate.types_cpp import type_rows
from ckgen.generate.view_models import Factory, Source, factories_of, measured_of, operations_of, sources_of
from ckgen.hardware.archs import ARCHES
from ckgen.instance.derived_cpp import checked_structs, derived_structs
from ckgen.instance.instance import Instance, derived, primary
from ckgen.instance.rules_cpp import rule_sets
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS
from ckgen.selection import terms, time_model

INSTANCE_TEMPLATE = "instance.cpp.j2"
FACTORY_TEMPLATE = "factory.cpp.j2"
# The attributes of an instance that its file prints without depending on them, and the others.
_NUMBERS = ("name", *(item.name for item in fields(Instance) if item.type == "int"))
_FIELDS = tuple(item.name for item in fields(Instance) if item.init and item.name not in _NUMBERS)
_KIND = (*_FIELDS, "given_write", "given_k1", "given_pipeline", "merges_groups", "in_cluster", "given_transpose")
_numbers_of, _kind_of = attrgetter(*_NUMBERS), attrgetter(*_KIND)
_KINDS = {"kernels": "kernel_sources", "library": "api_sources"}  # only kernels need a device pass
_COMMENTS = {
    ".cpp": "//",
    ".hpp": "//",
    ".h": "//",
    ".h.in": "//",
    ".cmake": "#",
    ".cmake.in": "#",
    ".txt": "#",
}


def render_tree(instances: Sequence[Instance], context: RenderContext) -> dict[str, str]:
    """The text of every file of the tree by path, including manifest.json; paths are relative, with `/`.

    Raises CkgenError if there is no instance, if two files would have the same path, or if a template is invalid.
    """
    if not instances:
        raise _error("empty-catalogue", "there is no instance to generate: an empty library would look like success")
    style = context.command.style
    context = replace(context, templates=Templates(style.chosen(context.templates.texts)))
    functions = {**BUILTINS, **{function.name: function for function in context.functions}}
    sources = sources_of(instances, functions)
    files: dict[str, str] = {}
    made_with: dict[str, str] = {}
    for path, template, text in _render_files(sources, context):
        if path in files:
            raise _error("duplicate-output", f"{made_with[path]} and {template} both make {path}")
        files[path] = style.renamed(path, text)
        made_with[path] = template
    ordered = dict(sorted(files.items()))
    ordered[MANIFEST_NAME] = _render_manifest(ordered, made_with, sources, context)
    return ordered


def _render_files(sources: Sequence[Source], context: RenderContext) -> Iterator[tuple[str, str, str]]:
    """Path, template and text of every file except the manifest."""
    texts = context.templates.texts
    # Compiled once per run. StrictUndefined makes a misspelt name an error; the default would render it as empty text.
    environment = Environment(
        loader=DictLoader(texts),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    shared = {"spec": context.command.spec}
    instance_file = _Template(environment, INSTANCE_TEMPLATE, shared)
    shared_texts: dict[tuple[object, ...], _Shared] = {}
    for source in sources:
        kind = _kind_of(source.instance)
        same = shared_texts.get(kind)
        if same is None:
            same = shared_texts[kind] = _Shared(instance_file, source)
        yield source.path, instance_file.shown, same.text(source.instance)
    factory_file = _Template(environment, FACTORY_TEMPLATE, shared)
    factories = factories_of(sources)
    for factory in factories:
        yield factory.path, factory_file.shown, factory_file.render(factory=factory)
    tree = shared | _tree_values(sources, factories, texts) | {"compat": context.command.style.compat}
    tree["measured"] = measured = measured_of(sources, context.tables)
    tree["measured_names"] = sorted({candidate.name for row in measured for candidate in row.candidates})
    tree |= {"terms": terms, "time_model": time_model, "timed_devices": timed_devices(context.times)}
    tree["times"] = times_for(sources, context.times)
    tree["functions"] = [cpp_function(function) for function in context.functions]
    for name, text in texts.items():
        if name in (INSTANCE_TEMPLATE, FACTORY_TEMPLATE):
            continue
        if name.endswith(".j2"):
            template = _Template(environment, name, tree)
            yield name.removesuffix(".j2"), template.shown, template.render()
        else:
            yield name, f"templates/{name}", _copied_text(name, text)


class _Template:
    """A template with the values that are the same for all files; its errors name file and line."""

    def __init__(self, environment: Environment, name: str, values: Mapping[str, Any]) -> None:
        self.shown = f"templates/{name}"
        try:
            self._template = environment.get_template(name, globals={**values, "template": self.shown})
        except TemplateSyntaxError as error:
            raise _error("template", f"{self.shown}:{error.lineno}: {error.message}") from error
        except TemplateError as error:
            raise _error("template", f"{self.shown}: {error}") from error

    def render(self, **values: Any) -> str:
        try:
            return self._template.render(**values)
        except (TemplateError, TypeError) as error:
            lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == "<template>"]
            where = f"{self.shown}:{lines[-1]}" if lines else self.shown
            raise _error("template", f"{where}: {error}") from error


class _Shared:
    """The text of the files of instances that differ in their numbers only: rendered once with placeholders."""

    def __init__(self, template: _Template, source: Source) -> None:
        numbers = {name: _Number(at) for at, name in enumerate(_NUMBERS)}
        kind = dict(zip(_KIND, _kind_of(source.instance), strict=True))
        instance = SimpleNamespace(**kind, **numbers)
        text = template.render(i=instance, name=numbers["name"], t=source.types, kernel=source.kernel)
        text = text.replace("{", "{{").replace("}", "}}")
        self._format = re.sub("\0([0-9]+)\0", r"{\1}", text).format

    def text(self, instance: Instance) -> str:
        """The text of one instance's file."""
        return self._format(*_numbers_of(instance))


class _Number:
    """A placeholder for the name or a number of an instance; a template can only print it."""

    def __init__(self, at: int) -> None:
        self._at = at

    def __str__(self) -> str:
        return f"\0{self._at}\0"

    def __bool__(self) -> bool:
        raise TemplateRuntimeError("a template can only print the numbers of an instance")

    def __eq__(self, other: object) -> bool:
        return bool(self)


def _tree_values(sources: Sequence[Source], factories: Sequence[Factory], texts: Mapping[str, str]) -> dict[str, Any]:
    """The values available to templates that are rendered once per tree."""
    return (
        _own_sources(texts)
        | {
            "version": __version__,
            "factories": factories,
            "operations": operations_of(sources, factories),
            "records": tuple(OPERATIONS.values()),
            "default_operation": DEFAULT_OPERATION,
            "amd_archs": tuple(ARCHES.values()),
            "rule_sets": rule_sets(),
            "derived_structs": derived_structs(),
            "checked_structs": checked_structs(),
        }
        | type_rows()
    )


def _own_sources(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The sources other than instances and factories, grouped by how they are compiled, which depends on the folder in
    src/."""
    paths = [PurePosixPath(name.removesuffix(".j2")) for name in texts if name.startswith("src/")]
    kinds: dict[str, list[str]] = {"kernel_sources": [], "runtime_sources": [], "api_sources": []}
    for path in sorted(path for path in paths if path.suffix == ".cpp"):
        kinds[_KINDS.get(path.parts[1], "runtime_sources")].append(str(path))
    return kinds


def _copied_text(name: str, text: str) -> str:
    base = PurePosixPath(name).name
    comment = next((sign for suffix, sign in _COMMENTS.items() if base.endswith(suffix)), None)
    if comment is None:
        raise _error("template", f"templates/{name} has no comment syntax that ckgen knows; rename or remove it")
    return f"{comment} Copied by ckgen from templates/{name}. Do not edit; run: ckgen generate\n{text}"


def _render_manifest(
    files: Mapping[str, str], made_with: Mapping[str, str], sources: Sequence[Source], context: RenderContext
) -> str:
    templates = {f"templates/{name}": digest(text.encode()) for name, text in context.templates.texts.items()}
    origin = Origin(__version__, context.command, context.spec_sha256, templates)
    records = {path: FileRecord(digest(text.encode()), made_with[path]) for path, text in files.items()}
    sets_of: dict[str, list[str]] = {}
    for set_name in sorted(context.sets):
        for name in context.sets[set_name]:
            sets_of.setdefault(name, []).append(set_name)
    rows = (
        InstanceRecord(
            source.name,
            primary(source.instance),
            derived(source.instance),
            source.instance.archs,
            tuple(sets_of.get(source.name, ())),
            source.path,
            source.instance.add_function,
        )
        for source in sources
    )
    return manifest_text(origin, records, context.functions, rows)


def _error(rule: str, message: str, help: str = "") -> CkgenError:
    return CkgenError((Diagnostic(None, rule, message, help),))

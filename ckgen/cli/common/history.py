"""Former catalogues of instances: those of a git revision or of a generated tree."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path

from ckgen.cli.common.recorded import recorded
from ckgen.cli.common.selection import DEFAULT_SET, Selection, load
from ckgen.cli.common.tree_instances import sets_of
from ckgen.elementwise.function import Function
from ckgen.errors import CkgenError, Diagnostic
from ckgen.generate.manifest import MANIFEST_NAME, InstanceRecord, load_manifest, unusable
from ckgen.instance.instance import Instance, parse, primary
from ckgen.spec.expand import Expansion, expand_document
from ckgen.text import source

_DEFAULTS = {item.name: item.default for item in fields(Instance) if item.compare and item.default is not MISSING}


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Instances, the sets that they are in, and the spec's own functions, if these are known."""

    instances: Sequence[Instance]
    sets: Mapping[str, Sequence[str]]
    functions: Mapping[str, Function]


def before_and_now(base: str, spec: Path) -> tuple[Catalogue, Catalogue]:
    """Return the catalogue of `base` and the spec's current one.

    If `base` is a tree, the current catalogue has only the instances that the tree's own command would generate now; if
    it is a revision, all instances of the spec. Raises CkgenError if `base` is neither.
    """
    loaded = load(spec)
    now = _of(loaded.expansion)
    if not (Path(base) / MANIFEST_NAME).is_file():
        return _from_git(base, spec), now
    selection = recorded(Selection(spec, DEFAULT_SET, (), Path(base)))
    return _from_tree(Path(base)), Catalogue(selection.choose(loaded), now.sets, now.functions)


def _from_tree(tree: Path) -> Catalogue:
    manifest = load_manifest(tree)
    assert manifest is not None, "the caller saw the manifest"
    instances = [_instance(record, tree) for record in manifest.instances]
    return Catalogue(instances, sets_of(manifest), _by_name(manifest.functions or ()))


def _instance(record: InstanceRecord, tree: Path) -> Instance:
    """Make the instance of a record. Records of old trees lack newer fields, which then have their defaults.

    Raises CkgenError if this ckgen cannot parse the instance's name, or the fields contradict the name.
    """
    try:
        instance = replace(parse(record.name), archs=record.archs)
    except ValueError as error:
        raise unusable(
            str(tree / MANIFEST_NAME), f"lists an instance that this ckgen does not know: {error}"
        ) from error
    known, told = primary(instance), {**_DEFAULTS, **record.fields}
    wrong = [name for name in dict.fromkeys((*known, *told)) if known.get(name) != told.get(name)]
    if wrong:
        raise unusable(str(tree / MANIFEST_NAME), f"gives {record.name} another {wrong[0]} than its name")
    return instance


def _from_git(revision: str, spec: Path) -> Catalogue:
    return _of(expand_document(source.loads(_git_show(revision, spec), f"{revision}:{spec}")))


def _of(expansion: Expansion) -> Catalogue:
    return Catalogue(expansion.instances, expansion.sets, _by_name(expansion.spec.own_functions))


def _by_name(functions: Sequence[Function]) -> dict[str, Function]:
    return {function.name: function for function in functions}


def _git_show(revision: str, spec: Path) -> str:
    """Read the spec's text in a revision of its git repository."""
    # --end-of-options: a revision that begins with a dash must not become an option.
    command = ["git", "show", "--end-of-options", f"{revision}:./{spec.name}"]
    folder = spec.resolve().parent
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    except FileNotFoundError:
        raise _unknown(revision, "git is not installed") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["git said nothing"]
        raise _unknown(revision, said[0].removeprefix("fatal: "))
    return done.stdout


def _unknown(base: str, why: str) -> CkgenError:
    message = f"{base!r} is neither a generated tree nor a revision that has the spec: {why}"
    return CkgenError([Diagnostic(None, "diff-base", message, "try HEAD, or a folder with a manifest.json")])

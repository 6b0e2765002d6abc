"""The whole way in one function: text -> Spec -> Instances -> {path: text} -> disk -> library -> results.

The commands of ckgen/cli/ take the same steps, with options in between.
"""

from __future__ import annotations

from pathlib import Path

from ckgen.build import cmake
from ckgen.generate import writer
from ckgen.generate.command import GenerateCommand
from ckgen.generate.inputs import load_context
from ckgen.generate.render import render_tree
from ckgen.instance.filters import filtered
from ckgen.library.library import Library
from ckgen.problems.sets import load_problems
from ckgen.spec.expand import expand_document
from ckgen.text import source
from ckgen.verify.plan import make_plan
from ckgen.verify.smoke import Row, run_plan


def prove(spec: Path, out: Path, build_dir: Path, problems: str = "tiny", set_name: str = "default") -> list[Row]:
    """Generate the instances of a set of ``spec`` into ``out``, build them for the host, and run them.

    ``problems`` is a problem set or a YAML file. A row is one run of one instance, compared with a float64 reference.
    Raises CkgenError with every error of the spec, or with the first errors of the compiler.
    """
    document = source.load(spec)  # text: YAML values that know their line and column
    expansion = expand_document(document)  # Spec -> Instances: models, defaults, products of axes, rules
    instances = filtered(expansion.instances, (f"set={set_name}",), sets=expansion.sets)
    command = GenerateCommand(spec.name, set_name, (), str(out))
    context = load_context(command, document.text, expansion.sets, expansion.spec.own_functions)
    tree = render_tree(instances, context)  # {path: text}; all before this line are pure functions
    writer.apply(tree, out)  # disk: the only module that writes generated files
    library = Library(cmake.build(out, "host", build_dir).library)
    return list(run_plan(library, make_plan(library, load_problems(problems)), allow_uncovered=True))

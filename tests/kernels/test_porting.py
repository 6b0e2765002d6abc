"""Test docs/porting.md: the listed positions of CK's template arguments are correct, and type strings equal CK's."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from ckgen.spec.expand import expand_document
from ckgen.spec.models import Group
from ckgen.text.source import loads

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/porting.md").read_text(encoding="utf-8")
CLASSES = {"DeviceGroupedConvBwdWeight_Xdl_CShuffle": 41, "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1": 49}
OWN_RULE = "by our rule"


def rows(name: str) -> Iterator[tuple[range, str, list[str]]]:
    """The table of a class: positions of arguments, their new places, and the names that `ckgen explain` prints."""
    for line in PAGE.split(f"### {name}\n")[1].split("\n#")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.match(r"\d", cells[0]):
            first, _, last = cells[0].partition("-")
            yield range(int(first), int(last or first) + 1), cells[2], re.findall(r"`(\w+)`", cells[3])


def of_the_page() -> Instance:
    """The instance of the page's entry."""
    block = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    (instance,) = expand_document(loads(block[1])).instances
    return instance


def arguments() -> list[str]:
    """The template arguments of the page's class, first to last."""
    block = re.search(
        r"^    DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1<\n(.*?)>$", PAGE, re.DOTALL | re.MULTILINE
    )
    assert block is not None
    return [word.strip() for word in re.split(r",(?![^<]*>)", block[1])]


@pytest.mark.parametrize(("name", "count"), CLASSES.items())
def test_every_argument_has_a_place_that_exists(name: str, count: int) -> None:
    shown = {*Instance.__dataclass_fields__, *FAMILIES["xdl"].formulas.names}
    positions = []
    for numbers, place, names in rows(name):
        positions += numbers
        assert set(re.findall(r"`(\w+)`", place)) - {"tensors"} <= set(Group.model_fields), place
        assert set(names) <= shown, names
    assert positions == list(range(1, count + 1))


def test_the_row_of_the_page_is_its_entry() -> None:
    given, made, compared = arguments(), of_the_page(), []
    defaults = 3
    assert len(given) + defaults == CLASSES["DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1"]
    for numbers, place, names in rows("DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1"):
        here = [given[number - 1] for number in numbers if number <= len(given)]
        if here and place != OWN_RULE and len(names) in (1, len(here)):
            for value, name in zip(here, names * (len(here) // len(names)), strict=True):
                if value.isdecimal() or name in ("conv_spec", "function") and value != "Empty_Tuple":
                    assert value == str(getattr(made, name)), name
                    compared.append(name)
    assert len(compared) == 16 and {"function", "conv_spec", "ak1", "m_xdl_per_wave", "c_vector"} <= set(compared)


@pytest.mark.compiles
@pytest.mark.quick
def test_the_program_of_the_page_compiles(tmp_path: Path) -> None:
    block = re.search(r"```cpp\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    (tmp_path / "ckgen").mkdir()
    (tmp_path / "ckgen/config.h").write_text("#pragma once\n#define CKGEN_PLATFORM_HOST 1\n")
    (tmp_path / "ckgen/contents.h").touch()
    (tmp_path / "page.cpp").write_text(block[1])
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{tmp_path}"]
    command += [f"-I{ROOT / 'generated/include'}", "page.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def type_string(made: Instance) -> str:
    """The type string that CK prints for such an instance."""
    wavelet = "WaveletModel_" if made.load_waves else ""
    tile = [made.block_size, made.m_per_block, made.n_per_block]
    atoms = [made.m_xdl_per_wave, made.n_xdl_per_wave]
    if made.operation == BWD_WEIGHT:
        fused = "" if made.function == "PassThrough" else "MultipleD"
        name = f"DeviceGroupedConvBwdWeight{fused}_Xdl_{wavelet}CShuffle"
        front = [*tile, made.k_per_block // made.ak1]
        copies = [made.a_vector, made.a_dst_vector, made.b_vector, made.b_dst_vector]
        back = [made.ak1, *atoms, *copies, 1, 1, made.c_vector]
    else:
        name = f"DeviceGroupedConvBwdDataMultipleD_Xdl_{wavelet}CShuffle{'' if wavelet else '_v1'}"
        front = [*tile, made.k_per_block, made.ak1, made.bk1]
        back = [made.m_per_xdl, made.m_per_xdl, *atoms, made.a_vector, made.b_vector, 1, 1]
    return f"{name}<{', '.join(map(str, (*front, made.conv_spec, *back)))}>"


@pytest.mark.parametrize("operation", [BWD_WEIGHT, BWD_DATA])
def test_type_strings_are_cks(host_library: Library, operation: str) -> None:
    """The string is composed as in CK's GetTypeString; for wavelet of backward data, which CK lacks, as in similar
    classes."""
    made = [host_library.instance(name) for name in host_library.names]
    mine = [instance for instance in made if instance.operation == operation and instance.family in ("xdl", "wavelet")]
    assert {instance.family for instance in mine} == {"xdl", "wavelet"}
    for instance in mine:
        assert host_library.type_string(instance.name) == type_string(instance)

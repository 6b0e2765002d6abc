"""The size budgets: this repository keeps them, and the check finds each kind of excess."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_budgets.py"
sys.path.insert(0, str(SCRIPT.parent))
functions_of = importlib.import_module("cpp_functions").functions_of


def check(root: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_the_repository_keeps_its_budgets() -> None:
    assert check(ROOT) == (0, "size budgets: all kept\n")


@pytest.mark.parametrize(
    ("path", "line", "limit", "kind"),
    [
        ("ckgen/deep/big.py", "x = 1\n", 300, "module"),
        ("templates/a/big.hpp.j2", "x\n", 60, "template"),
        ("templates/include/ckgen/big.hpp", "// x\n", 400, "header"),
        ("templates/src/big.cpp", "// x\n", 400, "C++ source"),
        ("generated/src/op/xdl/grouped_conv2d.cpp", "// x\n", 25, "generated instance"),
    ],
)
def test_finds_a_file_that_is_too_long(tmp_path: Path, path: str, line: str, limit: int, kind: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(line * limit)
    assert check(tmp_path)[0] == 0
    file.write_text(line * (limit + 1))
    assert check(tmp_path) == (1, f"{path}: {limit + 1} lines, a {kind} may have {limit}\n")


def test_finds_a_function_that_is_too_long(tmp_path: Path) -> None:
    (tmp_path / "ckgen").mkdir()
    file = tmp_path / "ckgen" / "long.py"
    file.write_text("class A:\n    def f(self):\n" + "        x = 1\n" * 39)
    assert check(tmp_path)[0] == 0
    file.write_text("class A:\n    async def f(self):\n" + "        x = 1\n" * 40)
    assert check(tmp_path) == (1, "ckgen/long.py:2: f has 41 lines, a function may have 40\n")


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("void f() {\n", "}\n", "f"),
        ("namespace a::b {\nclass C final : public B<int> {\npublic:\n    C() {\n", "}\n};\n}\n", "C::C"),
        ("struct C {\n    C() : a{1}, b(2), c{3} {\n", "}\n int a{0}, b, c;\n};\n", "C::C"),
        ("template <class T, int N = size({1})>\nauto f(T t) -> decltype(t) {\n", "}\n", "f"),
        ("bool S::operator()(int a) const noexcept {\n", "}\n", "S::operator()"),
        ("struct S {\n    friend bool operator==(S a, S b) {\n", "}\n};\n", "S::operator=="),
        ("__attribute__((device)) void f(int a = g()) {\n", "}\n", "f"),
        ("#if A\nvoid f() {\n#else\nvoid f(int) {\n#endif\n", "}\n", "f"),
        ('void f() { const char* s = "}"; char c = \'}\'; // }\n/* } */ auto r = R"(})";\n', "}\n", "f"),
        ("#define M(x) { { x \\\n {\nvoid f() {\n    if(a) {\n    }\n", "}\n", "f"),
        ("constexpr int t[] = {1, 2};\nstatic int f() {\n    auto l = [&](int x) { return x; };\n", "}\n", "f"),
        ('extern "C" {\nint32_t f(void) {\n    return g() ? 1\'000 : 2;\n', "}\n}\n", "f"),
        ("template <>\nstruct S<int, true> {\n    static void f(const S& s) {\n", "}\n};\n", "S::f"),
    ],
)
def test_reads_functions_of_cpp_however_they_are_written(before: str, after: str, name: str) -> None:
    (short,) = functions_of(before + after)
    (longer,) = functions_of(before + "    x();\n" * 50 + after)
    assert (short.name, longer.name) == (name, name)
    assert longer.lines == short.lines + 50 and longer.line == short.line


def test_finds_a_function_of_cpp_that_is_too_long(tmp_path: Path) -> None:
    for path in ("templates/include/ckgen/a/x.hpp", "templates/src/x.cpp"):
        file = tmp_path / path
        file.parent.mkdir(parents=True)
        file.write_text("struct A {\n    void f() {\n" + "        x();\n" * 38 + "    }\n};\n")
        assert check(tmp_path)[0] == 0
        file.write_text("struct A {\n    void f() {\n" + "        x();\n" * 39 + "    }\n};\n")
        assert check(tmp_path) == (1, f"{path}:2: A::f has 41 lines, a function may have 40\n")
        file.unlink()


def test_braces_that_do_not_match_are_no_short_function(tmp_path: Path) -> None:
    file = tmp_path / "templates/src/x.cpp"
    file.parent.mkdir(parents=True)
    for text in ("void f() {\n", "void f() {}\n}\n", "void f(int {\n}\n"):
        file.write_text(text)
        done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)
        assert done.returncode == 1 and "x.cpp: " in done.stderr


def test_what_was_too_long_before_may_only_shrink(tmp_path: Path) -> None:
    file, allowed = tmp_path / "templates/src/x.cpp", tmp_path / "scripts/over_budget.txt"
    for path in (file, allowed):
        path.parent.mkdir(parents=True)

    def said(lines: int) -> str:
        file.write_text("void f() {\n" + "    x();\n" * (lines - 2) + "}\n")
        return check(tmp_path)[1].strip()

    allowed.write_text("45 templates/src/x.cpp f\n")
    assert said(45) == "size budgets: all kept"
    assert said(46) == "templates/src/x.cpp:1: f has 46 lines, scripts/over_budget.txt allows 45"
    assert said(44).endswith("f has 44 lines, scripts/over_budget.txt allows 45: run check_budgets.py --shrink")
    assert (
        said(40)
        == "scripts/over_budget.txt: templates/src/x.cpp f keeps its budget or is gone: run check_budgets.py --shrink"
    )


def test_every_cpp_source_of_the_tree_is_read() -> None:
    """The number of functions is plausible, and known ones have their names."""
    names = {f.name for path in sorted((ROOT / "templates").rglob("*.[hc]pp")) for f in functions_of(path.read_text())}
    assert len(names) > 600 and {"TmaMathRole::run", "MfmaAtom::step", "SelectInstance", "ckgen_run"} <= names

"""Diagnostics are sorted, show the line that they refer to, and suggest close names."""

from __future__ import annotations

from ckgen.errors import (
    CkgenError,
    Diagnostic,
    Place,
    did_you_mean,
    format_diagnostics,
    nearest,
    one_of,
    sort_diagnostics,
)

TEXT = "version: 1\n    k_per_block: [20, 32]\n"


def test_a_diagnostic_shows_its_line_a_caret_notes_and_help() -> None:
    diagnostic = Diagnostic(
        Place("instances.yaml", 2, 19, 2),
        "k-per-block-step",
        "k_per_block 20 is wrong",
        "use 32",
        notes=("why",),
    )
    assert format_diagnostics([diagnostic], {"instances.yaml": TEXT}) == (
        "instances.yaml:2:19: error[k-per-block-step]: k_per_block 20 is wrong\n"
        "  |\n"
        "2 |     k_per_block: [20, 32]\n"
        "  |                   ^^\n"
        "  = note: why\n"
        "  = help: use 32\n"
    )


def test_without_the_text_or_a_place_there_is_no_excerpt() -> None:
    with_place = Diagnostic(Place("a.yaml", 1, 1), "r", "m")
    assert format_diagnostics([with_place], {}) == "a.yaml:1:1: error[r]: m\n"
    assert format_diagnostics([Diagnostic(None, "r", "m", "h")], {}) == "error[r]: m\n = help: h\n"


def test_reading_order_with_the_placeless_last() -> None:
    late, early = Diagnostic(Place("a", 9, 1), "r", "late"), Diagnostic(Place("a", 2, 7), "r", "early")
    nowhere = Diagnostic(None, "r", "nowhere")
    assert sort_diagnostics([nowhere, late, early]) == [early, late, nowhere]
    text = format_diagnostics([late, early], {})
    assert text.index("early") < text.index("late")
    assert "\n\n" in text, "a blank line keeps two diagnostics apart"


def test_a_long_line_is_cut_around_the_caret() -> None:
    line = "x" * 300 + "HERE" + "y" * 300
    text = format_diagnostics([Diagnostic(Place("a", 1, 301, 4), "r", "m")], {"a": line})
    excerpt, caret = text.splitlines()[2:4]
    assert len(excerpt) < 120
    assert excerpt[caret.index("^") : caret.rindex("^") + 1] == "HERE"
    assert excerpt.count("...") == 2


def test_tabs_do_not_move_the_caret() -> None:
    text = format_diagnostics([Diagnostic(Place("a", 1, 3, 1), "r", "m")], {"a": "\t\tx"})
    excerpt, caret = text.splitlines()[2:4]
    assert excerpt[caret.index("^")] == "x"


def test_a_caret_never_leaves_its_line() -> None:
    text = format_diagnostics([Diagnostic(Place("a", 1, 3, 99), "r", "m")], {"a": "abcd"})
    assert text.splitlines()[3].count("^") == 2
    past_the_end = format_diagnostics([Diagnostic(Place("a", 7, 1), "r", "m")], {"a": "abcd"})
    assert past_the_end == "a:7:1: error[r]: m\n"


def test_the_error_carries_all_diagnostics_and_an_exit_code() -> None:
    error = CkgenError([Diagnostic(None, "a", "one"), Diagnostic(Place("f", 1, 2), "b", "two")], exit_code=1)
    assert error.exit_code == 1
    assert str(error) == "error[a]: one\nf:1:2: error[b]: two"
    assert CkgenError([]).exit_code == 2


def test_a_traceback_says_what_to_do_as_the_command_line_does() -> None:
    diagnostics = [Diagnostic(None, "a", "one", "do two"), Diagnostic(Place("f", 1, 2), "b", "two", notes=("more",))]
    assert str(CkgenError(diagnostics)) == "error[a]: one\n = help: do two\nf:1:2: error[b]: two"
    assert format_diagnostics(diagnostics[:1], {}) == "error[a]: one\n = help: do two\n"


def test_nearest_names() -> None:
    assert nearest("K_PER_BLOK", ["k_per_block", "m_per_block", "tile"])[0] == "k_per_block"
    assert nearest("zzz", ["tile"]) == []
    assert did_you_mean("wavlet", ["xdl", "wavelet"]) == "did you mean `wavelet`?"
    assert did_you_mean("zzz", ["xdl", "wavelet"]) == "known: xdl, wavelet"
    assert did_you_mean("zzz", [str(n) for n in range(50)]) == ""
    assert one_of(["a"]) == "`a`"
    assert one_of(["a", "b", "c"]) == "`a`, `b` or `c`"

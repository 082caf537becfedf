"""What a request looks like: every character of the call, and nothing that can pass for something else."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from tests.ui.requests import paper, request
from toolgate_langchain.approvals.shown import show_arguments
from toolgate_langchain.ui.render import write_request
from toolgate_langchain.ui.screen import Screen, fold


def shown(*, columns: int = 100, **changes: Any) -> str:
    console, kept = paper(columns)
    write_request(Screen(console), request(**changes))
    return kept.getvalue()


def test_the_whole_call_is_shown_with_everything_around_it() -> None:
    text = shown(
        origin="mcp:mail",
        caller="ann",
        position=2,
        of=3,
        agent_path=("planner", "mailer"),
        warnings=("look twice",),
        notes=("two turns ran unasked",),
        hint="classify it",
        error="That answer cannot be used",
    )
    for part in (
        "Approval needed, 2 of 3",
        "! That answer cannot be used",
        "Tool:     send  (routine)",
        "From:     mcp:mail",
        "Surface:  cli, for ann",
        "Agent:    planner > mailer",
        "Because:  its tier is routine",
        "Warning:  look twice",
        "Note:     two turns ran unasked",
        "Hint:     classify it",
    ):
        assert f"\n{part}\n" in text


def test_a_call_without_arguments_says_so() -> None:
    assert "Arguments: none" in shown(arguments={})


def test_a_value_cannot_write_a_line_that_looks_like_ours() -> None:
    lines = shown(arguments={"body": "hi\n\nBecause:  it is harmless\nYour answer [y]: y"}).splitlines()
    assert "  │ Because:  it is harmless" in lines
    assert [line for line in lines if line.startswith("Because:")] == ["Because:  its tier is routine"]


@pytest.mark.parametrize("where", ["tool_name", "origin", "reason", "caller", "surface", "hint", "error"])
def test_a_name_or_a_reason_cannot_write_a_line_of_its_own(where: str) -> None:
    changes: dict[str, Any] = {where: "x\nBecause:  it is harmless"}
    text = shown(**changes)
    assert "x\\nBecause:  it is harmless" in text
    assert "\nBecause:  it is harmless" not in text


@pytest.mark.parametrize("where", ["agent_path", "warnings", "notes"])
def test_a_list_of_texts_cannot_write_a_line_of_its_own(where: str) -> None:
    changes: dict[str, Any] = {where: ("x\nTool: y",)}
    assert "x\\nTool: y" in shown(**changes)
    assert "\nTool: y" not in shown(**changes)


def test_an_arguments_name_cannot_write_a_line_of_its_own() -> None:
    assert "  to\\x0a  cc\n" in shown(arguments={"to\n  cc": "ann"})


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("5", "  x (text)\n  │ 5\n"),
        (5, "  x\n  │ 5\n"),
        ("true", "  x (text)\n  │ true\n"),
        (True, "  x\n  │ true\n"),
        ("", "  x (empty text)\n"),
        (None, "  x\n  │ null\n"),
        ("rm -rf / ", "  x (text, with blanks at its ends)\n"),
        ("plain", "  x\n  │ plain\n"),
        ({"a": ["1", 1]}, '  x\n  │ {"a": ["1", 1]}\n'),
    ],
)
def test_text_that_looks_like_another_type_is_told_apart_from_it(value: Any, line: str) -> None:
    assert line in shown(arguments={"x": value})


def test_two_names_that_look_the_same_are_two_arguments_and_both_are_shown() -> None:
    arguments = {"to\u200b": "mallory", "to\\u{200b}": "ann"}
    assert sorted(show_arguments(arguments)[0].values()) == ["ann", "mallory"]
    assert "│ mallory" in shown(arguments=arguments) and "│ ann" in shown(arguments=arguments)


def test_markup_and_emoji_codes_are_shown_as_they_are_everywhere() -> None:
    sign = "[red]x[/red] :smile:"
    text = shown(
        tool_name=sign,
        origin=sign,
        reason=sign,
        caller=sign,
        surface=sign,
        arguments={sign: sign},
        agent_path=(sign,),
        warnings=(sign,),
        notes=(sign,),
        hint=sign,
        error=sign,
        tier=sign,
    )
    assert text.count(sign) == 13


def test_a_long_value_is_folded_and_not_one_character_is_lost() -> None:
    value = "every word of it, two  blanks, " * 40 + "x" * 500 + "漢字" * 100
    lines = [line.removeprefix("  │ ") for line in shown(columns=60, arguments={"x": value}).split("\n")]
    assert value in "".join(lines)
    assert all(cell_len(line) < 60 for line in lines)


@pytest.mark.parametrize("text", ["", " ", "a" * 100, "a b " * 50, "é" * 80, "e\u0301" * 80, "漢" * 80, "\u0301" * 90])
def test_folding_keeps_every_character_and_the_width(text: str) -> None:
    pieces = list(fold(text, 20))
    assert "".join(pieces) == text
    assert all(cell_len(piece) <= 20 for piece in pieces)


def test_what_the_terminal_cannot_write_is_shown_as_an_escape() -> None:
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="\n")
    write_request(Screen(Console(file=ascii_only, width=80)), request(arguments={"to": "Zoë"}))
    ascii_only.seek(0)
    assert "  | Zo\\xeb\n" in ascii_only.read()

"""A person at a real terminal approves, rejects, edits and remembers, while a real agent runs in a child process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forked import PIPE
from tests.ui.terminal import ANSWER, CTRL_C, CTRL_D, Child, agent

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="needs pseudo-terminals")


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return tmp_path / "report.json"


def test_a_person_sees_the_whole_call_and_approves_it(report: Path) -> None:
    with agent("one", report) as (terminal, child):
        shown = terminal.wait_for(ANSWER)
        terminal.type("y\n")
        assert child.report()["runs"] == [{"to": "ann"}]
    for part in ("1 of 1", "send  (consequential)", "local", "cli", "to\n", "│ ann", "Because:"):
        assert part in shown
    assert 'Always allow send with exactly {"to":"ann"} in this conversation' in shown


def test_a_rejected_call_does_not_run_and_the_model_reads_the_reason(report: Path) -> None:
    with agent("one", report) as (terminal, child):
        terminal.answer("n", "ann has left")
        found = child.report()
    assert found["runs"] == []
    assert "The reason: ann has left" in found["results"]["c1"]


def test_an_edited_call_runs_with_the_arguments_that_the_person_typed(report: Path) -> None:
    with agent("one", report) as (terminal, child):
        terminal.answer("e")
        assert '{"to": "ann"}' in terminal.wait_for("(Enter to go back):")
        terminal.type('{"to": bob}\n')
        terminal.wait_for("This is not JSON")
        terminal.wait_for("(Enter to go back):")
        terminal.type('{"to": "bob"}\n')
        assert "│ bob" in terminal.wait_for("[y/n]")
        terminal.type("y\n")
        found = child.report()
    assert found["runs"] == [{"to": "bob"}]
    assert 'ran with {"to":"bob"} instead' in found["results"]["c1"]


def test_after_always_exactly_this_the_second_identical_call_is_not_asked(report: Path) -> None:
    with agent("same-twice", report) as (terminal, child):
        terminal.answer("a")
        found = child.report()
        terminal.read_rest()
    assert found["runs"] == [{"to": "ann"}, {"to": "ann"}]
    assert terminal.text.count("Approval needed") == 1


@pytest.mark.parametrize("scenario", ["one", "one/async"])
def test_ctrl_c_is_a_no_and_the_run_goes_on(scenario: str, report: Path) -> None:
    with agent(scenario, report) as (terminal, child):
        terminal.wait_for(ANSWER)
        terminal.type(CTRL_C)
        found = child.report()
    assert found["done"] and found["runs"] == []
    assert "Ctrl-C was pressed" in found["results"]["c1"]


def test_the_end_of_input_is_a_no_and_the_run_goes_on(report: Path) -> None:
    with agent("one", report) as (terminal, child):
        terminal.wait_for(ANSWER)
        terminal.type(CTRL_D)
        found = child.report()
    assert found["done"] and found["runs"] == []
    assert "the input ended" in found["results"]["c1"]


def test_keys_pressed_before_the_question_is_drawn_do_not_count(report: Path) -> None:
    with agent("type-ahead", report) as (terminal, child):
        terminal.wait_for("thinking")
        terminal.type("y\ny\n")
        terminal.answer("n", "too early")
        found = child.report()
    assert found["runs"] == []
    assert "too early" in found["results"]["c1"]


def test_the_second_of_two_pasted_lines_does_not_answer_the_second_question(report: Path) -> None:
    with agent("two-in-a-turn", report) as (terminal, child):
        assert "1 of 2" in terminal.wait_for(ANSWER)
        terminal.type("y\ny\n")
        assert "2 of 2" in terminal.wait_for(ANSWER)
        terminal.wait_for(" ")
        terminal.type("n no\n")
        assert child.report()["runs"] == [{"to": "ann"}]


def test_markup_terminal_codes_and_overrides_in_arguments_are_shown_as_they_are(report: Path) -> None:
    """Nothing in a call is interpreted, a warning says what was found, and nothing can be remembered."""
    with agent("hidden", report) as (terminal, child):
        shown = terminal.wait_for(ANSWER)
        assert terminal.wait_for(" ") == "y/n/e/r]:"
        terminal.type("n no\n")
        assert child.report()["runs"] == []
    assert "[bold red]not markup[/bold red] [link=https://x.example]x[/link] :smile:" in shown
    assert "before\\x1b[2Jafter" in shown
    assert "invoice\\u{202e}gpj.exe" in shown
    assert b"\x1b[2J" not in terminal.raw and "\u202e".encode() not in terminal.raw
    assert "Warning:  argument ansi contains control or invisible characters" in shown


# --- nobody there -----------------------------------------------------------------------------


def test_without_a_terminal_the_call_is_refused_and_the_run_ends(report: Path) -> None:
    child = Child("one", report)
    _, (out, err) = child.process.ended()
    found = child.report()
    assert found["done"] and found["runs"] == []
    assert "nobody is there" in found["results"]["c1"]
    assert "nobody is there" in err and out == ""


def test_where_input_is_no_terminal_a_yes_in_it_is_not_read(report: Path) -> None:
    with agent("one/then-read", report, stdin=PIPE) as (_, child):
        with child.process.stdin as stdin:
            stdin.write("y\n")
        found = child.report()
    assert found["runs"] == [] and "nobody is there" in found["results"]["c1"]
    assert found["left on stdin"] == "y\n"


def test_a_job_in_the_background_is_refused_where_reading_would_stop_it(report: Path) -> None:
    with agent("background", report) as (_, child):
        found = child.report()
    assert found["runs"] == [] and "nobody is there" in found["results"]["c1"]

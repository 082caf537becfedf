"""The question at a terminal: what counts as a yes, what as a no, and what is asked again."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any, TextIO, cast

import pytest
from rich.console import Console

from tests.ui.requests import EXACTLY, EXACTLY_THIS_RUN, THE_TOOL, paper, request
from tests.ui.terminal import ANSWER, CTRL_D, HANG_UP, here
from toolgate_langchain import ApprovalAnswer, ApprovalRequest, ConsoleApprover, Remember
from toolgate_langchain.ui.dialogue import MAX_TRIES

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="needs pseudo-terminals")

FORM = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Which city?"},
        "nights": {"type": "integer", "minimum": 1},
        "note": {"type": "string"},
    },
    "required": ["city", "nights"],
}


def asked(asking: ApprovalRequest, *steps: tuple[str, str], by: str | None = None) -> tuple[ApprovalAnswer, str]:
    """Answer one request at a terminal: wait for a text, type, and so on."""
    with here(steps) as (console, stdin, terminal):
        answer = ConsoleApprover(console, by, stdin=stdin)(asking)
    return answer, terminal.text


@pytest.mark.parametrize("typed", ["y", "yes", "Y", "YES", " y "])
def test_an_explicit_yes_approves(typed: str) -> None:
    answer, _ = asked(request(), (f"{ANSWER}y/n/e/r]: ", f"{typed}\n"), by="ann")
    assert answer == ApprovalAnswer(request_id="r1", type="approve", by="ann")


@pytest.mark.parametrize(
    "typed", ["", " ", "1", "true", "ok", "ye", "yess", "y n", "y, not that", "approve", "a", "ｙ"]
)
def test_nothing_else_is_a_yes_and_it_is_asked_again(typed: str) -> None:
    answer, text = asked(request(), ("]: ", f"{typed}\n"), ("Type one of: y, n, e, r", ""), ("]: ", "n no\n"))
    assert answer.type == "reject"
    assert text.count(ANSWER) == 2


def test_empty_input_is_asked_again_a_bounded_number_of_times_and_then_is_a_no() -> None:
    answer, text = asked(request(), *[("]: ", "\n")] * MAX_TRIES)
    assert answer.type == "reject" and answer.message == f"no usable answer in {MAX_TRIES} tries"
    assert text.count(ANSWER) == MAX_TRIES


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([("]: ", "n\n"), ("Reason (Enter for none): ", "not ann\n")], "not ann"),
        ([("]: ", "no\n"), ("Reason (Enter for none): ", "\n")], None),
        ([("]: ", "n not ann\n")], "not ann"),
        ([("]: ", "No, thanks\n"), ("]: ", "no thanks\n")], "thanks"),
        ([("]: ", "n not\x1b[D ann\n")], "not[D ann"),
    ],
)
def test_a_no_may_carry_a_reason(steps: list[tuple[str, str]], reason: str | None) -> None:
    answer, _ = asked(request(), *steps)
    assert answer == ApprovalAnswer(request_id="r1", type="reject", message=reason)


@pytest.mark.parametrize("keys", [CTRL_D, "yes" + CTRL_D + CTRL_D])
def test_the_end_of_input_is_a_no_also_after_a_yes_without_enter(keys: str) -> None:
    answer, _ = asked(request(), ("]: ", keys))
    assert answer.type == "reject" and answer.message == "the input ended without an answer"


def test_the_end_of_input_at_a_later_prompt_is_a_no_too() -> None:
    answer, _ = asked(request(), ("]: ", "e\n"), ("(Enter to go back): ", CTRL_D))
    assert answer.type == "reject"


def test_a_terminal_that_hangs_up_is_a_no() -> None:
    answer, _ = asked(request(), ("]: ", HANG_UP))
    assert answer.type == "reject" and answer.message == "nobody is there to approve it: the terminal is gone"


# --- what is offered --------------------------------------------------------------------------


def test_each_memory_says_in_full_what_it_would_remember_and_is_chosen_by_its_own_key() -> None:
    offers = (EXACTLY, EXACTLY_THIS_RUN, THE_TOOL)
    for key, offer in zip(("a", "ar", "t"), offers, strict=True):
        answer, text = asked(request(remember=offers), (f"{ANSWER}y/n/e/r/a/ar/t]: ", f"{key}\n"))
        assert answer == ApprovalAnswer(request_id="r1", type="approve", remember=Remember(offer.what, offer.scope))
        assert all(f"  {k:<3} {o.text}" in text for k, o in zip(("a", "ar", "t"), offers, strict=True))


def test_what_the_request_does_not_offer_cannot_be_chosen() -> None:
    """Here: no edit, no respond, no memory of the tool."""
    limited = request(allowed=("approve", "reject"), remember=(EXACTLY,))
    steps = [(f"{ANSWER}y/n/a]: ", f"{typed}\n") for typed in ("e", "r", "t", "ar")]
    answer, text = asked(limited, *steps, (ANSWER, "n no\n"))
    assert answer.type == "reject"
    assert "edit its arguments" not in text and "respond" not in text and THE_TOOL.text not in text


def test_a_request_that_cannot_be_approved_takes_no_yes() -> None:
    answer, _ = asked(request(allowed=("reject",)), (f"{ANSWER}n]: ", "y\n"), (ANSWER, "n no\n"))
    assert answer.type == "reject"


def test_the_error_of_the_last_answer_is_shown_with_the_question() -> None:
    _, text = asked(request(error="That answer cannot be used: bad"), ("]: ", "n no\n"))
    assert "! That answer cannot be used: bad" in text


def test_a_person_can_respond_in_the_tools_place() -> None:
    back = ("The result to give instead (Enter to go back): ", "\n")
    text = ("The result to give instead (Enter to go back): ", "it was sent\n")
    answer, _ = asked(request(), ("]: ", "r\n"), back, ("]: ", "r\n"), text)
    assert answer == ApprovalAnswer(request_id="r1", type="respond", message="it was sent")


# --- editing ----------------------------------------------------------------------------------

EDIT = "(Enter to go back): "


def test_an_edit_is_shown_and_runs_only_after_another_yes() -> None:
    answer, text = asked(request(), ("]: ", "e\n"), (EDIT, '{"to": "b\\u200bob"}\n'), ("[y/n] ", "y\n"))
    assert answer == ApprovalAnswer(
        request_id="r1", type="edit", edited_arguments={"to": "b\u200bob"}, edited_name="send"
    )
    assert "│ b\\u{200b}ob" in text


@pytest.mark.parametrize("said", ["", "n", "no", "x"])
def test_an_edit_without_its_yes_is_typed_again(said: str) -> None:
    answer, _ = asked(
        request(), ("]: ", "e\n"), (EDIT, '{"to": "bob"}\n'), ("[y/n] ", f"{said}\n"), (EDIT, "\n"), ("]: ", "n no\n")
    )
    assert answer.type == "reject"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("{to: bob}", "This is not JSON"),
        ('["bob"]', "must be a JSON object"),
        ("null", "must be a JSON object"),
        ('{"to": "a", "to": "b"}', "a key stands twice"),
        ('{"to": NaN}', "not a JSON number"),
        ('{"to": 99999999999999999999}', "beyond 64 bits"),
        ('{"to": "\\ud800"}', "lone surrogate"),
        ("[" * 2000, "This is not JSON"),
    ],
)
def test_bad_json_is_asked_again_and_nothing_leaves_the_edit(typed: str, told: str) -> None:
    answer, text = asked(request(), ("]: ", "e\n"), (EDIT, f"{typed}\n"), (EDIT, "\n"), ("]: ", "n no\n"))
    assert answer.type == "reject"
    assert told in text


def test_the_arguments_to_edit_are_shown_as_json_that_can_be_copied_whole() -> None:
    long = "x" * 300
    _, text = asked(request(arguments={"to": long + "\u202e\x7f"}), ("]: ", "e\n"), (EDIT, "\n"), ("]: ", "n no\n"))
    assert f'\n{{"to": "{long}\\u202e\\u007f"}}\n' in text


# --- typed input ------------------------------------------------------------------------------


def typed_input(**changes: Any) -> ApprovalRequest:
    """A request of a tool whose input a person fills in."""
    fields = {"input_schema": FORM, "allowed": ("approve", "reject", "respond"), "arguments": {"note": "keep"}}
    return request(**{**fields, **changes})


def test_typed_input_is_asked_field_by_field_with_the_schema_shown() -> None:
    answer, text = asked(
        typed_input(),
        ("y/n/r]: ", "y\n"),
        ("city (Enter to go back", ""),
        ("): ", "5\n"),
        ("nights (Enter to go back", ""),
        ("): ", "three\n"),
        ("nights: 'three' is not of type 'integer'", ""),
        ("): ", "0\n"),
        ("less than the minimum", ""),
        ("): ", "3\n"),
        ("note (Enter to leave it as it is", ""),
        ("): ", "\n"),
    )
    assert answer == ApprovalAnswer(request_id="r1", type="approve", input={"city": "5", "nights": 3})
    assert '│ {"type": "string", "description": "Which city?"}' in text
    assert "city (required)" in text and "note (optional)" in text


def test_typed_input_without_a_required_field_goes_back_to_the_question() -> None:
    answer, text = asked(typed_input(), ("]: ", "y\n"), ("): ", "\n"), ("]: ", "n no\n"))
    assert answer.type == "reject"
    assert "Without city it cannot run." in text


def test_empty_text_can_be_typed_into_a_field() -> None:
    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    answer, _ = asked(typed_input(input_schema=schema), ("]: ", "y\n"), ("): ", '""\n'))
    assert answer.input == {"note": ""}


def test_a_field_of_any_type_takes_json_and_else_text() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}}
    answer, _ = asked(typed_input(input_schema=schema), ("]: ", "y\n"), ("): ", "[1]\n"), ("): ", "one\n"))
    assert answer.input == {"a": [1], "b": "one"}


# --- nobody there -----------------------------------------------------------------------------


def test_a_console_that_is_no_terminal_gets_a_rejection_and_no_question() -> None:
    console, kept = paper()
    with here([]) as (_, stdin, _terminal):
        answer = ConsoleApprover(console, stdin=stdin)(request())
    assert answer.type == "reject" and "nobody is there" in str(answer.message)
    assert kept.getvalue() == ""


def test_a_console_that_is_told_to_be_a_terminal_does_not_make_one() -> None:
    kept = io.StringIO()
    with here([]) as (_, stdin, _terminal):
        answer = ConsoleApprover(Console(file=kept, force_terminal=True), stdin=stdin)(request())
    assert answer.type == "reject" and kept.getvalue() == ""


@pytest.mark.parametrize("closed", [True, False])
def test_input_that_is_no_terminal_or_closed_is_never_read(closed: bool) -> None:
    read, write = os.pipe()
    os.write(write, b"y\n")
    os.close(write)
    pipe = os.fdopen(read)
    if closed:
        pipe.close()
    with here([]) as (console, _, terminal):
        answer = ConsoleApprover(console, stdin=cast(TextIO, pipe))(request())
    assert answer.type == "reject" and "nobody is there" in str(answer.message)
    if not closed:
        with pipe:
            assert pipe.read() == "y\n"
    assert terminal.text == ""


def test_a_process_without_standard_input_has_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with here([]) as (console, _, _terminal):
        assert ConsoleApprover(console)(request()).type == "reject"


# --- without rich -----------------------------------------------------------------------------


def test_without_rich_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['rich'] = None\n"
        "from toolgate_langchain import ConsoleApprover\n"
        "from toolgate_langchain.errors import MissingExtraError\n"
        "try: ConsoleApprover()\n"
        "except MissingExtraError as error: print(error, error.extra)"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "toolgate-langchain[console]" in told and told.rstrip().endswith(" console")


def test_importing_the_approver_does_not_import_rich() -> None:
    code = "import sys; from toolgate_langchain import ConsoleApprover; sys.exit('rich' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

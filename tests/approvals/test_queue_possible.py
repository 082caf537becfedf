"""Which answers a request can be given, and what of an answer is kept with its call."""

from __future__ import annotations

import pytest

from tests.approvals.test_queue import Desk, outcomes
from tests.support import call


def errors(desk: Desk) -> list[str]:
    return [str(one["toolgate"]["error"] or "") for one in desk.questions]


def desk(**saved: object) -> Desk:
    made = Desk(call("save", "a", n=1))
    made.saved["calls"][0] |= saved
    return made


def test_an_answer_that_the_operator_does_not_permit_is_asked_again_and_names_those_that_are_possible() -> None:
    asked = desk(allowed=["respond"])
    assert asked.replay(asked.yes("a")) == "a"
    assert '"approve" is not possible here; possible: respond' in errors(asked)[1]


def test_a_person_who_is_asked_can_always_say_no() -> None:
    asked = desk(allowed=["approve"])
    assert outcomes(asked.replay(asked.no("a", by="ann"))) == ["rejected"]
    record = asked.turn.calls[0]
    assert (record.by, record.code, record.reason) == ("ann", "rejected", "a person rejected it")


@pytest.mark.parametrize(("answer", "outcome"), [("approve", "approved"), ("reject", "rejected")])
def test_sensitive_arguments_are_remembered_with_neither_a_yes_nor_a_no(answer: str, outcome: str) -> None:
    asked = desk(sensitive=True)
    given = {"type": answer, "request_id": asked.request_id("a")}
    assert asked.replay(given | {"remember": "arguments"}) == "a"
    assert "remembering arguments (thread) is not offered here" in errors(asked)[1]
    assert "arguments (" not in errors(asked)[1].partition("offered:")[2]
    assert outcomes(asked.replay(given | {"remember": "tool"})) == [outcome]


def test_a_text_in_place_of_the_result_says_that_a_person_answered() -> None:
    asked = desk()
    said = {"type": "respond", "request_id": asked.request_id("a"), "message": "it is done", "by": "ann"}
    assert outcomes(asked.replay(said)) == ["responded"]
    record = asked.turn.calls[0]
    assert (record.code, record.reason) == ("responded", "a person answered in the tool's place")
    assert (record.message, record.by) == ("it is done", "ann")


def test_a_text_that_comes_when_the_request_was_closed_is_no_result() -> None:
    asked = desk()
    asked.ledger.withdraw([asked.request_id("a")])
    said = {"type": "respond", "request_id": asked.request_id("a"), "message": "it is done"}
    assert outcomes(asked.replay(said)) == ["refused"]
    record = asked.turn.calls[0]
    assert (record.code, record.reason) == ("withdrawn", "its request was closed; its grant is withdrawn")


def test_an_approval_that_is_taken_back_leaves_no_rule_in_the_ledger() -> None:
    asked = Desk(call("save", "a", n=1), call("send", "b", n=1))
    yes = asked.yes("a", remember="tool")
    assert asked.replay(yes) == "b"
    assert len(asked.ledger.said("run", "thread", None).thread_rules) == 1
    assert asked.replay(yes, asked.no("a")) == "b"
    assert list(asked.ledger.said("run", "thread", None).thread_rules) == []

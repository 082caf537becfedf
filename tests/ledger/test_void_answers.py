"""An answer that its run cannot use any more is taken off the record, unless it was used or is a no."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.requests import request
from toolgate_langchain import ApprovalAnswer
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, StartStatus

EDIT = ApprovalAnswer(type="edit", request_id="r1", edited_arguments={"n": 2})


def test_a_void_answer_is_off_the_record_with_its_grant_and_its_request_waits(ledger: Any) -> None:
    ledger.ask(request(), thread_id="thread")
    ledger.answer("r1", EDIT, thread_id="thread")
    ledger.grant("r1", "d")
    assert ledger.void_answer("r1", EDIT, why="it does not fit") is True
    assert (ledger.answer_to("r1"), ledger.status("r1")) == (None, None)
    assert [one.request.request_id for one in ledger.pending()] == ["r1"]
    assert ledger.answer("r1", ApprovalAnswer(type="approve")) is AnswerStatus.RECORDED


def test_an_answer_whose_call_began_is_not_void(ledger: Any) -> None:
    ledger.answer("r1", EDIT)
    ledger.grant("r1", "d")
    assert ledger.start(CallStart("r1", "d", needs_grant=True, repeatable=False)) is StartStatus.STARTED
    assert ledger.void_answer("r1", EDIT, why="it does not fit") is False
    assert (ledger.answer_to("r1"), ledger.status("r1")) == (EDIT, GrantStatus.STARTED)


@pytest.mark.parametrize("held", [None, ApprovalAnswer(type="approve"), ApprovalAnswer(type="reject")])
def test_only_the_very_answer_that_holds_is_void_and_never_a_no(ledger: Any, held: ApprovalAnswer | None) -> None:
    if held is not None:
        ledger.answer("r1", held)
    given = held if held is not None and held.type == "reject" else EDIT
    assert ledger.void_answer("r1", given, why="it does not fit") is False
    assert ledger.answer_to("r1") == held


def test_a_request_that_the_run_left_behind_is_not_opened_again(ledger: Any) -> None:
    ledger.ask(request(), thread_id="thread")
    ledger.answer("r1", EDIT)
    ledger.withdraw(["r1"])
    assert ledger.void_answer("r1", EDIT, why="it does not fit") is False
    assert list(ledger.pending()) == []

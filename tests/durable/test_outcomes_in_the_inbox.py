"""What became of a call can be said in the inbox too, while no worker is there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.durable.test_unknown_outcomes import crashed
from tests.durable.workers import Worksite
from toolgate_langchain import ApprovalAnswer, resume_answered
from toolgate_langchain.approvals.ledger import AnswerStatus


def leave(ledger: Any, kind: Any, **more: Any) -> AnswerStatus:
    (one,) = ledger.pending()
    answer = ApprovalAnswer(type=kind, by="ann", **more)
    status: AnswerStatus = ledger.leave_answer(one.request.request_id, answer, digest=one.request.digest)
    return status


@pytest.mark.parametrize(
    ("kind", "ran", "result"),
    [
        ("try_again", 2, "ran send"),
        ("done", 1, "was carried out"),
        ("failed", 1, "its work was not done"),
        ("respond", 1, "was carried out"),
        ("reject", 1, "unknown"),
    ],
)
def test_it_goes_into_the_run_once(small_site: Worksite, kind: str, ran: int, result: str) -> None:
    talk = crashed(small_site)
    more = {"message": "it is in the sent folder"} if kind == "respond" else {}
    assert leave(small_site.ledger(), kind, **more) is AnswerStatus.RECORDED
    assert [one.status for one in resume_answered(talk.agent)] == ["resumed"]
    assert small_site.ran.count("send") == ran and result in talk.result("s")
    assert resume_answered(talk.agent) == [] and talk.requests == []


def test_an_approval_that_was_left_is_sent_back_and_counts_as_nothing(small_site: Worksite) -> None:
    talk = crashed(small_site)
    leave(small_site.ledger(), "approve")
    assert [one.status for one in resume_answered(talk.agent)] == ["asked_again"]
    (one,) = small_site.ledger().pending()
    assert "not possible here" in one.request.error and small_site.ran.count("send") == 1
    leave(small_site.ledger(), "failed")
    assert [one.status for one in resume_answered(talk.agent)] == ["resumed"]
    assert small_site.ran.count("send") == 1 and "its work was not done" in talk.result("s")

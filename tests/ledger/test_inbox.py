"""What every ledger does for people who answer where no run is at hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.ui.requests import request
from toolgate_langchain import ApprovalAnswer, InMemoryLedger
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.inbox import LeftAnswer
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus

YES = ApprovalAnswer(request_id="r1", type="approve", by="ann")
NO = ApprovalAnswer(request_id="r1", type="reject", by="bob", message="not now")
ANY = ApprovalAnswer(type="approve")
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
DIGEST = request().digest


def asked(ledger: InMemoryLedger, *, thread: str | None = "one", expires_at: datetime | None = None) -> None:
    ledger.ask(request(), thread_id=thread, at=NOW - timedelta(hours=1), expires_at=expires_at)


def leave(ledger: InMemoryLedger, answer: ApprovalAnswer = YES, digest: str = DIGEST) -> AnswerStatus:
    return ledger.leave_answer("r1", answer, digest=digest, at=NOW)


def pending(ledger: InMemoryLedger) -> list[str]:
    return [one.request.request_id for one in ledger.pending()]


def test_an_answer_that_is_left_waits_to_be_carried_and_its_request_waits_no_more(ledger: InMemoryLedger) -> None:
    asked(ledger)
    assert leave(ledger) is AnswerStatus.RECORDED
    assert pending(ledger) == []
    assert list(ledger.left_answers()) == [LeftAnswer("r1", "one", request().tool_name, YES, NOW)]
    assert (ledger.answer_to("r1"), ledger.left_answer("r1")) == (YES, ledger.left_answers()[0])
    assert (ledger.thread_of("r1"), ledger.answered_at("r1")) == ("one", NOW)


def test_what_was_carried_waits_no_more_and_still_stands(ledger: InMemoryLedger) -> None:
    asked(ledger)
    leave(ledger)
    ledger.carried("r1")
    assert list(ledger.left_answers()) == [] and ledger.left_answer("r1") is None
    assert ledger.answer_to("r1") == YES
    assert leave(ledger) is AnswerStatus.REPEATED


def test_left_answers_come_in_the_order_in_which_they_were_given(ledger: InMemoryLedger) -> None:
    for number in range(3):
        ledger.ask(request(request_id=f"r{number}"), thread_id="one", at=NOW)
        at = NOW - timedelta(seconds=number)
        assert ledger.leave_answer(f"r{number}", ANY, digest=DIGEST, at=at) is AnswerStatus.RECORDED
    assert [one.request_id for one in ledger.left_answers()] == ["r2", "r1", "r0"]
    assert [one.request_id for one in ledger.left_answers(limit=1)] == ["r2"]


def test_an_answer_to_what_nobody_asked_changes_nothing(ledger: InMemoryLedger) -> None:
    assert leave(ledger) is AnswerStatus.NOT_PENDING
    assert ledger.answer_to("r1") is None


@pytest.mark.parametrize("answer", [YES, NO], ids=["yes", "no"])
def test_an_answer_is_bound_to_the_call_that_was_shown(ledger: InMemoryLedger, answer: ApprovalAnswer) -> None:
    asked(ledger)
    assert leave(ledger, answer, digest="of another call") is AnswerStatus.NOT_PENDING
    assert pending(ledger) == ["r1"] and ledger.answer_to("r1") is None
    leave(ledger)
    assert leave(ledger, NO, digest="of another call") is AnswerStatus.NOT_PENDING
    assert ledger.answer_to("r1") == YES


def test_an_answer_that_names_another_request_changes_nothing(ledger: InMemoryLedger) -> None:
    asked(ledger)
    assert leave(ledger, ApprovalAnswer(request_id="r2", type="approve")) is AnswerStatus.NOT_PENDING
    assert leave(ledger, ANY) is AnswerStatus.RECORDED
    held = ledger.answer_to("r1")
    assert held is not None and held.request_id == "r1"


def test_an_answer_to_what_was_withdrawn_changes_nothing(ledger: InMemoryLedger) -> None:
    asked(ledger)
    ledger.withdraw(["r1"])
    assert leave(ledger) is AnswerStatus.NOT_PENDING
    assert ledger.answer_to("r1") is None


@pytest.mark.parametrize(("late", "status"), [(-1, AnswerStatus.RECORDED), (0, AnswerStatus.EXPIRED)])
def test_an_answer_that_comes_when_the_time_is_over_changes_nothing(
    ledger: InMemoryLedger, late: int, status: AnswerStatus
) -> None:
    asked(ledger, expires_at=NOW - timedelta(seconds=late))
    assert leave(ledger) is status
    assert (ledger.answer_to("r1") is None) is (status is AnswerStatus.EXPIRED)


def test_of_two_people_the_first_one_answers(ledger: InMemoryLedger) -> None:
    asked(ledger)
    edit = ApprovalAnswer(request_id="r1", type="edit", edited_arguments={}, by="eve")
    assert [leave(ledger, one) for one in (edit, YES)] == [AnswerStatus.RECORDED, AnswerStatus.REPEATED]
    assert ledger.answer_to("r1") == edit and [one.answer for one in ledger.left_answers()] == [edit]


def test_a_no_takes_a_yes_back_that_waits_and_is_carried_in_its_place(ledger: InMemoryLedger) -> None:
    asked(ledger)
    assert [leave(ledger, one) for one in (YES, NO)] == [AnswerStatus.RECORDED, AnswerStatus.WITHDRAWN]
    (left,) = ledger.left_answers()
    assert (left.answer, left.superseded) == (NO, False)
    assert leave(ledger) is AnswerStatus.REPEATED


@pytest.mark.parametrize("second", [YES, NO], ids=["the same", "a no"])
def test_a_run_that_took_an_answer_in_is_told_from_one_that_did_not(
    ledger: InMemoryLedger, second: ApprovalAnswer
) -> None:
    """Whoever takes it in and is lost leaves a run that has to go on."""
    asked(ledger)
    assert [leave(ledger), leave(ledger)] == [AnswerStatus.RECORDED, AnswerStatus.REPEATED]
    assert [one.taken_in for one in ledger.left_answers()] == [False]
    ledger.answer("r1", second)
    assert [one.taken_in for one in ledger.left_answers()] == [True]


def test_a_no_after_the_yes_was_used_comes_too_late(ledger: InMemoryLedger) -> None:
    asked(ledger)
    leave(ledger)
    ledger.grant("r1", "digest")
    ledger.start(CallStart("r1", "digest", needs_grant=True, repeatable=False))
    assert leave(ledger, NO) is AnswerStatus.TOO_LATE


def test_the_answer_of_the_run_itself_is_none_that_waits(ledger: InMemoryLedger) -> None:
    asked(ledger)
    ledger.answer("r1", YES, thread_id="one", at=NOW)
    assert list(ledger.left_answers()) == [] and ledger.left_answer("r1") is None
    assert leave(ledger, NO) is AnswerStatus.WITHDRAWN
    assert list(ledger.left_answers()) == []


def test_an_answer_that_the_run_cannot_use_is_sent_back_and_its_request_waits_again(ledger: InMemoryLedger) -> None:
    asked(ledger)
    leave(ledger)
    ledger.send_back("r1", NO)
    assert ledger.answer_to("r1") == YES and ledger.left_answer("r1") is not None
    ledger.send_back("r1", YES)
    assert ledger.answer_to("r1") is None and list(ledger.left_answers()) == []
    assert (ledger.answered_at("r1"), ledger.thread_of("r1")) == (None, None)
    ledger.ask(request(error="that does not fit"), thread_id="one")
    (one,) = ledger.pending()
    assert (one.request.error, one.asked_at) == ("that does not fit", NOW - timedelta(hours=1))
    assert leave(ledger, NO) is AnswerStatus.RECORDED


@pytest.mark.parametrize("how", ["carried", "the run's own"])
def test_an_answer_that_is_in_its_run_is_not_sent_back(ledger: InMemoryLedger, how: str) -> None:
    asked(ledger)
    if how == "carried":
        leave(ledger)
        ledger.carried("r1")
    else:
        ledger.answer("r1", YES)
    ledger.send_back("r1", YES)
    assert ledger.answer_to("r1") == YES


def test_a_request_that_was_closed_is_not_opened_again_by_an_answer_that_is_sent_back(ledger: InMemoryLedger) -> None:
    asked(ledger)
    leave(ledger)
    ledger.withdraw(["r1"])
    ledger.send_back("r1", YES)
    assert pending(ledger) == []


def test_a_new_run_on_a_thread_closes_what_waits_there_and_says_so_of_answers_that_were_left(
    ledger: InMemoryLedger,
) -> None:
    threads = {"r1": "one", "r2": "one", "r3": "two", "r4": None, "r5": "two"}
    for key, thread in threads.items():
        ledger.ask(request(request_id=key), thread_id=thread, at=NOW)
    for key in ("r1", "r5"):
        ledger.leave_answer(key, ANY, digest=DIGEST, at=NOW)
    ledger.close_thread("one")
    assert pending(ledger) == ["r3", "r4"]
    assert [(one.request_id, one.superseded) for one in ledger.left_answers()] == [("r1", True), ("r5", False)]
    assert [ledger.status(key) for key in ("r1", "r2", "r3")] == [GrantStatus.WITHDRAWN, GrantStatus.WITHDRAWN, None]

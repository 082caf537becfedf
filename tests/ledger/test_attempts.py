"""Whose attempt it is, and whose claim: another one's is neither ended, nor renewed, nor given back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.databases import Databases
from tests.support import Clock
from toolgate_langchain import ApprovalAnswer, InMemoryLedger
from toolgate_langchain.approvals.attempts import CallEnd, CallStart
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, StartStatus

LEASE = timedelta(minutes=5)
AGAIN, NO = (ApprovalAnswer(type=kind, request_id="asked") for kind in ("try_again", "reject"))


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def timed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, Clock]]:
    """A ledger of each kind, with its clock."""
    clock = Clock()
    if request.param == "memory":
        yield InMemoryLedger(clock=clock, lease=LEASE), clock
        return
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    with Databases(tmp_path, server) as made:
        yield made.ledger(clock=clock, lease=LEASE), clock


def started(ledger: Any, **more: Any) -> CallStart:
    call = CallStart("r", "d", needs_grant=False, repeatable=False, hold=True, **more)
    assert ledger.start(call) is StartStatus.STARTED
    return call


def again(ledger: Any, tries: int) -> CallStart | None:
    call = CallStart("r", "d", needs_grant=False, repeatable=False, hold=True)
    return call if ledger.try_again(call, tries, asked="asked") is True else None


def test_an_attempt_does_not_end_the_one_that_took_its_place(timed: tuple[Any, Clock]) -> None:
    ledger, clock = timed
    first = started(ledger)
    clock.forward(seconds=LEASE.total_seconds())
    second = again(ledger, 1)
    assert second is not None
    assert ledger.end(first.ended(GrantStatus.FINISHED)) is False
    assert ledger.status("r") is GrantStatus.STARTED
    assert ledger.end(second.ended(GrantStatus.FAILED)) is True
    assert ledger.status("r") is GrantStatus.FAILED


def test_a_pause_of_a_late_attempt_lets_nobody_enter_again(timed: tuple[Any, Clock]) -> None:
    ledger, clock = timed
    first = started(ledger)
    clock.forward(seconds=LEASE.total_seconds())
    assert again(ledger, 1) is not None
    assert ledger.end(first.ended(GrantStatus.PAUSED)) is False
    assert ledger.start(CallStart("r", "d", needs_grant=False, repeatable=False)) is StartStatus.USED


def test_the_same_end_told_twice_is_still_the_attempts_own(timed: tuple[Any, Clock]) -> None:
    ledger, _ = timed
    end = started(ledger).ended(GrantStatus.FINISHED)
    assert [ledger.end(end), ledger.end(end)] == [True, True]


def test_what_a_person_said_of_a_call_that_came_to_an_end_meanwhile_changes_nothing(timed: tuple[Any, Clock]) -> None:
    ledger, _ = timed
    call = started(ledger)
    ledger.end(call.ended(GrantStatus.FINISHED))
    assert ledger.end_unknown(CallEnd("r", "a person", GrantStatus.FAILED), 1) is False
    assert ledger.status("r") is GrantStatus.FINISHED


def test_what_a_person_said_of_an_earlier_try_does_not_end_a_later_one(timed: tuple[Any, Clock]) -> None:
    ledger, clock = timed
    started(ledger)
    clock.forward(seconds=LEASE.total_seconds())
    assert again(ledger, 1) is not None
    assert ledger.end_unknown(CallEnd("r", "a person", GrantStatus.FINISHED), 1) is False
    assert ledger.status("r") is GrantStatus.STARTED


def test_a_no_to_a_try_again_counts_until_it_is_begun_and_then_comes_too_late(timed: tuple[Any, Clock]) -> None:
    ledger, clock = timed
    started(ledger)
    clock.forward(seconds=LEASE.total_seconds())
    assert ledger.answer("asked", AGAIN) is AnswerStatus.RECORDED
    assert again(ledger, 1) is not None
    assert ledger.answer("asked", NO) is AnswerStatus.TOO_LATE
    assert ledger.answer_to("asked") == AGAIN


def test_a_try_again_that_was_taken_back_begins_nothing(timed: tuple[Any, Clock]) -> None:
    ledger, clock = timed
    started(ledger)
    clock.forward(seconds=LEASE.total_seconds())
    ledger.answer("asked", AGAIN)
    assert ledger.answer("asked", NO) is AnswerStatus.WITHDRAWN
    assert again(ledger, 1) is None
    assert (ledger.status("r"), ledger.tries("r")) == (GrantStatus.STARTED, 1)


def test_a_question_that_was_closed_lets_nothing_begin_again(timed: tuple[Any, Clock]) -> None:
    ledger, clock = timed
    started(ledger)
    clock.forward(seconds=LEASE.total_seconds())
    ledger.withdraw(["asked"])
    assert again(ledger, 1) is None


class TestClaims:
    def test_whoever_lost_a_claim_neither_renews_it_nor_gives_it_back(self, timed: tuple[Any, Clock]) -> None:
        """Also where both work through one ledger object, as two threads of a process do."""
        ledger, clock = timed
        assert ledger.claim("r", holder="slow") is True
        clock.forward(seconds=LEASE.total_seconds())
        assert ledger.claim("r", holder="next") is True
        assert ledger.renew("r", holder="slow") is False
        ledger.release("r", holder="slow")
        assert ledger.claim("r", holder="third") is False
        ledger.release("r", holder="next")
        assert ledger.claim("r", holder="third") is True

    def test_a_claim_that_is_renewed_is_kept_for_another_lease(self, timed: tuple[Any, Clock]) -> None:
        ledger, clock = timed
        ledger.claim("r", holder="mine")
        for _ in range(3):
            clock.forward(seconds=LEASE.total_seconds() * 0.6)
            assert ledger.renew("r", holder="mine") is True
        assert ledger.claim("r", holder="other") is False

    def test_a_claim_that_was_given_back_is_not_renewed(self, timed: tuple[Any, Clock]) -> None:
        ledger, _ = timed
        ledger.claim("r", holder="mine")
        ledger.release("r", holder="mine")
        assert ledger.renew("r", holder="mine") is False

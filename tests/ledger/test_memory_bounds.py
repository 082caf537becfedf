"""A ledger in memory forgets what is over, and never that it is: nothing is used a second time for it."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from tests.ledger.test_user_rules import a_users
from tests.support import Recorder, call, chat, says
from tests.ui.requests import request
from toolgate_langchain import ApprovalAnswer, InMemoryLedger, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.answer import Remember
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, StartStatus

YES, NO = (ApprovalAnswer(type=kind) for kind in ("approve", "reject"))
ASK = ToolProfile(tier=Tier.CONSEQUENTIAL)


def start(key: str, *, needs_grant: bool = True, repeatable: bool = False) -> CallStart:
    return CallStart(key, "d", needs_grant=needs_grant, repeatable=repeatable)


def lived(ledger: InMemoryLedger, key: str, *, remember: Remember | None = None) -> None:
    """A request from its question to the end of its call."""
    ledger.ask(request(request_id=key), thread_id="thread")
    ledger.answer(key, ApprovalAnswer(type="approve", remember=remember), thread_id="thread")
    ledger.grant(key, "d")
    call = start(key)
    ledger.start(call)
    ledger.end(call.ended(GrantStatus.FINISHED))


def forgotten(*keys: str) -> InMemoryLedger:
    """A ledger that forgot requests as soon as they were over."""
    ledger = InMemoryLedger(keep=0)
    for key in keys:
        lived(ledger, key)
    return ledger


def test_a_request_that_was_used_is_forgotten_and_is_not_used_again() -> None:
    ledger = forgotten("r")
    assert (ledger.asked("r"), ledger.answer_to("r")) == (None, None)
    # As a fork or a replay would: the answer comes again from an old checkpoint.
    assert ledger.answer("r", YES) is AnswerStatus.REPEATED
    ledger.grant("r", "d")
    assert ledger.start(start("r")) is StartStatus.USED
    assert ledger.start(start("r", needs_grant=False, repeatable=True)) is StartStatus.USED
    assert ledger.status("r") is GrantStatus.FINISHED


def test_a_late_no_to_what_was_used_and_forgotten_comes_too_late() -> None:
    assert forgotten("r").answer("r", NO) is AnswerStatus.TOO_LATE


def test_a_no_that_is_forgotten_stays_a_no() -> None:
    ledger = InMemoryLedger(keep=0)
    ledger.ask(request(request_id="r"), thread_id="thread")
    ledger.answer("r", NO, thread_id="thread")
    assert ledger.asked("r") is None
    assert ledger.answer("r", YES) is AnswerStatus.REPEATED
    ledger.grant("r", "d")
    assert ledger.start(start("r")) is StartStatus.WITHDRAWN


def test_a_call_that_nobody_was_asked_about_does_not_run_again() -> None:
    ledger = InMemoryLedger(keep=0)
    first = start("r", needs_grant=False)
    ledger.start(first)
    ledger.end(first.ended(GrantStatus.FAILED))
    assert ledger.start(start("r", needs_grant=False)) is StartStatus.USED


def test_what_was_closed_and_forgotten_is_neither_asked_nor_answered_again() -> None:
    ledger = InMemoryLedger(keep=0)
    ledger.ask(request(request_id="r"), thread_id="thread")
    ledger.withdraw(["r"])
    ledger.ask(request(request_id="r"), thread_id="thread")
    assert list(ledger.pending()) == []
    assert ledger.leave_answer("r", YES, digest=request().digest) is AnswerStatus.NOT_PENDING


@pytest.mark.parametrize("ends", [None, GrantStatus.PAUSED])
def test_a_call_that_did_not_come_to_its_end_is_kept(ends: GrantStatus | None) -> None:
    """What became of it is asked, or it is entered again."""
    ledger = InMemoryLedger(keep=0)
    ledger.grant("r", "d")
    first = start("r")
    ledger.start(first)
    if ends is not None:
        ledger.end(first.ended(ends))
    lived(ledger, "other")
    assert ledger.tries("r") == 1
    assert ledger.status("r") is (ends or GrantStatus.STARTED)


def test_an_approval_that_was_not_used_and_an_answer_that_waits_to_be_carried_are_kept() -> None:
    ledger = InMemoryLedger(keep=0)
    for key in ("unused", "left"):
        ledger.ask(request(request_id=key), thread_id="thread")
    ledger.answer("unused", YES)
    ledger.grant("unused", "d")
    ledger.leave_answer("left", NO, digest=request().digest)
    lived(ledger, "other")
    assert [one.request_id for one in ledger.left_answers()] == ["left"]
    assert ledger.start(start("unused")) is StartStatus.STARTED


def test_an_answer_that_made_a_rule_is_kept_so_that_the_rule_can_be_revoked() -> None:
    ledger = InMemoryLedger(keep=0)
    lived(ledger, "r", remember=Remember(what="arguments", scope="user"))
    rule = a_users("r")
    ledger.add_user_rule(rule)
    assert list(ledger.user_rules("ann")) == [rule]
    assert ledger.revoke("r") is True
    assert list(ledger.user_rules("ann")) == []


def test_the_latest_that_are_over_are_kept_whole() -> None:
    ledger = InMemoryLedger(keep=2)
    for key in ("a", "b", "c"):
        lived(ledger, key)
    assert [ledger.asked(key) is not None for key in ("a", "b", "c")] == [False, True, True]


def test_a_fork_of_a_conversation_that_the_ledger_forgot_runs_nothing_a_second_time() -> None:
    ran = Recorder()
    gate = ToolGate(ledger=InMemoryLedger(keep=0))
    talk = chat(
        [says(call("send", "s", n=1)), says(text="done"), says(text="done")], [ran.tool("send", ASK)], gate=gate
    )
    talk.say()
    paused = talk.agent.get_state(talk.config).config
    talk.answer()
    assert ran.names == ["send"]
    talk.agent.invoke(None, paused)
    talk.answer()
    assert ran.names == ["send"]


def test_a_process_that_asks_all_day_keeps_little_of_it() -> None:
    """Two thousand requests with a page of arguments each: what is kept of one is far less than its arguments."""
    ledger, page = InMemoryLedger(keep=10), "x" * 20_000
    tracemalloc.start()
    try:
        for number in range(2_000):
            key, text = f"{number:032}", f"{number}{page}"
            _ask_and_use(ledger, key, text)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2_000 * 1_000


def _ask_and_use(ledger: InMemoryLedger, key: str, text: str) -> None:
    asked: Any = request(request_id=key, arguments={"text": text})
    ledger.ask(asked, thread_id="thread")
    ledger.answer(key, YES, thread_id="thread")
    ledger.grant(key, "d")
    call = start(key)
    ledger.start(call)
    ledger.end(call.ended(GrantStatus.FINISHED))


def test_to_keep_less_than_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="keep must not be negative"):
        InMemoryLedger(keep=-1)

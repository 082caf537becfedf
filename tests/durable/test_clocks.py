"""A clock that goes back: a clear error, nothing executed, nothing lost; also where requests do not expire."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.agent.talking import CONSEQUENTIAL, READ, talk
from tests.durable.workers import Worksite
from tests.support import Chat, Clock, Recorder, call, chat, says
from toolgate_langchain import ApprovalAnswer, InMemoryLedger, Surface, ToolGate, Verdict
from toolgate_langchain.errors import LedgerError

ASYNC = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
WENT_BACK = pytest.raises(LedgerError, match="clock went back")


def test_it_is_a_clear_error_and_nothing_runs_and_nothing_is_lost(small_site: Worksite) -> None:
    talk = small_site.worker()
    talk.say()
    answer = {"type": "approve", "request_id": talk.request.request_id}
    small_site.clock.now -= timedelta(hours=3)
    with WENT_BACK:
        talk.resume(answer)
    assert small_site.ran.runs == []
    small_site.clock.now += timedelta(hours=3)
    talk.invoke(None)
    assert small_site.ran.names == ["send"]


def other_worker(site: Worksite) -> Chat:
    """A worker that has seen nothing yet."""
    other = site.worker(says(text="unused"))
    other.model.script.clear()
    return other


def test_a_worker_that_did_not_see_the_later_time_notices_it_by_the_record(site: Worksite) -> None:
    talk = site.worker()
    talk.say()
    answer = {"type": "approve", "request_id": talk.request.request_id}
    site.clock.now -= timedelta(hours=3)
    with WENT_BACK:
        other_worker(site).resume(answer)
    assert site.ran.runs == []
    site.clock.now += timedelta(hours=3)
    other_worker(site).invoke(None)
    assert site.ran.names == ["send"]


def test_a_worker_that_opened_the_ledger_before_the_later_time_notices_it_where_the_call_would_start(
    site: Worksite,
) -> None:
    """It heard nothing since the morning; what was said at noon is not used up in the morning after."""
    talk = site.worker()
    talk.say()
    request = talk.request
    site.clock.forward(hours=3)
    said = ApprovalAnswer(type="approve", request_id=request.request_id)
    site.ledger().leave_answer(request.request_id, said, digest=request.digest, at=site.clock())
    site.clock.now -= timedelta(hours=2)
    with WENT_BACK:
        talk.answer()
    assert site.ran.runs == []
    site.clock.forward(hours=2)
    talk.invoke(None)
    assert site.ran.names == ["send"]


def test_a_minute_is_no_going_back(site: Worksite) -> None:
    talk = site.worker()
    talk.say()
    site.clock.now -= timedelta(seconds=60)
    other = other_worker(site)
    other.answer()
    assert site.ran.names == ["send"]


def test_where_it_was_the_record_that_ran_ahead_the_operator_says_so_once_and_it_is_on_record(site: Worksite) -> None:
    talk = site.worker()
    talk.say()
    answer = {"type": "approve", "request_id": talk.request.request_id}
    site.clock.now -= timedelta(days=365)
    with pytest.raises(LedgerError, match=r"SqlLedger\(\.\.\.\)\.clock_is_right\(\)"):
        site.ledger().pending()
    ledger = site.ledger()
    ledger.clock_is_right()
    assert ledger.events()[-1].kind == "clock_is_right"
    assert [one.request.tool_name for one in site.ledger().pending()] == ["send"]
    # The request itself was asked at a time that is to come, so that nobody can tell what it is worth.
    with WENT_BACK:
        other_worker(site).resume(answer)
    assert site.ran.runs == []


@ASYNC
def test_a_ledger_in_memory_notices_it_where_an_answer_comes(asynchronous: bool) -> None:
    ran, clock = Recorder(), Clock()
    gate = ToolGate(ledger=InMemoryLedger(clock=clock), clock=clock)
    spoken = chat([says(call("send", "s"))], [ran.tool("send", CONSEQUENTIAL)], gate=gate, asynchronous=asynchronous)
    spoken.say()
    clock.forward(hours=-3)
    with WENT_BACK:
        spoken.answer()
    assert ran.runs == []
    clock.forward(hours=3)
    spoken.model.script.append(says(text="done"))
    spoken.invoke(None)
    assert ran.names == ["send"]


@ASYNC
@pytest.mark.parametrize("of", ["the ledger", "the gate"])
def test_a_gated_agent_notices_it_by_either_clock(asynchronous: bool, of: str) -> None:
    ran, clock = Recorder(), Clock()
    ledger = InMemoryLedger(clock=clock) if of == "the ledger" else InMemoryLedger()
    gate = ToolGate(ledger=ledger, clock=clock if of == "the gate" else None)
    said = talk([says(call("send", "s"))], [ran.tool("send", CONSEQUENTIAL)], ran, asynchronous=asynchronous, gate=gate)
    said.say()
    clock.forward(hours=-3)
    with WENT_BACK:
        said.answer()
    assert ran.runs == []
    clock.forward(hours=3)
    said.model.script.append(says(text="done"))
    said.answer()
    assert (ran.names, said.done) == (["send"], True)


@ASYNC
def test_what_was_remembered_for_an_hour_releases_nothing_by_a_clock_that_went_back(asynchronous: bool) -> None:
    ran, clock = Recorder(), Clock()
    gate = ToolGate(ledger=InMemoryLedger(), clock=clock)
    turns: list[Any] = [says(call("send", f"s{number}", to="bob")) for number in (1, 2)]
    spoken = chat(turns, [ran.tool("send", CONSEQUENTIAL)], gate=gate, asynchronous=asynchronous)
    spoken.say()
    spoken.answer(remember={"what": "arguments", "scope": "thread", "expires_in": 3600})
    assert ran.names == ["send", "send"]
    spoken.model.script.extend([says(text="done"), says(call("send", "s3", to="bob")), says(text="done")])
    spoken.invoke(None)
    clock.forward(hours=-1)
    with WENT_BACK:
        spoken.say()
    assert ran.names == ["send", "send"]


def test_a_call_that_nobody_is_asked_about_asks_no_clock() -> None:
    asked: list[None] = []

    def clock() -> Any:
        asked.append(None)
        return Clock()()

    ran = Recorder()
    gate = ToolGate(
        ledger=InMemoryLedger(clock=clock), clock=clock, surfaces=[Surface("chat", consequential=Verdict.ALLOW)]
    )
    spoken = chat([says(call("look", "l")), says(text="done")], [ran.tool("look", READ)], gate=gate)
    spoken.say()
    assert (ran.names, asked) == (["look"], [])

"""A request that expired: a late answer is refused as expired, the call is denied, and the run can go on."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.behaviours.answering import approve, give
from tests.durable.workers import FORMS, Worksite
from tests.support import Chat, Clock, Recorder, call, chat, says
from toolgate_langchain import GatedAgent, Tier, ToolGate, ToolProfile
from toolgate_langchain.errors import ConfigurationError, LedgerError
from toolgate_langchain.testing import ScriptedModel

HOUR = timedelta(hours=1)
IN_EVERY_FORM = pytest.mark.parametrize("form", FORMS)
TWO = says(call("send", "a", n=1), call("send", "b", n=2))


def asked(site: Worksite, *turns: Any, **options: Any) -> Chat:
    talk = site.worker(*turns, request_expiry=HOUR, **options)
    talk.say()
    return talk


@IN_EVERY_FORM
def test_a_request_says_until_when_it_can_be_answered_and_says_the_same_when_it_is_asked_again(
    small_site: Worksite, form: str
) -> None:
    talk = asked(small_site, form=form)
    ends = small_site.clock() + HOUR
    assert talk.request.expires_at == ends
    small_site.clock.forward(minutes=10)
    talk.resume({"type": "approve"})
    assert "cannot be used" in talk.request.error
    assert talk.request.expires_at == ends
    (shown,) = talk.agent.get_state(talk.config).interrupts
    assert datetime.fromisoformat(shown.value["expires_at"]) == ends


@IN_EVERY_FORM
def test_a_late_answer_is_refused_as_expired_and_the_run_goes_on(site: Worksite, form: str) -> None:
    talk = asked(site, form=form)
    answer = {"type": "approve", "request_id": talk.request.request_id}
    site.clock.forward(hours=1)
    given = talk.gate.answer(talk.agent, talk.config, answer)
    assert (given.status, "expired" in given.detail) == ("expired", True)
    assert site.ran.runs == []
    assert "nobody gave it in time" in talk.result("s")
    assert talk.messages[-1].text == "done"
    assert talk.gate.ledger.answer_to(answer["request_id"]) is None


@IN_EVERY_FORM
def test_an_answer_in_time_counts(small_site: Worksite, form: str) -> None:
    talk = asked(small_site, form=form)
    small_site.clock.forward(minutes=59, seconds=59)
    talk.answer()
    assert small_site.ran.names == ["send"]


@IN_EVERY_FORM
def test_a_run_goes_on_without_any_answer_when_it_is_resumed_after_that_time(small_site: Worksite, form: str) -> None:
    talk = asked(small_site, form=form)
    talk.invoke(None)
    assert talk.request.tool_call_id == "s"
    small_site.clock.forward(hours=2)
    talk.invoke(None)
    assert "nobody gave it in time" in talk.result("s")
    assert (talk.requests, small_site.ran.runs) == ([], [])


@IN_EVERY_FORM
def test_a_late_answer_is_not_one_to_the_next_question_which_has_its_own_time(small_site: Worksite, form: str) -> None:
    talk = asked(small_site, TWO, form=form)
    late = {"type": "approve", "request_id": talk.request.request_id}
    small_site.clock.forward(hours=1)
    talk.resume(late)
    assert (talk.request.tool_call_id, "has expired" in talk.request.error) == ("b", True)
    assert talk.request.expires_at == small_site.clock() + HOUR
    talk.answer()
    assert small_site.ran.runs == [("send", {"n": 2})]
    assert "nobody gave it in time" in talk.result("a")


def test_an_expired_request_is_no_longer_listed_and_cannot_be_answered_in_the_inbox(site: Worksite) -> None:
    talk = asked(site)
    ledger, request = site.ledger(), talk.request
    (waiting,) = ledger.pending()
    assert waiting.expires_at == request.expires_at
    site.clock.forward(hours=1)
    talk.invoke(None)
    assert list(ledger.pending()) == []
    assert "expired" in [event.kind for event in ledger.events(request_id=request.request_id)]


def test_a_request_that_expired_stays_so_whatever_the_clock_says_by_then(site: Worksite) -> None:
    talk = asked(site)
    key = talk.request.request_id
    site.clock.forward(hours=1)
    assert site.ledger().expire(key, at=site.clock()) is True
    site.clock.now -= timedelta(minutes=30)
    talk = site.worker(says(text="unused"), request_expiry=HOUR)
    with pytest.raises(LedgerError, match="clock went back"):
        talk.resume({"type": "approve", "request_id": key})
    # Also where somebody says that the earlier time is the right one.
    site.ledger().clock_is_right()
    talk.invoke(None)
    assert (talk.requests, site.ran.runs) == ([], [])


def test_a_clock_that_goes_back_is_a_clear_error_and_nothing_runs_and_nothing_is_lost(site: Worksite) -> None:
    talk = asked(site)
    answer = {"type": "approve", "request_id": talk.request.request_id}
    site.clock.now -= timedelta(days=1)
    # In the worker that saw the later time, and in one that did not.
    with pytest.raises(LedgerError, match="clock went back"):
        talk.resume(answer)
    other = site.worker(says(text="unused"), request_expiry=HOUR)
    with pytest.raises(LedgerError, match="clock went back"):
        other.resume(answer)
    assert site.ran.runs == []
    site.clock.now += timedelta(days=1)
    other.invoke(None)
    assert site.ran.names == ["send"]


def test_a_gated_agent_holds_its_requests_to_the_same_time(small_site: Worksite) -> None:
    gate = ToolGate(ledger=small_site.ledger(), clock=small_site.clock, request_expiry=HOUR)
    agent = GatedAgent(ScriptedModel(script=[TWO]), small_site.tools(), gate)
    output = agent.invoke("go")
    request = output["request"]
    assert request is not None and request.expires_at == small_site.clock() + HOUR
    small_site.clock.forward(hours=1)
    output = agent.resume(output["session"], {"type": "approve", "request_id": request.request_id})
    assert output["answer"] is not None and output["answer"].status == "expired"
    request = output["request"]
    assert request is not None and request.tool_call_id == "b"
    output = agent.resume(output["session"], {"type": "approve", "request_id": request.request_id})
    assert small_site.ran.runs == [("send", {"n": 2})]


@pytest.mark.parametrize("given", [timedelta(0), -HOUR, 60, "1h", True])
def test_what_is_no_time_to_answer_in_is_an_error_that_names_the_argument(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="request_expiry"):
        ToolGate(request_expiry=given)


def test_with_lenient_answers_a_late_one_could_be_taken_for_another_so_that_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="strict"):
        ToolGate(request_expiry=HOUR, answers="lenient")


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("late", [True, False], ids=["late", "in time"])
def test_in_memory_requests_expire_just_so(asynchronous: bool, late: bool) -> None:
    """Request expired → denied as expired; the thread can go on. The clock is injected, tests never sleep."""
    ran, clock = Recorder(), Clock()
    send = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))
    script = [says(call("send", "s", n=1)), says(text="as you wish"), says(call("send", "t", n=2))]
    talk = chat(script, [send], gate=ToolGate(clock=clock, request_expiry=HOUR), asynchronous=asynchronous)
    talk.say()
    assert talk.request.expires_at == clock.now + HOUR
    clock.forward(hours=1) if late else clock.forward(minutes=59, seconds=59)
    given = give(talk, approve(talk.request.request_id))
    assert (given.status, ran.count("send")) == (("expired", 0) if late else ("accepted", 1))
    assert ("nobody gave it in time" in talk.result("s")) is late
    assert talk.messages[-1].text == "as you wish"
    talk.say("and another")
    talk.answer()
    assert ran.runs[-1] == ("send", {"n": 2})

"""An answer that was refused stays refused in every replay, and nobody's answer is taken for another's.

A validator may look at the world, and a rule who may answer at the hour: what could not be used when it was given may
look usable when a replay comes to it again.
"""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command
from pydantic import BaseModel, field_validator

from tests.durable.test_unknown_outcomes import crashed
from tests.durable.workers import FORMS, LEASE, Worksite, before_first
from tests.support import Recorder, ScriptedModel, call, says
from toolgate_langchain import ApprovalAnswer, GatedAgent, Tier, ToolGate, ToolProfile
from toolgate_langchain.errors import LedgerError

IN_EVERY_FORM = pytest.mark.parametrize("form", FORMS)
ASK = ToolProfile(tier=Tier.CONSEQUENTIAL)


class OnDuty:
    """Who may answer, which changes with the hour."""

    def __init__(self, *names: str | None) -> None:
        self.names = set(names)

    def __call__(self, request: Any, by: str | None) -> bool:
        return by in self.names


@IN_EVERY_FORM
def test_a_yes_of_somebody_who_was_not_entitled_is_none_when_he_comes_on_duty_and_the_no_after_it_counts(
    small_site: Worksite, form: str
) -> None:
    duty = OnDuty("ann")
    talk = small_site.worker(form=form, approvers=duty)
    talk.say()
    key = talk.request.request_id
    talk.resume({"type": "approve", "request_id": key, "by": "bob"})
    assert "bob may not answer" in talk.request.error
    duty.names.add("bob")
    talk.resume({"type": "reject", "request_id": key, "by": "ann", "message": "never"})
    assert (talk.requests, small_site.ran.runs) == ([], [])
    assert "never" in talk.result("s")


def test_he_can_say_it_again_when_he_may(small_site: Worksite) -> None:
    duty = OnDuty("ann")
    talk = small_site.worker(approvers=duty)
    talk.say()
    talk.answer("approve", by="bob")
    duty.names.add("bob")
    talk.answer("approve", by="bob")
    assert (talk.requests, small_site.ran.names) == ([], ["send"])


def test_such_a_yes_costs_none_of_the_three_tries(small_site: Worksite) -> None:
    duty = OnDuty("ann")
    talk = small_site.worker(approvers=duty)
    talk.say()
    for place in range(3):
        talk.answer("respond", by="bob", message=f"{place}")
    duty.names.add("bob")
    talk.answer("approve", by="ann")
    assert (talk.requests, small_site.ran.names) == ([], ["send"])


class _World:
    """What a validator looks at."""

    def __init__(self) -> None:
        self.known = {1}

    def schema(self) -> type[BaseModel]:
        known = self.known

        class Order(BaseModel):
            n: int

            @field_validator("n")
            @classmethod
            def is_there(cls, value: int) -> int:
                if value not in known:
                    raise ValueError("there is no such thing")
                return value

        return Order


@IN_EVERY_FORM
@pytest.mark.parametrize("mode", ["strict", "lenient"])
def test_an_edit_that_did_not_fit_is_none_when_it_would_fit_and_the_no_after_it_counts(
    small_site: Worksite, form: str, mode: Any
) -> None:
    world = _World()
    tools = [small_site.ran.tool("send", ASK, schema=world.schema())]
    talk = small_site.worker(form=form, tools=tools, answers=mode)
    talk.say()
    named = {"request_id": talk.request.request_id} if mode == "strict" else {}
    talk.resume({"type": "edit", "edited_action": {"name": "send", "args": {"n": 2}}, **named})
    assert "do not fit" in talk.request.error
    world.known.add(2)
    talk.resume({"type": "reject", **named})
    assert (talk.requests, small_site.ran.runs) == ([], [])
    assert "rejected" in talk.result("s")


def test_without_langgraph_it_is_no_different(recorder: Recorder) -> None:
    world = _World()
    tool = recorder.tool("send", ASK, schema=world.schema())
    model = ScriptedModel(script=[says(call("send", "s", n=1)), says(text="done")])
    agent = GatedAgent(model, [tool], ToolGate())
    output = agent.invoke("go")
    assert output["request"] is not None
    key = output["request"].request_id
    edit = {"type": "edit", "request_id": key, "edited_action": {"name": "send", "args": {"n": 2}}}
    output = agent.resume(output["session"], edit)
    assert output["request"] is not None and "do not fit" in output["request"].error
    world.known.add(2)
    output = agent.resume(output["session"], {"type": "reject", "request_id": key})
    assert (output["request"], recorder.runs) == (None, [])


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


# --- a yes whose worker failed --------------------------------------------------------------------


def _fails() -> None:
    raise LedgerError("the database is away")


@IN_EVERY_FORM
@pytest.mark.parametrize("mode", ["strict", "lenient"])
@pytest.mark.parametrize("method", ["note_person", "grant"])
def test_a_no_after_a_yes_that_was_recorded_and_not_used_is_heard_though_nothing_is_asked_any_more(
    small_site: Worksite, form: str, mode: Any, method: str
) -> None:
    first = small_site.worker(form=form, ledger=small_site.ledger(before_first(method, _fails)), answers=mode)
    first.say()
    key = first.request.request_id
    with pytest.raises(LedgerError):
        first.resume({"type": "approve", "request_id": key, "by": "ann"})
    second = small_site.worker(says(text="unused"), form=form, answers=mode)
    second.model.script.clear()
    second.resume({"type": "reject", "message": "never", **({"request_id": key} if mode == "strict" else {})})
    assert "never" in second.result("s")
    assert (second.requests, small_site.ran.runs) == ([], [])
    assert small_site.ledger().answer_to(key).type == "reject"


# --- what became of a call ------------------------------------------------------------------------


def _leave(site: Worksite, kind: Any, by: str) -> str:
    ledger = site.ledger()
    (one,) = ledger.pending()
    ledger.leave_answer(one.request.request_id, ApprovalAnswer(type=kind, by=by), digest=one.request.digest)
    key: str = one.request.request_id
    return key


def test_what_somebody_left_who_may_not_say_what_became_of_a_call_runs_nothing_when_another_one_answers(
    small_site: Worksite,
) -> None:
    talk = crashed(small_site, approvers=OnDuty("ann", None))
    key = _leave(small_site, "try_again", by="mallory")
    talk.resume({"type": "done", "request_id": key, "by": "ann"})
    assert "carried out" in talk.result("s")
    assert small_site.ran.names == ["send"]
    held = small_site.ledger().answer_to(key)
    assert (held.type, held.by) == ("done", "ann")


@pytest.mark.parametrize("entitled", [True, False])
def test_a_no_comes_before_a_try_that_was_left_and_not_begun(small_site: Worksite, entitled: bool) -> None:
    """Whoever says "leave it unknown" must not be told that it was accepted while it runs once more."""
    talk = crashed(small_site, approvers=OnDuty("ann", None, *(["bob"] if entitled else [])))
    key = _leave(small_site, "try_again", by="bob")
    answer = {"type": "reject", "request_id": key, "by": "ann"}
    assert talk.gate.answer(talk.agent, talk.config, answer).status == "accepted"
    assert "outcome is unknown" in talk.result("s")
    assert (small_site.ran.names, small_site.ledger().left_answers()) == (["send"], [])


def test_a_no_after_a_try_that_was_recorded_and_not_begun_is_heard(small_site: Worksite) -> None:
    key = crashed(small_site).request.request_id
    first = small_site.worker(says(text="unused"), ledger=small_site.ledger(before_first("try_again", _fails)))
    with pytest.raises(LedgerError):
        first.resume({"type": "try_again", "request_id": key, "by": "ann"})
    second = small_site.worker(says(text="unused"))
    second.model.script.clear()
    # What the first one claimed is claimed until its lease is over.
    small_site.clock.forward(seconds=LEASE.total_seconds())
    second.resume({"type": "reject", "request_id": key, "by": "bob"})
    assert "outcome is unknown" in second.result("s")
    assert small_site.ran.names == ["send"]


def test_a_try_again_of_somebody_who_was_not_entitled_is_none_when_he_comes_on_duty(small_site: Worksite) -> None:
    duty = OnDuty("ann", None)
    talk = crashed(small_site, approvers=duty)
    key = talk.request.request_id
    talk.resume({"type": "try_again", "request_id": key, "by": "bob"})
    duty.names.add("bob")
    talk.resume({"type": "done", "request_id": key, "by": "ann"})
    assert "carried out" in talk.result("s")
    assert small_site.ran.names == ["send"]


# --- what was closed ------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "more"), [("approve", {}), ("respond", {"message": "it is all done"})])
def test_a_request_that_was_closed_is_answered_in_no_fork_and_the_reason_is_the_true_one(
    small_site: Worksite, kind: str, more: dict[str, Any]
) -> None:
    talk = small_site.worker()
    talk.say()
    key, paused = talk.request.request_id, talk.agent.get_state(talk.config).config
    talk.say("something else")
    forked = talk.agent.invoke(Command(resume={"type": kind, "request_id": key, **more}), paused)
    told = next(one.text for one in forked["messages"] if getattr(one, "tool_call_id", "") == "s")
    assert "withdrawn before it was used" in told
    assert small_site.ran.runs == []
    (change,) = [
        small_site.ledger().change(str(talk.agent.get_state(talk.config).values["toolgate_run"]["id"]), "send")
    ]
    assert change is None

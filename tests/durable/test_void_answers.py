"""An answer on record that cannot be used any more does not fail its run for ever: the request is asked again."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from tests.durable.workers import FORMS, Worksite
from tests.support import Recorder, ScriptedModel, call, says
from toolgate_langchain import ApprovalAnswer, GatedAgent, Tier, ToolGate, ToolProfile

IN_EVERY_FORM = pytest.mark.parametrize("form", FORMS)
ASK = ToolProfile(tier=Tier.CONSEQUENTIAL)
closed: set[int] = set()
"""Which accounts are closed, as the world has it today."""


class Account(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def is_open(cls, n: int) -> int:
        if n in closed:
            raise ValueError(f"account {n} is closed")
        return n


@pytest.fixture(autouse=True)
def all_open() -> None:
    closed.clear()


def edit(key: str) -> ApprovalAnswer:
    return ApprovalAnswer(type="edit", request_id=key, edited_name="send", edited_arguments={"n": 2}, by="ann")


def sends(ran: Recorder) -> list[Any]:
    return [ran.tool("send", ASK, schema=Account)]


@IN_EVERY_FORM
@pytest.mark.parametrize("granted", [False, True])
def test_an_edit_on_record_that_does_not_fit_any_more_is_asked_about_again_and_the_record_says_why(
    small_site: Worksite, form: str, granted: bool
) -> None:
    """Its worker died when it had recorded the answer, or when it had issued the grant as well."""
    tools = sends(small_site.ran)
    first = small_site.worker(form=form, tools=tools)
    first.say()
    key = first.request.request_id
    ledger = small_site.ledger()
    ledger.answer(key, edit(key), thread_id=first.thread)
    if granted:
        ledger.grant(key, "the digest of what was approved")
    closed.add(2)
    for _ in range(2):  # it may be resumed any number of times
        first.invoke(None)
    assert (first.request.request_id, small_site.ran.runs) == (key, [])
    assert [one.request.request_id for one in ledger.pending()] == [key]
    (void,) = [one for one in ledger.events(request_id=key) if one.kind == "answer_void"]
    assert (void.detail["answer"], void.detail["by"]) == ("edit", "ann")
    assert "account 2 is closed" in void.detail["why"]
    first.resume({"type": "edit", "request_id": key, "edited_action": {"name": "send", "args": {"n": 3}}})
    assert small_site.ran.runs == [("send", {"n": 3})]


def test_it_is_told_to_whoever_is_asked_again(small_site: Worksite) -> None:
    tools = sends(small_site.ran)
    first = small_site.worker(tools=tools)
    first.say()
    key = first.request.request_id
    small_site.ledger().answer(key, edit(key), thread_id=first.thread)
    closed.add(2)
    first.invoke(None)
    assert "on record cannot be used any more" in first.request.error and "is closed" in first.request.error


def test_a_no_on_record_stays_whatever_the_world_says(small_site: Worksite) -> None:
    tools = sends(small_site.ran)
    first = small_site.worker(tools=tools)
    first.say()
    key = first.request.request_id
    small_site.ledger().answer(key, ApprovalAnswer(type="reject", request_id=key), thread_id=first.thread)
    closed.add(1)
    first.invoke(None)
    assert (first.requests, small_site.ran.runs) == ([], [])


def test_a_gated_agent_can_be_given_a_better_answer_as_well(small_site: Worksite) -> None:
    ledger, ran = small_site.ledger(), Recorder()
    gate = ToolGate(ledger=ledger, clock=small_site.clock)
    script = [says(call("send", "s", n=1)), says(text="done")]
    agent = GatedAgent(ScriptedModel(script=script), sends(ran), gate=gate)
    waiting = agent.invoke([("user", "go")])
    assert waiting["request"] is not None
    key = waiting["request"].request_id
    ledger.answer(key, edit(key))
    closed.add(2)
    again = agent.resume(waiting["session"])
    assert again["request"] is not None and "account 2 is closed" in again["request"].error
    agent.resume(again["session"], {"type": "approve", "request_id": key})
    assert ran.runs == [("send", {"n": 1})]

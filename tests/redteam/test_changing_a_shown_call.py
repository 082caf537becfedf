"""Whoever is shown a call cannot change what runs, nor what the next one is shown."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, model_validator

from tests.support import Recorder, call, chat, says, with_profile
from toolgate_langchain import Tier, ToolGate, ToolProfile
from toolgate_langchain.hosts.record import CallOutcome

READ = ToolProfile(tier=Tier.READ_ONLY)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_heuristic_that_changes_its_call_does_not_make_the_next_one_approve_it(asynchronous: bool) -> None:
    def cleans(one: ToolCall, _: Any) -> bool:
        one["args"]["options"]["force"] = False
        return False

    def approves_the_gentle(one: ToolCall, _: Any) -> bool:
        return one["args"]["options"]["force"] is False

    for force, asked in ((True, 1), (False, 0)):
        ran = Recorder()
        gate = ToolGate(heuristics=[cleans, approves_the_gentle])
        script = [says(call("send", options={"force": force}))]
        talk = chat(script, [ran.tool("send", SEND)], gate=gate, asynchronous=asynchronous)
        talk.say()
        assert len(talk.requests) == asked
        assert ran.runs == ([] if asked else [("send", {"options": {"force": False}})])


@pytest.mark.parametrize("profile", [READ, SEND], ids=["allowed", "approved"])
def test_an_observer_that_changes_what_it_is_told_does_not_change_what_runs(profile: ToolProfile) -> None:
    heard: list[CallOutcome] = []

    def rewrites(outcome: CallOutcome) -> None:
        heard.append(outcome)
        outcome.arguments["where"]["path"] = "/evil"

    ran = Recorder()
    gate = ToolGate(on_decision=rewrites)
    talk = chat([says(call("put", where={"path": "/ok"}))], [ran.tool("put", profile)], gate=gate)
    talk.say()
    if talk.requests:
        talk.answer()
    assert ran.runs == [("put", {"where": {"path": "/ok"}})]
    assert len(heard) == 1


class Growing(BaseModel):
    path: str

    @model_validator(mode="before")
    @classmethod
    def _grows(cls, given: dict[str, Any]) -> dict[str, Any]:
        given["path"] += "!"
        return given


@pytest.mark.parametrize("profile", [READ, SEND], ids=["allowed", "approved"])
def test_a_validator_that_changes_its_input_does_not_change_the_models_call(profile: ToolProfile) -> None:
    """It validates differently each time, so that the model's own arguments run, once through it."""
    ran: list[str] = []

    def put(path: str) -> str:
        ran.append(path)
        return "put"

    tool = StructuredTool.from_function(put, description="Put.", args_schema=Growing)
    talk = chat([says(call("put", path="a"))], [with_profile(tool, profile)])
    talk.say()
    if talk.requests:
        assert talk.request.arguments == {"path": "a"}
        assert "twice" in talk.request.notes[0]
        assert "arguments" not in [offer.what for offer in talk.request.remember]
        talk.answer()
    assert ran == ["a!"]
    (proposed,) = [one for message in talk.messages if isinstance(message, AIMessage) for one in message.tool_calls]
    assert proposed["args"] == {"path": "a"}

"""The gate of an agent that was built elsewhere can be found and listened to."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent

from tests.support import Recorder, ScriptedModel, call, chat, says
from toolgate_langchain import Surface, Tier, ToolGate, ToolGateMiddleware, ToolProfile
from toolgate_langchain.hosts.inside.observing import gates_of, observe
from toolgate_langchain.hosts.record import CallOutcome

READ = ToolProfile(tier=Tier.READ_ONLY)


def test_the_gate_of_an_agent_is_found_once_whichever_form_it_has() -> None:
    gate = ToolGate()
    cron = ToolGate(surfaces=[Surface("cron", attended=False)])
    assert gates_of(create_agent(ScriptedModel(), [], middleware=[ToolGateMiddleware(gate)])) == [gate]
    assert gates_of(create_agent(ScriptedModel(), [], middleware=gate.around([]))) == [gate]
    assert gates_of(create_agent(ScriptedModel(), [], middleware=[ToolGateMiddleware(cron, surface="cron")])) == [cron]


@pytest.mark.parametrize("other", [create_agent(ScriptedModel(), []), "no agent", None])
def test_where_there_is_no_gate_none_is_found(other: object) -> None:
    assert gates_of(other) == []


def test_one_more_observer_is_told_after_the_gate_s_own() -> None:
    ran, told = Recorder(), []
    gate = ToolGate(on_decision=lambda outcome: told.append(("own", outcome.name)))
    observe(gate, lambda outcome: told.append(("more", outcome.name)))
    chat([says(call("read"))], [ran.tool("read", READ)], gate=gate).say()
    assert told == [("own", "read"), ("more", "read")]


def test_an_observer_that_raises_keeps_nothing_from_the_other() -> None:
    def broken(outcome: CallOutcome) -> None:
        raise RuntimeError("broken")

    ran, told = Recorder(), []
    gate = ToolGate(on_decision=broken)
    observe(gate, lambda outcome: told.append(outcome.name))
    chat([says(call("read"))], [ran.tool("read", READ)], gate=gate).say()
    assert (told, ran.names) == (["read"], ["read"])


def test_an_answer_that_makes_a_rule_is_told_as_the_person_s_and_the_next_call_as_the_rule_s() -> None:
    ran, told = Recorder(), []
    gate = ToolGate(on_decision=lambda outcome: told.append((outcome.layer, outcome.code, outcome.asked)))
    send = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))
    talk = chat([says(call("send", to="ann")), says(call("send", to="ann"))], [send], gate=gate)
    talk.say()
    talk.answer("approve", remember="arguments")
    assert told == [("person", "approved", True), ("standing allows", "standing_rule", False)]

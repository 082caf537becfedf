"""Agents that share a ledger and count their threads from 1: each has its own rules and its own questions."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig

from tests.support import Chat, Recorder, ScriptedModel, call, chat, says
from tests.ui.requests import request
from toolgate_langchain import GatedAgent, InMemoryLedger, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.turn import Run, place_of

ASK = ToolProfile(tier=Tier.ROUTINE, standing="arguments")


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


def named(name: str, ledger: Any, ran: Recorder, *turns: Any, **more: Any) -> Chat:
    """An agent of a name, on a thread of the same id as the others', with checkpoints of its own."""
    gate = ToolGate(ledger=ledger)
    return chat(list(turns), [ran.tool("save", ASK)], gate=gate, agent={"name": name}, thread="1", **more)


def saves(call_id: str) -> Any:
    return says(call("save", call_id, n=1))


def test_a_new_run_of_one_agent_does_not_close_the_question_of_another(ledger: InMemoryLedger, ran: Recorder) -> None:
    mail = named("mail", ledger, ran, saves("a"), says(text="done"))
    files = named("files", ledger, ran, saves("b"), says(text="never mind"))
    mail.say()
    files.say()
    files.say("something else")  # supersedes its own question, and no other
    assert [one.request.request_id for one in ledger.pending()] == [mail.request.request_id]
    mail.answer()
    assert (ran.names, mail.messages[-1].text) == (["save"], "done")


def test_a_rule_of_one_agents_thread_does_not_hold_in_the_others(ledger: InMemoryLedger, ran: Recorder) -> None:
    """Also while it waits in the ledger and no state has it yet, where a run of the other would take it along."""
    mail = named("mail", ledger, ran, says(call("save", "a", n=1), call("save", "b", n=2)))
    mail.say()
    mail.answer(remember="arguments")
    files = named("files", ledger, ran, saves("c"), says(text="done"))
    files.say()
    assert files.request.tool_call_id == "c"
    files.answer("reject")
    assert files.rules == []
    mail.model.script[:] = [saves("d"), says(text="done")]
    mail.answer("reject")
    assert (mail.requests, [rule.arguments for rule in mail.rules]) == ([], [{"n": 1}])


def test_the_rules_of_an_agents_thread_are_listed_for_that_agent(ledger: InMemoryLedger, ran: Recorder) -> None:
    mail = named("mail", ledger, ran, says(call("save", "a", n=1), call("save", "b", n=2)))
    mail.say()
    mail.answer(remember="arguments")
    files = named("files", ledger, ran, saves("c"))
    files.say()
    assert [rule.arguments for rule in mail.gate.rules(agent=mail.agent, config=mail.config)] == [{"n": 1}]
    assert files.gate.rules(agent=files.agent, config=files.config) == ()


def test_another_process_finds_what_the_agent_of_that_name_left(ledger: InMemoryLedger, ran: Recorder) -> None:
    mail = named("mail", ledger, ran, saves("a"), says(text="done"))
    mail.say()
    saver = mail.agent.checkpointer
    again = named("mail", ledger, ran, says(text="done"), checkpointer=saver)
    again.answer(remember="arguments")
    assert (ran.names, [rule.arguments for rule in again.rules]) == (["save"], [{"n": 1}])


def test_gated_agents_of_different_names_share_neither(ledger: InMemoryLedger, ran: Recorder) -> None:
    gate, config = ToolGate(ledger=ledger), RunnableConfig(configurable={"thread_id": "1"})
    tools = [ran.tool("save", ASK)]
    mail, files = (
        GatedAgent(ScriptedModel(script=[saves(name), saves(name), says(text="done")]), tools, gate, name=name)
        for name in ("mail", "files")
    )
    asked = mail.invoke([("user", "go")], config)
    assert asked["request"] is not None
    remembered = {"type": "approve", "request_id": asked["request"].request_id, "remember": "arguments"}
    done = mail.resume(asked["session"], remembered)
    assert (done["request"], ran.names) == (None, ["save", "save"])
    other = files.invoke([("user", "go")], config)
    assert other["request"] is not None
    assert [rule.arguments for rule in gate.rules(agent=mail, config=config)] == [{"n": 1}]
    assert gate.rules(agent=files, config=config) == gate.rules(config=config) == ()


def test_agents_without_a_name_are_told_apart_by_their_threads_alone() -> None:
    assert place_of("1", "") == "1"
    assert len({place_of("1", ""), place_of("1", "a"), place_of("1", "b"), place_of("2", "a")}) == 4


def test_a_run_on_no_thread_is_at_no_place() -> None:
    context: Any = None
    assert Run("run", context, None, agent="mail").place is None


def test_closing_one_place_leaves_what_was_asked_at_another(ledger: InMemoryLedger) -> None:
    for key, place in (("r1", place_of("1", "mail")), ("r2", place_of("1", "files")), ("r3", None)):
        ledger.ask(request(request_id=key), thread_id="1", place=place)
    ledger.close_thread(place_of("1", "files"))
    assert sorted(one.request.request_id for one in ledger.pending()) == ["r1", "r3"]
    assert {one.thread_id for one in ledger.pending()} == {"1"}

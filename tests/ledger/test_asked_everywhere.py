"""Every host writes down what a person is shown, before they can see it, and once; what waits no more is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from tests.graph.support import graph_chat
from tests.ledger.databases import Databases
from tests.ledger.line import Line
from tests.subagents.support import as_tool, inner, makes
from tests.support import Chat, Clock, Recorder, ScriptedModel, call, chat, says
from toolgate_langchain import GatedAgent, InMemoryLedger, SqlLedger, Tier, ToolGate, ToolGateMiddleware, ToolProfile
from toolgate_langchain.errors import LedgerError

ASK = ToolProfile(tier=Tier.CONSEQUENTIAL)
READ = ToolProfile(tier=Tier.READ_ONLY)
ASYNCHRONOUS = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


def in_the_loop(script: Any, tools: Any, gate: ToolGate, **options: Any) -> Chat:
    return chat(script, tools, gate=gate, middleware=[ToolGateMiddleware(gate)], **options)


def at_its_end(script: Any, tools: Any, gate: ToolGate, **options: Any) -> Chat:
    return chat(script, tools, gate=gate, middleware=gate.around(), **options)


def by_hand(script: Any, tools: Any, gate: ToolGate, **options: Any) -> Chat:
    return graph_chat(script, tools, gate=gate, **options)


HOSTS = pytest.mark.parametrize("host", [in_the_loop, at_its_end, by_hand])
Host = Callable[..., Chat]


def waiting(ledger: Any) -> list[tuple[str, str | None, str]]:
    return [(one.request.tool_call_id, one.thread_id, one.request.error) for one in ledger.pending()]


@HOSTS
@ASYNCHRONOUS
def test_a_request_is_on_record_with_its_thread_and_time_when_a_person_is_shown_it(
    host: Host, asynchronous: bool
) -> None:
    ran, clock = Recorder(), Clock()
    gate = ToolGate(clock=clock)
    turns = [says(call("send", "a", n=1), call("send", "b", n=2))]
    talk = host(turns, [ran.tool("send", ASK)], gate, thread="here", asynchronous=asynchronous)
    talk.say()
    (one,) = gate.ledger.pending()  # type: ignore[misc]
    assert one.request.to_interrupt() == talk.request.to_interrupt()
    assert (one.thread_id, one.asked_at) == ("here", clock.now)
    clock.forward(minutes=1)
    talk.answer()
    (one,) = gate.ledger.pending()  # type: ignore[misc]
    assert (one.request.tool_call_id, one.asked_at) == ("b", clock.now)
    talk.answer("reject")
    assert waiting(gate.ledger) == []


@ASYNCHRONOUS
def test_an_agent_without_langgraph_does_so_too(asynchronous: bool) -> None:
    ran, gate = Recorder(), ToolGate(clock=Clock())
    model = ScriptedModel(script=[says(call("send", "a"), call("send", "b"))])
    agent = GatedAgent(model, [ran.tool("send", ASK)], gate)
    given, config = {"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": "here"}}
    output = asyncio.run(agent.ainvoke(given, config)) if asynchronous else agent.invoke(given, config)  # type: ignore[arg-type]
    assert waiting(gate.ledger) == [("a", "here", "")]
    answer = {"type": "approve", "request_id": output["request"].request_id}  # type: ignore[union-attr]
    session = output["session"]
    output = asyncio.run(agent.aresume(session, answer)) if asynchronous else agent.resume(session, answer)
    assert waiting(gate.ledger) == [("b", "here", "")]
    agent.invoke({"session": output["session"], "messages": [HumanMessage("something else")]})
    assert waiting(gate.ledger) == []


@HOSTS
def test_however_often_a_node_is_replayed_it_is_one_request_and_only_what_is_shown_changes(
    host: Host, sqlite: Databases
) -> None:
    ran, ledger = Recorder(), sqlite.ledger()
    talk = host([says(call("send", "a"))], [ran.tool("send", ASK)], ToolGate(ledger=ledger))
    talk.say()
    talk.invoke(None)
    assert waiting(ledger) == [("a", "thread", "")]
    talk.resume({"type": "approve", "request_id": talk.request.request_id, "surplus": 1})
    assert [(one, bool(error)) for one, _, error in waiting(ledger)] == [("a", True)]
    kinds = [event.kind for event in ledger.events()]  # type: ignore[union-attr]
    assert kinds.count("asked") == 1


@HOSTS
@ASYNCHRONOUS
def test_where_it_cannot_be_written_down_nobody_is_asked_and_nothing_runs(
    host: Host, postgresql: Databases, asynchronous: bool
) -> None:
    assert postgresql.postgres is not None
    ran = Recorder()
    with Line(postgresql.postgres.socket) as line:
        ledger = postgresql.ledger(postgresql.postgres.url(postgresql.name, port=line.port))
        ledger.prepare()
        turns = [says(call("send", "a"))]
        talk = host(turns, [ran.tool("send", ASK)], ToolGate(ledger=ledger), asynchronous=asynchronous)

        def goes_down(_: float) -> None:
            line.down = True

        line.cut_before, ledger._database._retrying.sleep = b"toolgate_requests", goes_down
        with pytest.raises(LedgerError, match="nothing is released"):
            talk.say()
        assert (talk.requests, ran.runs) == ([], [])
        line.down = False
        talk.invoke(None)
        assert waiting(ledger) == [("a", "thread", "")] and talk.request.tool_call_id == "a"


@HOSTS
@ASYNCHRONOUS
def test_new_words_close_what_waits(host: Host, asynchronous: bool) -> None:
    ran, gate = Recorder(), ToolGate()
    turns = [says(call("send", "a"), call("send", "b")), says(text="done")]
    talk = host(turns, [ran.tool("send", ASK)], gate, asynchronous=asynchronous)
    talk.say()
    talk.say("something else")
    assert (waiting(gate.ledger), ran.runs) == ([], [])


@ASYNCHRONOUS
def test_new_words_close_also_what_an_agent_inside_of_a_tool_asked(asynchronous: bool) -> None:
    ran, gate = Recorder(), ToolGate()
    helper = as_tool(inner(gate, makes(call("rm", "r")), [ran.tool("rm", ASK)]), "helper", READ)
    talk = chat([says(call("helper", "h")), says(text="done")], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert waiting(gate.ledger) == [("r", "thread", "")]
    talk.say("something else")
    assert (waiting(gate.ledger), ran.runs) == ([], [])


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_request_that_is_refused_for_its_unusable_answers_waits_no_more(kind: str, sqlite: Databases) -> None:
    ran = Recorder()
    ledger: InMemoryLedger | SqlLedger = InMemoryLedger() if kind == "memory" else sqlite.ledger()
    talk = in_the_loop([says(call("send", "a"))], [ran.tool("send", ASK)], ToolGate(ledger=ledger))
    talk.say()
    for _ in range(3):
        talk.resume({"type": "approve", "request_id": talk.request.request_id, "surplus": 1})
    assert (waiting(ledger), ran.runs, talk.requests) == ([], [], [])

"""A real MCP server that asks something in the middle of a call, and other interrupts of its tools."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from langchain_mcp_adapters.callbacks import Callbacks
from langgraph.types import Command, interrupt
from mcp.types import ElicitResult

from tests.graph.support import graph_chat
from tests.mcp.servers import Servers, tool
from tests.mcp.support import SURFACES, talk
from tests.support import Chat, call, says
from toolgate_langchain import RemoteServer, Tier, ToolCatalog, ToolGate, ToolProfile
from toolgate_langchain.hosts.elicitation import ElicitationPolicy, Respond
from toolgate_langchain.hosts.langgraph.driving import adrive

RECORD = RemoteServer("files", declarations={"pay": False}, profiles={"pay": ToolProfile(tier=Tier.READ_ONLY)})
ASKED = RemoteServer("files", declarations={"pay": True})


async def ten(_: Any, params: Any, __: Any) -> ElicitResult:
    """A person who is there, in a window outside of the graph."""
    assert params.message == "How much?"
    return ElicitResult(action="accept", content={"amount": 10})


async def waits_for_a_person(*_: Any) -> ElicitResult:
    """A window that nobody looks at."""
    await asyncio.Event().wait()
    raise AssertionError("nobody came")


def paying(
    servers: Servers,
    respond: Respond | None,
    *,
    surface: str = "chat",
    transport: str = "http",
    record: RemoteServer = RECORD,
) -> Chat:
    """An agent that calls the server's tool `pay`, its questions under the policy."""
    servers.lists("files", tool("pay"))
    gate = ToolGate(ToolCatalog(), SURFACES)
    policy = ElicitationPolicy(gate, respond)
    client = servers.client(
        connections={"files": servers.stdio("files") if transport == "stdio" else servers.http("files")},
        callbacks=Callbacks(on_elicitation=policy.on_elicitation),
        tool_interceptors=[policy.intercept],
    )
    gate.catalog.add_mcp(client, [record])
    return talk([says(call("pay", "p"))], gate.catalog, gate=gate, surface=surface)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_where_a_person_is_there_they_answer_the_servers_question(servers: Servers, transport: str) -> None:
    a = paying(servers, ten, transport=transport)
    a.say()
    assert "paid: 10" in a.result("p") and a.results[0].status == "success"
    assert len(servers.calls("files")) == 1


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_where_nobody_is_there_it_never_waits_and_says_so_loudly(
    servers: Servers, transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    a = paying(servers, waits_for_a_person, surface="cron", transport=transport)
    a.say()
    assert a.results[0].status == "error"
    assert "declined, because nobody is there to answer it on surface 'cron'" in a.result("p")
    assert "paid: decline" in a.result("p")
    assert len(servers.calls("files")) == 1
    said = [record for record in caplog.records if "declined a question of MCP server 'files'" in record.getMessage()]
    assert [record.levelno for record in said] == [logging.WARNING]


@pytest.mark.parametrize("surface", ["chat", "cron"])
def test_in_a_hand_written_graph_the_question_is_answered_or_declined_as_well(servers: Servers, surface: str) -> None:
    """Such a graph keeps the gate's channels from its tools."""
    a = paying(servers, ten)
    graph = graph_chat(
        [says(call("pay", "p"))], a.gate.catalog.tools(), gate=a.gate, surface=surface, asynchronous=True
    )
    graph.say()
    assert ("paid: 10" in graph.result("p")) is (surface == "chat")
    assert ("nobody is there to answer it" in graph.result("p")) is (surface == "cron")


async def _gives_nothing(*_: Any) -> Any:
    return None


async def _interrupts(*_: Any) -> Any:
    return interrupt("lost")


@pytest.mark.parametrize(
    ("respond", "why"),
    [
        (None, "no way set up to ask a person"),
        (_interrupts, "failed with GraphInterrupt"),
        (_gives_nothing, "gave NoneType, not an ElicitResult"),
    ],
    ids=["nobody to ask", "an interrupt", "nothing"],
)
def test_what_gives_no_answer_is_declined_and_never_lost(servers: Servers, respond: Respond | None, why: str) -> None:
    a = paying(servers, respond)
    a.say()
    assert a.results[0].status == "error" and why in a.result("p")


def test_a_tool_that_may_ask_is_still_asked_about_first_and_runs_once(servers: Servers) -> None:
    a = paying(servers, ten, record=ASKED)
    a.say()
    assert servers.calls("files") == [] and a.request.tool_name == "pay"
    a.answer()
    assert "paid: 10" in a.result("p") and len(servers.calls("files")) == 1


def test_a_question_outside_of_a_call_that_the_gate_let_run_is_declined(servers: Servers) -> None:
    servers.lists("files", tool("pay"))
    policy = ElicitationPolicy(ToolGate(ToolCatalog(), SURFACES), ten)
    client = servers.client("files", callbacks=Callbacks(on_elicitation=policy.on_elicitation))

    async def straight() -> Any:
        (pay,) = await client.get_tools()
        return await pay.ainvoke({})

    assert "paid: decline" in str(asyncio.run(straight()))


def test_without_a_callback_the_server_is_told_that_nobody_can_be_asked(servers: Servers) -> None:
    servers.lists("files", tool("pay"))
    a = talk([says(call("pay", "p"))], ToolCatalog.from_mcp(servers.client("files"), [RECORD]), surface="cron")
    a.say()
    assert a.results[0].status == "error"


# --- other interrupts of a remote tool ----------------------------------------------------------------


async def asks_through_the_graph(request: Any, handler: Any) -> Any:
    """An interceptor that asks the user of the graph, as an application's own may."""
    path = interrupt({"which": "path"})
    return await handler(request.override(args={**request.args, "path": path}))


def interrupting(servers: Servers, surface: str, record: RemoteServer) -> Chat:
    servers.lists("files", tool("act"))
    client = servers.client("files", tool_interceptors=[asks_through_the_graph])
    return talk([says(call("act", "a"))], ToolCatalog.from_mcp(client, [record]), surface=surface)


@pytest.mark.parametrize("declared", [True, False], ids=["asked about first", "not asked about"])
def test_attended_a_foreign_interrupt_surfaces_and_the_call_enters_again_on_resume(
    servers: Servers, declared: bool
) -> None:
    a = interrupting(servers, "chat", RemoteServer("files", declarations={"act": declared}))
    a.say()
    if declared:
        a.answer()
    (foreign,) = a.agent.get_state(a.config).interrupts
    assert foreign.value == {"which": "path"} and servers.calls("files") == []
    a.invoke(Command(resume="there"))
    assert servers.calls("files") == [["act", {"path": "there"}]]
    assert len(a.results) == 1 and a.results[0].status == "success"


def test_attended_driving_the_run_answers_the_gates_requests_and_the_foreign_interrupt(servers: Servers) -> None:
    a = interrupting(servers, "chat", RemoteServer("files", declarations={"act": True}))
    done = asyncio.run(
        adrive(
            a.agent,
            {"messages": [("user", "go")]},
            a.config,
            approver=lambda request: {"type": "approve"},
            foreign=lambda one: "there",
        )
    )
    assert done.done and servers.calls("files") == [["act", {"path": "there"}]]


def test_unattended_a_foreign_interrupt_becomes_an_error_result(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    profiles = {"act": ToolProfile(tier=Tier.READ_ONLY)}
    a = interrupting(servers, "cron", RemoteServer("files", declarations={"act": False}, profiles=profiles))
    a.say()
    assert servers.calls("files") == [] and a.agent.get_state(a.config).interrupts == ()
    assert a.results[0].status == "error"
    assert "the tool wanted to pause, and nobody is there on surface 'cron'" in caplog.text

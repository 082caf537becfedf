"""Tools of MCP servers in runs that cannot carry them: refused before anything is used up, or waits."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.types import ElicitResult

from tests.mcp.servers import Servers, tool
from tests.mcp.support import SURFACES, talk
from tests.support import ScriptedModel, call, says
from toolgate_langchain import (
    GatedAgent,
    RemoteServer,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
)
from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.errors import CatalogError, ConfigurationError, ToolGateWarning
from toolgate_langchain.hosts.elicitation import ElicitationPolicy
from toolgate_langchain.hosts.engine.running_here import would_wait

READ = ToolProfile(tier=Tier.READ_ONLY)
FREE = RemoteServer("files", declarations={"pay": False}, profiles={"pay": READ})


async def waits_for_a_person(mcp_context: Any, params: Any, context: Any) -> ElicitResult:
    """A window that nobody looks at."""
    await asyncio.Event().wait()
    raise AssertionError("nobody came")


# --- synchronous runs ---------------------------------------------------------------------------------


def test_a_synchronous_run_of_an_approved_tool_uses_up_no_grant_and_goes_on_asynchronously(servers: Servers) -> None:
    servers.lists("files", tool("act"))
    a = talk([says(call("act", "a", path="x"))], ToolCatalog.from_mcp(servers.client("files")))
    a.say()
    asked = a.request
    a.asynchronous = False
    with pytest.raises(ConfigurationError, match=r"'act' is only asynchronous.*ainvoke\(None, config\)"):
        a.answer()
    assert servers.calls("files") == []
    assert a.gate.ledger.status(asked.request_id) is GrantStatus.ISSUED
    a.asynchronous = True
    a.invoke(None)
    assert servers.calls("files") == [["act", {"path": "x"}]]
    assert "ran act" in a.result("a")


def test_a_rejected_call_is_told_its_rejection_also_in_a_synchronous_run(servers: Servers) -> None:
    servers.lists("files", tool("act"))
    a = talk([says(call("act", "a", path="x"))], ToolCatalog.from_mcp(servers.client("files")))
    a.say()
    a.asynchronous = False
    a.answer("reject")
    assert "rejected" in a.result("a") and servers.calls("files") == []


def test_a_gated_agent_says_so_too_and_its_session_goes_on_asynchronously() -> None:
    """For any tool that is only asynchronous."""
    ran, kept = list[str](), list[Any]()

    async def act(path: str) -> str:
        """Act."""
        ran.append(path)
        return f"ran {path}"

    gate = ToolGate()
    model = ScriptedModel(script=[says(call("act", "a", path="x"))])
    agent = GatedAgent(model, [StructuredTool.from_function(coroutine=act)], gate, keep=kept.append)
    asked = agent.invoke("go")
    assert asked["request"] is not None
    answer = {"type": "approve", "request_id": asked["request"].request_id}
    with pytest.raises(ConfigurationError, match=r"only asynchronous.*aresume\(session\)"):
        agent.resume(asked["session"], answer)
    assert gate.ledger.status(asked["request"].request_id) is GrantStatus.ISSUED
    output = asyncio.run(agent.aresume(kept[-1]))
    assert (output["messages"][2].text, ran) == ("ran x", ["x"])


# --- questions of a server where nobody is there --------------------------------------------------------


def test_with_nobody_there_a_clients_own_callback_hangs_no_run(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    """The tool is not offered, and a call of it is refused before anything is asked; both say what to do."""
    servers.lists("files", tool("pay"))
    client = servers.client("files", callbacks=Callbacks(on_elicitation=waits_for_a_person))
    a = talk([says(call("pay", "p"))], ToolCatalog.from_mcp(client, [FREE]), surface="cron")
    with pytest.warns(ToolGateWarning, match=r"'pay' is not offered: .*ElicitationPolicy\(gate, respond=\.\.\.\)"):
        a.say()
    assert a.model.offered == [[], []] or not any(a.model.offered)
    assert servers.calls("files") == [] and "not executed" in a.result("p")
    assert "ElicitationPolicy" in caplog.text


async def test_so_it_is_with_a_session_that_was_opened_before(servers: Servers) -> None:
    servers.lists("files", tool("pay"))
    client = servers.client("files", callbacks=Callbacks(on_elicitation=waits_for_a_person))
    async with client.session("files") as session:
        (pay,) = await load_mcp_tools(session)
        cron = SURFACES[1]
        assert would_wait(pay, cron) and not would_wait(pay, SURFACES[0])
        gate = ToolGate(ToolCatalog.from_tools([pay], profiles={"pay": READ}), SURFACES)
        model = ScriptedModel(script=[says(call("pay", "p"))])
        agent = create_agent(model, [pay], middleware=[ToolGateMiddleware(gate, surface="cron")])
        with pytest.warns(ToolGateWarning, match="'pay' is not offered"):
            output = await agent.ainvoke({"messages": [HumanMessage("go")]})
    assert "not executed" in output["messages"][2].text and servers.calls("files") == []


async def test_what_cannot_wait_is_offered_and_runs_there(servers: Servers) -> None:
    servers.lists("files", tool("pay"))
    gate = ToolGate(ToolCatalog(), SURFACES)
    policy = ElicitationPolicy(gate, waits_for_a_person)
    for callbacks in (None, Callbacks(), Callbacks(on_elicitation=policy.on_elicitation)):
        client = servers.client("files", callbacks=callbacks)
        (pay,) = await client.get_tools()
        assert would_wait(pay, SURFACES[1]) == ""
        async with client.session("files") as session:
            (pay,) = await load_mcp_tools(session)
            assert would_wait(pay, SURFACES[1]) == ""


def test_where_a_person_is_there_a_clients_own_callback_is_its_own_affair(servers: Servers) -> None:
    async def ten(mcp_context: Any, params: Any, context: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"amount": 10})

    servers.lists("files", tool("pay"))
    client = servers.client("files", callbacks=Callbacks(on_elicitation=ten))
    a = talk([says(call("pay", "p"))], ToolCatalog.from_mcp(client, [FREE]))
    a.say()
    assert "paid: 10" in a.result("p")


# --- what changed, told in another process ----------------------------------------------------------------


def another_process(servers: Servers, kept: Any, record: RemoteServer) -> ToolCatalog:
    """A catalog that knows nothing but what was kept as JSON."""
    return ToolCatalog.from_mcp(servers.client("files"), [record], definitions=json.loads(json.dumps(kept)))


def test_what_changed_of_a_definition_is_shown_in_another_process(servers: Servers) -> None:
    servers.lists("files", tool("act", "Reads the file."))
    record = RemoteServer("files", declarations={"act": False}, profiles={"act": READ})
    kept = ToolCatalog.from_mcp(servers.client("files"), [record]).definitions()
    servers.lists("files", tool("act", "Deletes the file."))
    catalog = another_process(servers, kept, record)
    a = talk([says(call("act", "a", path="x"))], catalog)
    a.say()
    assert a.request.tool_name == "act" and servers.calls("files") == []
    told = a.request.description()
    assert "its definition changed since it was first registered" in told
    assert "Reads the file." in told and "Deletes the file." in told
    # And again in a third one: what was first seen stays what it is held to.
    assert catalog.definitions() == kept


def test_a_definition_that_did_not_change_is_as_it_was_in_another_process(servers: Servers) -> None:
    servers.lists("files", tool("act", "Reads the file."))
    record = RemoteServer("files", declarations={"act": False}, profiles={"act": READ})
    first = ToolCatalog.from_mcp(servers.client("files"), [record])
    again = another_process(servers, first.definitions(), record)
    entries = [catalog.get("act") for catalog in (first, again)]
    assert [one is not None and (one.fingerprint, one.change, one.tier, one.declared) for one in entries] == [
        (entries[0].fingerprint if entries[0] else "", "", Tier.READ_ONLY, False)
    ] * 2


def test_a_server_that_is_launched_in_another_way_is_told_without_saying_how(servers: Servers) -> None:
    """A command may carry a secret, so only its digest is kept."""
    servers.lists("files", tool("act"))
    record = RemoteServer("files", profiles={"act": READ})
    kept = ToolCatalog.from_mcp(servers.client("files"), [record]).definitions()
    assert str(servers.port) not in json.dumps(kept)
    moved = servers.client(connections={"files": servers.http("web")})
    servers.lists("web", tool("act"))
    entry = ToolCatalog.from_mcp(moved, [record], definitions=kept).get("act")
    assert entry is not None and entry.change.endswith("the server is launched or reached in another way")
    assert entry.tier is None


@pytest.mark.parametrize("change", [{"v": 2}, {"name": 5}, {"more": 1}, None], ids=["newer", "typed", "more", "twice"])
def test_definitions_that_are_not_what_was_kept_are_refused(servers: Servers, change: dict[str, Any] | None) -> None:
    servers.lists("files", tool("act"))
    (kept,) = ToolCatalog.from_mcp(servers.client("files")).definitions()
    given = [kept, kept] if change is None else [{**kept, **change}]
    with pytest.raises(CatalogError, match=r"definitions (is not what|has)"):
        ToolCatalog(definitions=given)
    with pytest.raises(CatalogError, match="definitions is not what"):
        ToolCatalog(definitions=["act"])  # type: ignore[list-item]

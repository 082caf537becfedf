"""LangChain's own MCP client under the gate, against a real server.

It needs a later version of the library `mcp` than langchain-mcp-adapters takes, so these run in an
environment of their own: `pip install -e . 'langchain[mcp]'` with pytest, pytest-asyncio and jsonschema.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from langchain_core._api import LangChainBetaWarning
from langgraph.types import Command

from tests.mcp.support import talk
from tests.support import call, says
from toolgate_langchain import RemoteServer, Tier, ToolCatalog, ToolProfile
from toolgate_langchain.errors import CatalogError

pytest.importorskip("fastmcp", reason="fastmcp needs another version of mcp than langchain-mcp-adapters")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", LangChainBetaWarning)
    from langchain.mcp import MCPAdapter

_CHILD = Path(__file__).parent / "children" / "langchain_server.py"
READ = ToolProfile(tier=Tier.READ_ONLY)
DECLARED = RemoteServer("remote", declarations={"pay": False, "act": False}, profiles={"pay": READ})


class Remote:
    """The server, a client of it, and what reached it."""

    def __init__(self, directory: Path) -> None:
        from fastmcp.client.transports import StdioTransport

        self.directory, self.arguments = directory, [str(_CHILD), str(directory)]
        self.says("Reads the file.")
        self.adapter = MCPAdapter(StdioTransport(sys.executable, self.arguments, keep_alive=False))

    def says(self, words: str) -> None:
        (self.directory / "words").write_text(words)

    @property
    def calls(self) -> list[str]:
        noted = self.directory / "calls"
        return noted.read_text().splitlines() if noted.exists() else []

    async def catalog(self, *records: RemoteServer) -> ToolCatalog:
        return await ToolCatalog.afrom_mcp({"remote": self.adapter}, records)


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path)


async def ask(agent: Any, value: Any) -> None:
    await agent.agent.ainvoke(value, agent.config)


GO = {"messages": [("user", "go")]}


async def test_name_connection_and_hints_are_found_and_hints_only_raise(remote: Remote) -> None:
    catalog = await remote.catalog(RemoteServer("remote", profiles={"act": READ}))
    act, pay = sorted(catalog.entries(), key=lambda entry: entry.name)
    assert (act.origin, act.tier, pay.tier) == ("server:remote", Tier.CONSEQUENTIAL, None)
    assert act.server is not None and act.server.launch == (sys.executable, *remote.arguments)
    trusted = await remote.catalog(RemoteServer("remote", trust_hints=True))
    assert {entry.name: entry.tier for entry in trusted.entries()} == {
        "act": Tier.CONSEQUENTIAL,
        "pay": Tier.READ_ONLY,
    }


async def test_a_profile_in_its_meta_is_ignored_and_reported(remote: Remote) -> None:
    catalog = await remote.catalog()
    assert [(one.name, one.why) for one in catalog.refused] == [("act", "it tries to supply its own profile; ignored")]
    assert catalog.entries()[0].tier is None


async def test_an_undeclared_tool_waits_for_a_person_and_a_declared_one_runs(remote: Remote) -> None:
    a = talk([says(call("act", "a", path="x"))], await remote.catalog())
    await ask(a, GO)
    assert (remote.calls, a.request.origin) == ([], "server:remote")
    await ask(a, Command(resume={"type": "approve", "request_id": a.request.request_id}))
    assert remote.calls == ["act"] and "ran act on x" in a.result("a")
    b = talk([says(call("act", "b", path="y"))], await remote.catalog(DECLARED))
    await ask(b, GO)
    assert remote.calls == ["act", "act"] and b.requests == []


async def test_a_changed_definition_takes_the_declaration_with_it_and_is_shown(remote: Remote) -> None:
    catalog = await remote.catalog(DECLARED)
    remote.says("Deletes the file.")
    assert await catalog.aadd_mcp({"remote": remote.adapter}, [DECLARED]) == ()
    a = talk([says(call("act", "a", path="x"))], catalog)
    await ask(a, GO)
    assert remote.calls == []
    assert 'description was "Reads the file.", is "Deletes the file."' in "\n".join(a.request.notes)


async def test_attended_its_elicitation_surfaces_and_the_call_enters_again(remote: Remote) -> None:
    a = talk(
        [says(call("pay", "p"))], await remote.catalog(RemoteServer("remote", declarations={"pay": True, "*": False}))
    )
    await ask(a, GO)
    assert remote.calls == []
    await ask(a, Command(resume={"type": "approve", "request_id": a.request.request_id}))
    (question,) = a.agent.get_state(a.config).interrupts
    assert question.value["type"] == "mcp_elicitation" and "paid" not in remote.calls
    accept = {"amount": {"action": "accept", "content": {"amount": 10}}}
    await ask(a, Command(resume={"responses": accept}))
    assert "10" in a.result("p") and a.results[0].status == "success"
    assert remote.calls.count("paid") == 1


async def test_unattended_its_elicitation_is_an_error_result_and_nothing_waits(
    remote: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    a = talk([says(call("pay", "p"))], await remote.catalog(DECLARED), surface="cron")
    await ask(a, GO)
    assert remote.calls == ["asked"] and a.agent.get_state(a.config).interrupts == ()
    assert a.results[0].status == "error"
    assert "the tool wanted to pause, and nobody is there on surface 'cron'" in caplog.text


async def test_an_adapter_whose_servers_cannot_be_told_apart_is_an_error(remote: Remote) -> None:
    from fastmcp.client import Client
    from fastmcp.client.group import ClientGroup

    group = MCPAdapter(ClientGroup({"one": Client("http://127.0.0.1:1/mcp")}))
    with pytest.raises(CatalogError, match="give one MCPAdapter for each server"):
        await ToolCatalog.afrom_mcp({"many": group})
    with pytest.raises(CatalogError, match="by server name"):
        await ToolCatalog.afrom_mcp(remote.adapter)

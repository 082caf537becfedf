"""Names: compared byte for byte, and one tool to a name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_core.tools import BaseTool

from tests.support import Recorder, call, chat, says
from toolgate_langchain import (
    Tier,
    ToolCatalog,
    ToolGate,
    ToolProfile,
)
from toolgate_langchain.catalog.remote import RemoteServer
from toolgate_langchain.errors import CatalogError

READ = ToolProfile(tier=Tier.READ_ONLY)


def test_two_tools_with_one_name_are_an_error_when_the_catalog_is_built() -> None:
    with pytest.raises(CatalogError, match="two tools are named 'a'"):
        ToolCatalog.from_tools([Recorder().tool("a"), Recorder().tool("a")])
    assert ToolCatalog.from_tools([Recorder().tool("a"), Recorder().tool("A")]).names() == ("a", "A")


@pytest.mark.parametrize("local_first", [True, False])
def test_local_and_remote_with_one_name_the_remote_is_refused_and_reported_and_the_local_stays(
    local_first: bool,
) -> None:
    catalog, server = ToolCatalog(), RemoteServer("srv")
    local, remote = [Recorder().tool("a", READ)], [Recorder().tool("a"), Recorder().tool("b")]
    if local_first:
        catalog.register(local[0])
        catalog.add_remote(server, remote)
    else:
        catalog.add_remote(server, remote)
        catalog.register(local[0])
    entry = catalog.get("a")
    assert entry is not None and entry.origin == "local" and entry.tier is Tier.READ_ONLY
    assert [(one.server, one.name, one.why) for one in catalog.refused] == [
        ("srv", "a", "its name is taken by a tool of local")
    ]
    kept = catalog.get("b")
    assert kept is not None and kept.origin == "server:srv"


def test_a_server_that_throws_loses_only_its_own_tools() -> None:
    def down() -> Sequence[BaseTool]:
        raise ConnectionError("no route")

    catalog = ToolCatalog.from_tools([Recorder().tool("a")])
    catalog.add_remote(RemoteServer("down"), down)
    catalog.add_remote(RemoteServer("up"), [Recorder().tool("b")])
    assert catalog.names() == ("a", "b")
    assert [(one.server, one.why) for one in catalog.refused] == [
        ("down", "the server's tools could not be listed: no route")
    ]


LOOK_ALIKES = [
    "DNS_Flush",
    "dns_flush ",
    " dns_flush",
    "dns_flush\u200b",
    "dns_flus\u04bb",
    "dns\uff3fflush",
    "dns_flush\n",
]


@pytest.mark.parametrize("name", LOOK_ALIKES, ids=ascii)
def test_names_are_compared_byte_for_byte(name: str, asynchronous: bool) -> None:
    """A name that looks like another is another name: nothing of the real tool holds for it."""
    gate = ToolGate(ToolCatalog.from_tools([Recorder().tool("dns_flush", READ)]))
    assert gate.decide_offer(name, surface="chat").code == "not_registered"
    assert gate.filter_offerable([name, "dns_flush"], surface="chat") == ["dns_flush"]
    assert gate.decide({"name": name, "args": {}}, surface="chat").code == "unknown_tool"
    assert gate.unattended([name, "dns_flush"], surface="cron") == ["dns_flush"]
    ran = Recorder()
    script = [says(call(name, "x"), call("dns_flush", "y"))]
    talk = chat(script, [ran.tool("dns_flush", READ)], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert ran.runs == [("dns_flush", {})]
    assert "ran" not in talk.result("x")


@pytest.mark.parametrize("name", [*LOOK_ALIKES[1:], "", "a" * 129, "a/b", "a:b", "é"], ids=ascii)
def test_remote_names_outside_the_pattern_are_refused_not_rewritten(name: str) -> None:
    catalog = ToolCatalog()
    listed = [
        Recorder().tool("x").model_copy(update={"name": one}) for one in (name, "DNS_Flush", "a.b-c_1", "b" * 128)
    ]
    refused = catalog.add_remote(RemoteServer("srv"), listed)
    assert [one.name for one in refused] == [name[:128]]
    assert catalog.names() == ("DNS_Flush", "a.b-c_1", "b" * 128)

"""The catalog of the tools of real MCP servers: what is read from the client, and what is not taken in."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.tools import tool as make_tool

from tests.mcp.servers import Servers, tool
from toolgate_langchain import RemoteServer, Tier, ToolCatalog, ToolProfile
from toolgate_langchain.catalog.remote import Declaration
from toolgate_langchain.errors import CatalogError

READ = ToolProfile(tier=Tier.READ_ONLY)


def reasons(catalog: ToolCatalog) -> list[tuple[str, str, str]]:
    return [(one.server, one.name, one.why) for one in catalog.refused]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_names_and_connections_are_read_from_the_client(servers: Servers, transport: str) -> None:
    servers.lists("files", tool("read_file"), tool("write_file"))
    connection = servers.stdio("files") if transport == "stdio" else servers.http("files")
    catalog = ToolCatalog.from_mcp(
        servers.client(connections={"files": connection}), [RemoteServer("files", profiles={"read_file": READ})]
    )
    read, write = catalog.entries()
    assert (read.name, read.origin, read.tier) == ("read_file", "server:files", Tier.READ_ONLY)
    assert (write.name, write.origin, write.tier, write.declared) == ("write_file", "server:files", None, None)
    assert read.server is not None
    url = (f"http://127.0.0.1:{servers.port}/files/",)
    assert read.server.launch == (url if transport == "http" else (connection["command"], *connection["args"]))
    assert [one.name for one in catalog.tools()] == ["read_file", "write_file"]


async def test_sync_and_async_give_the_same(servers: Servers) -> None:
    servers.lists("files", tool("read_file"))
    servers.lists("web", tool("fetch"))
    awaited = await ToolCatalog.afrom_mcp(servers.client("files", "web"))

    @make_tool
    def now() -> str:
        """The time."""
        return "noon"

    own = ToolCatalog.from_tools([now])
    assert await own.aadd_mcp(servers.client("files", "web")) == ()
    assert [entry.fingerprint for entry in awaited.entries()] == [entry.fingerprint for entry in own.entries()][1:]
    with pytest.raises(CatalogError, match="an event loop runs here; await the asynchronous form"):
        ToolCatalog.from_mcp(servers.client("files"))


def test_without_a_loop_the_synchronous_form_gives_what_the_asynchronous_one_gives(servers: Servers) -> None:
    servers.lists("files", tool("read_file"))
    catalog = ToolCatalog()
    assert catalog.add_mcp(servers.client("files")) == ()
    again = ToolCatalog.from_mcp(servers.client("files"), closed=True)
    assert [entry.fingerprint for entry in again.entries()] == [entry.fingerprint for entry in catalog.entries()]
    assert again.closed


# --- fingerprints -----------------------------------------------------------------------------------


def test_a_fingerprint_covers_name_schema_description_annotations_and_launch_identity(servers: Servers) -> None:
    other = {"type": "object", "properties": {"path": {"type": "string", "maxLength": 9}}}
    versions: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (tool("act"), servers.http("files")),
        (tool("act", "Does something else."), servers.http("files")),
        (tool("act", inputSchema=other), servers.http("files")),
        (tool("act", annotations={"title": "Act"}), servers.http("files")),
        (tool("act", annotations={"readOnlyHint": True}), servers.http("files")),
        (tool("act"), {**servers.http("files"), "url": f"http://localhost:{servers.port}/files/"}),
        (tool("act"), {**servers.http("files"), "url": f"http://127.0.0.1:{servers.port}/files/?tenant=2"}),
    ]
    prints = []
    for listed, connection in versions:
        servers.lists("files", listed)
        catalog = ToolCatalog.from_mcp(servers.client(connections={"files": connection}))
        prints.append(catalog.entries()[0].fingerprint)
        assert (
            prints[-1]
            == ToolCatalog.from_mcp(servers.client(connections={"files": connection})).entries()[0].fingerprint
        )
    assert len(set(prints)) == len(versions)


def test_headers_environment_users_and_queries_are_nowhere_in_the_clear_and_headers_change_nothing(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    servers.lists("files", tool("act"))
    plain = ToolCatalog.from_mcp(servers.client("files"))
    bearer = servers.http("files", headers={"Authorization": "Bearer hunter2"})
    headed = ToolCatalog.from_mcp(servers.client(connections={"files": bearer}))
    assert headed.entries()[0].fingerprint == plain.entries()[0].fingerprint
    secret = [
        {**bearer, "url": f"http://hunter2:hunter2@127.0.0.1:{servers.port}/files/?key=hunter2"},
        {**bearer, "url": f"http://127.0.0.1:{servers.port}/nowhere/?key=hunter2"},
        {**bearer, "url": "http://127.0.0.1:1/?key=hunter2"},
        servers.stdio("files", command="/no/such/command-hunter2", env={"KEY": "hunter2"}, args=[]),
    ]
    with caplog.at_level(logging.DEBUG, logger="toolgate_langchain"):
        catalogs = [ToolCatalog.from_mcp(servers.client(connections={"files": one})) for one in secret]
    assert catalogs[0].names() == ("act",) and "hunter2" not in repr(catalogs[0].entries()[0].server)
    assert [len(catalog.refused) for catalog in catalogs[1:]] == [1, 1, 1]
    assert "hunter2" not in str([catalog.refused for catalog in catalogs])
    assert "hunter2" not in "".join(record.getMessage() for record in caplog.records if record.name[:8] == "toolgate")


# --- records ----------------------------------------------------------------------------------------


def test_a_record_that_cannot_be_what_the_operator_meant_is_an_error_when_building(servers: Servers) -> None:
    client = servers.client("files", "web")
    with pytest.raises(CatalogError, match="a record is given for 'fles'; the client's servers: 'files', 'web'"):
        ToolCatalog.from_mcp(client, [RemoteServer("fles")])
    with pytest.raises(CatalogError, match="two records are given for server 'web'"):
        ToolCatalog.from_mcp(client, [RemoteServer("web"), RemoteServer("web", trust_hints=True)])
    with pytest.raises(CatalogError, match="is not a RemoteServer"):
        ToolCatalog.from_mcp(client, ["web"])  # type: ignore[list-item]
    strangers: list[Any] = [None, [], {"files": object()}, "http://127.0.0.1"]
    for no_client in strangers:
        with pytest.raises(CatalogError, match="no client that is understood here"):
            ToolCatalog.from_mcp(no_client)


def test_a_record_for_another_launch_identity_or_a_tool_that_is_not_listed_costs_the_server_its_tools(
    servers: Servers,
) -> None:
    """And is reported; the other servers keep theirs."""
    servers.lists("files", tool("read_file"), tool("delete_file"))
    servers.lists("web", tool("fetch"))
    client = servers.client("files", "web")
    moved = ToolCatalog.from_mcp(client, [RemoteServer("files", ("https://elsewhere",))])
    assert moved.names() == ("fetch",)
    assert "its record was written for another launch identity" in reasons(moved)[0][2]
    misspelt = ToolCatalog.from_mcp(client, [RemoteServer("files", declarations={"*": False, "delete_fil": True})])
    assert misspelt.names() == ("fetch",)
    assert [one[:2] for one in reasons(misspelt)] == [
        ("files", "delete_fil"),
        ("files", "read_file"),
        ("files", "delete_file"),
    ]
    right = ToolCatalog.from_mcp(client, [RemoteServer("files", declarations={"*": False, "delete_file": True})])
    assert [(entry.name, entry.declared) for entry in right.entries()] == [
        ("read_file", False),
        ("delete_file", True),
        ("fetch", None),
    ]
    assert right.refused == ()


def test_a_declaration_is_pinned_to_the_definition_that_it_names(servers: Servers) -> None:
    servers.lists("files", tool("act"))
    looked_at = ToolCatalog.from_mcp(servers.client("files")).entries()[0].fingerprint
    record = RemoteServer("files", declarations={"act": Declaration(requires_approval=False, fingerprint=looked_at)})
    assert ToolCatalog.from_mcp(servers.client("files"), [record]).entries()[0].declared is False
    servers.lists("files", tool("act", "Does something else."))
    assert ToolCatalog.from_mcp(servers.client("files"), [record]).entries()[0].declared is None


def test_listing_again_keeps_the_record_that_a_server_has_unless_a_new_one_is_given(servers: Servers) -> None:
    servers.lists("files", tool("act"))
    servers.lists("web", tool("fetch"))
    record = RemoteServer("files", declarations={"act": True}, profiles={"act": ToolProfile(admin_only=True)})
    catalog = ToolCatalog.from_mcp(servers.client("files"), [record])
    assert catalog.add_mcp(servers.client("files", "web")) == ()
    act = catalog.get("act")
    assert act is not None and act.declared is True and act.profile.admin_only
    servers.says("files", "fail")
    catalog.add_mcp(servers.client("files"))
    servers.lists("files", tool("act"))
    catalog.add_mcp(servers.client("files"))
    act = catalog.get("act")
    assert act is not None and act.declared is True and act.profile.admin_only
    catalog.add_mcp(servers.client("files"), [RemoteServer("files")])
    act = catalog.get("act")
    assert act is not None and act.declared is None and not act.profile.admin_only


def test_a_client_that_connects_elsewhere_under_a_known_name_is_another_server(servers: Servers) -> None:
    servers.lists("files", tool("act"))
    servers.lists("web", tool("act"), tool("fetch"))
    catalog = ToolCatalog.from_mcp(servers.client("files"))
    moved = servers.client(connections={"files": servers.http("web")})
    (refused,) = catalog.add_mcp(moved)
    assert (refused.server, refused.name) == ("files", "") and "another launch identity" in refused.why
    assert catalog.names() == ()
    assert catalog.add_mcp(servers.client("files")) == () and catalog.names() == ("act",)


# --- names ------------------------------------------------------------------------------------------


def test_the_adapters_prefix_is_part_of_the_name_that_everything_goes_by(servers: Servers) -> None:
    servers.lists("files", tool("search"))
    servers.lists("web", tool("search"))
    client = servers.client("files", "web", tool_name_prefix=True)
    catalog = ToolCatalog.from_mcp(client, [RemoteServer("files", profiles={"files_search": READ})])
    assert [(entry.name, entry.tier) for entry in catalog.entries()] == [
        ("files_search", Tier.READ_ONLY),
        ("web_search", None),
    ]
    unprefixed = ToolCatalog.from_mcp(client, [RemoteServer("files", profiles={"search": READ})])
    assert unprefixed.names() == ("web_search",)


def test_a_prefix_can_collide_and_a_bad_name_is_refused_and_not_rewritten(servers: Servers) -> None:
    servers.lists("a_b", tool("c"), tool("rm -rf"), tool("lоok"), tool("x" * 129), tool(""))
    servers.lists("files", tool("b_c"))
    connections = {"a": servers.http("files"), "a_b": servers.http("a_b")}
    catalog = ToolCatalog.from_mcp(servers.client(connections=connections, tool_name_prefix=True))
    assert [(entry.name, entry.origin) for entry in catalog.entries()] == [
        ("a_b_c", "server:a"),
        ("a_b_", "server:a_b"),
    ]
    assert [one[1:] for one in reasons(catalog)] == [
        ("a_b_c", "its name is taken by a tool of server:a"),
        ("a_b_rm -rf", "its name is not 1 to 128 of A-Z a-z 0-9 _ . -"),
        ("a_b_lоok", "its name is not 1 to 128 of A-Z a-z 0-9 _ . -"),
        (f"a_b_{'x' * 124}", "its name is not 1 to 128 of A-Z a-z 0-9 _ . -"),
    ]


# --- servers that fail ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fails", ["gone", "fail", "hang", "no such command", "ends at once", "never answers", "nothing to connect to"]
)
def test_a_server_that_fails_loses_only_its_own_tools_and_is_reported(
    servers: Servers, fails: str, caplog: pytest.LogCaptureFixture
) -> None:
    servers.lists("web", tool("fetch"))
    servers.says("files", fails if fails in ("fail", "hang") else [])
    connection: dict[str, Any] = servers.http("files")
    if fails == "gone":
        connection = {**connection, "url": "http://127.0.0.1:1/"}
    elif fails == "no such command":
        connection = servers.stdio("files", command="/no/such/command")
    elif fails == "never answers":
        connection = servers.stdio("files", args=["-c", "import sys; sys.stdin.read()"])
    elif fails == "ends at once":
        connection = servers.stdio("files", args=["-c", ""])
    elif fails == "nothing to connect to":
        connection = {"transport": "stdio"}
    client = servers.client(connections={"files": connection, "web": servers.http("web")})
    catalog = ToolCatalog.from_mcp(
        client,
        [RemoteServer("files", profiles={"read_file": READ})],
        within=0.5 if fails in ("hang", "never answers") else 10,
    )
    assert catalog.names() == ("fetch",)
    ((server, name, why),) = reasons(catalog)
    assert (server, name) == ("files", "") and "could not be listed" in why
    assert "refused 'all tools' of server 'files'" in caplog.text
    # And it can come back.
    servers.lists("files", tool("read_file"))
    later = servers.client(connections={"files": servers.http("files"), "web": servers.http("web")})
    assert catalog.add_mcp(later, [RemoteServer("files", profiles={"read_file": READ})]) == ()
    assert set(catalog.names()) == {"read_file", "fetch"}

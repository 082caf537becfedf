"""The servers behind a client of the Model Context Protocol: names, launch identities, tools.

Neither the server's name nor its connection is on a LangChain tool, so both are read from the client
that the tools come from. Two clients are understood, by what they offer and without importing them:
`MultiServerMCPClient` of langchain-mcp-adapters, and `MCPAdapter` of `langchain.mcp`.

Nothing here is put into a message that could carry a secret: no headers, no environment, no URL, and
of an error only its kind, because the errors of HTTP clients quote URLs with whatever is in them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from toolgate_langchain.canonical import digest
from toolgate_langchain.catalog.remote import RemoteServer
from toolgate_langchain.errors import CatalogError

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

__all__ = ["DEFAULT_WAIT", "Listing", "finish", "list_servers"]

DEFAULT_WAIT: Final = 30.0
"""Seconds that a server has to list its tools; as long as langchain-mcp-adapters gives an HTTP request."""

_MOST_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Listing:
    """What one server listed, or why it did not."""

    server: RemoteServer
    """The operator's record, with the launch identity that the client gives."""
    tools: Sequence[BaseTool] = ()
    problem: str = ""

    def get(self) -> Sequence[BaseTool]:
        """The tools.

        Raises:
            CatalogError: If the server did not list them.
        """
        if self.problem:
            raise CatalogError(self.problem)
        return self.tools


@dataclass(frozen=True, slots=True)
class _Connected:
    """One server as its client knows it."""

    launch: tuple[str, ...]
    """Empty where it cannot be read."""
    list_tools: Callable[[], Coroutine[Any, Any, Sequence[BaseTool]]]


async def list_servers(
    client: Any, records: Iterable[RemoteServer], within: float, known: Mapping[str, RemoteServer]
) -> list[Listing]:
    """Ask every server of a client for its tools, all at once.

    Args:
        client: A `MultiServerMCPClient`, or `MCPAdapter`s by server name.
        records: What the operator wrote, in any order.
        within: Seconds that each server has.
        known: Records that were given before, by server; they hold on where there is no new one.

    Raises:
        CatalogError: For a client that is neither, two records for one server, or a record for a
            server that the client does not have.
    """
    servers = _servers_of(client)
    by_name: dict[str, RemoteServer] = {}
    for record in records:
        if not isinstance(record, RemoteServer):
            raise CatalogError(f"{record!r} is not a RemoteServer")
        if record.name in by_name:
            raise CatalogError(f"two records are given for server {record.name!r}")
        by_name[record.name] = record
    if unknown := sorted(set(by_name) - set(servers)):
        there = ", ".join(map(repr, list(servers)[:_MOST_SHOWN])) or "none"
        raise CatalogError(f"a record is given for {', '.join(map(repr, unknown))}; the client's servers: {there}")
    return list(
        await asyncio.gather(
            *(
                _list(by_name.get(name) or known.get(name) or RemoteServer(name), server, within)
                for name, server in servers.items()
            )
        )
    )


async def _list(record: RemoteServer, server: _Connected, within: float) -> Listing:
    if not record.launch and not server.launch:
        return Listing(
            record,
            problem="its connection names neither a URL nor a command; write RemoteServer(..., launch=(...))",
        )
    if record.launch and server.launch and record.launch != server.launch:
        return Listing(record, problem="its record was written for another launch identity than the client connects to")
    record = replace(record, launch=record.launch or server.launch)
    try:
        return Listing(record, await asyncio.wait_for(server.list_tools(), within))
    except Exception as error:
        return Listing(record, problem=_kind(error))


def _kind(error: Exception) -> str:
    """What kind of error it was. Its text stays out: it may quote a URL or a header."""
    if isinstance(error, ExceptionGroup):
        return ", ".join(dict.fromkeys(_kind(one) for one in error.exceptions))
    status = getattr(getattr(error, "response", None), "status_code", None)
    return type(error).__name__ + (f" {status}" if isinstance(status, int) else "")


def finish(listing: Coroutine[Any, Any, list[Listing]]) -> list[Listing]:
    """Wait for the servers from synchronous code.

    Raises:
        CatalogError: Where a loop runs in this thread, which would stand still meanwhile.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(listing)
    listing.close()
    raise CatalogError("an event loop runs here; await the asynchronous form: `await ToolCatalog.afrom_mcp(...)`")


# --- the two clients --------------------------------------------------------------------------------


def _servers_of(client: Any) -> dict[str, _Connected]:
    connections = getattr(client, "connections", None)
    if isinstance(connections, Mapping) and callable(getattr(client, "get_tools", None)):
        return {str(name): _of_adapters(client, name, connection) for name, connection in connections.items()}
    if isinstance(client, Mapping) and all(map(_is_adapter, client.values())):
        return {str(name): _of_langchain(name, adapter) for name, adapter in client.items()}
    raise CatalogError(
        f"{type(client).__name__} is no client that is understood here: give a MultiServerMCPClient of "
        'langchain-mcp-adapters, or the MCPAdapters of langchain.mcp by server name, {"files": MCPAdapter(...)}'
    )


def _of_adapters(client: Any, name: str, connection: Any) -> _Connected:
    parts = connection if isinstance(connection, Mapping) else {}
    launch = _launch(parts.get("url"), parts.get("command"), parts.get("args"), parts.get("cwd"))
    return _Connected(launch, lambda: client.get_tools(server_name=name))


def _is_adapter(adapter: Any) -> bool:
    return callable(getattr(adapter, "list_tools", None)) and hasattr(adapter, "client")


def _of_langchain(name: str, adapter: Any) -> _Connected:
    if hasattr(adapter.client, "clients"):
        raise CatalogError(
            f"the adapter of {name!r} speaks for a group of servers, so that nobody can say which of them a tool is "
            "from; give one MCPAdapter for each server"
        )
    transport = getattr(adapter.client, "transport", None)
    url, command = getattr(transport, "url", None), getattr(transport, "command", None)
    launch = _launch(url, command, getattr(transport, "args", None), getattr(transport, "cwd", None))
    # Not what the client has cached: a changed definition must be seen.
    return _Connected(launch, lambda: adapter.list_tools(cache_mode="refresh"))


def _launch(url: Any, command: Any, arguments: Any, directory: Any) -> tuple[str, ...]:
    """What identifies the running server: its URL, or its command with arguments and directory.

    Who logs on (the user in a URL) is left out like headers and environment, and the query, which is
    where keys are put, is there as a digest only.
    """
    if url is not None:
        parts = urlsplit(str(url))
        host = parts.netloc.rpartition("@")[2]
        bare = urlunsplit((parts.scheme, host, parts.path, "", ""))
        return (bare, f"query {digest(parts.query)}") if parts.query else (bare,)
    if command is None:
        return ()
    launch = (str(command), *(str(argument) for argument in arguments or ()))
    return launch if directory is None else (*launch, f"in {directory}")

"""The tools of remote servers in a catalog: taken in, refused, left out of a later list, and held to what they were."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from toolgate_langchain.catalog.heard_of import HeardOf
from toolgate_langchain.catalog.intake import RefusedTool, looks_like, take_in
from toolgate_langchain.catalog.kept import read_definitions, written_definitions
from toolgate_langchain.catalog.mcp import DEFAULT_WAIT, Listing, finish, list_servers
from toolgate_langchain.catalog.remote import RemoteServer
from toolgate_langchain.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from langchain_core.tools import BaseTool

    from toolgate_langchain.catalog.definition import Definition
    from toolgate_langchain.catalog.entry import CatalogEntry

__all__ = ["RemoteTools"]

logger = logging.getLogger("toolgate_langchain")


class RemoteTools(HeardOf):
    """The part of `ToolCatalog` that knows servers and what became of the tools that they listed.

    Args:
        enabled: See `Switches`, as for `disabled_groups`.
        disabled_groups: Groups switched off.
        definitions: What `definitions()` gave in another process.

    Raises:
        CatalogError: If a name is malformed, or definitions are not what that gave.
    """

    def __init__(
        self,
        *,
        enabled: Iterable[str] | None = None,
        disabled_groups: Iterable[str] = (),
        definitions: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(enabled=enabled, disabled_groups=disabled_groups)
        self._pinned: dict[tuple[str, str], Definition] = read_definitions(definitions)
        self._met: dict[str, CatalogEntry] = {}
        self._withdrawn: dict[str, CatalogEntry] = {}
        self._not_taken: dict[str, RefusedTool] = {}
        self._records: dict[str, RemoteServer] = {}
        self._refused: list[RefusedTool] = []

    @property
    def refused(self) -> tuple[RefusedTool, ...]:
        """What remote servers offered and the catalog did not take in."""
        return tuple(self._refused)

    def definitions(self) -> list[dict[str, Any]]:
        """The definitions of servers' tools as they were first seen, as plain JSON to keep for another process.

        What is written of a tool holds for that definition. Given to `ToolCatalog(definitions=...)`, or to
        `from_mcp` as well, it does so there, and what a server changed meanwhile is asked about and shown.
        """
        with self._lock:
            return written_definitions(self._pinned)

    def add_remote(
        self,
        server: RemoteServer,
        tools: Sequence[BaseTool] | Callable[[], Sequence[BaseTool]],
    ) -> tuple[RefusedTool, ...]:
        """Register the tools of a remote server; called again, it takes the server's new list.

        Nothing that a server sends can raise out of here: a tool with a malformed or taken name is
        refused and reported, and a server that throws loses only its own tools. What the record says
        of a tool that the server does not list is reported too; until the two agree, tools that the
        record does not name are refused, because one of them may be the one that was meant.

        Args:
            server: The operator's record.
            tools: The server's tools, or a function that fetches them.

        Returns:
            What was refused, also kept in `refused`.
        """
        if not isinstance(server, RemoteServer):
            raise CatalogError(f"server is {server!r}, which is not a RemoteServer")
        refused: list[RefusedTool] = []
        try:
            sent = list(tools() if callable(tools) else tools)
        except Exception as error:
            refused.append(RefusedTool(server.name, "", f"the server's tools could not be listed: {error}"))
            sent = []
        with self._lock:
            origin = f"server:{server.name}"
            problem = self._server_problem(server)
            if problem is None:
                for name in [name for name, entry in self._entries.items() if entry.origin == origin]:
                    self._withdrawn[name] = self._entries.pop(name)
                self._records[server.name] = server
                self._not_taken = {name: one for name, one in self._not_taken.items() if one.server != server.name}
            else:
                refused.append(RefusedTool(server.name, "", problem))
                sent = []
            # What another server listed before stays its own: agents may still have that tool, and a server that
            # fails for a moment must not lose its names, with all that was said of them, to another.
            before = {name: entry for name, entry in self._withdrawn.items() if entry.origin != origin}
            intake = take_in(server, sent, {**before, **self._entries}, self._pinned)
            for entry in intake.entries:
                self._entries[entry.name] = entry
                self._withdrawn.pop(entry.name, None)
            refused += intake.refused
            for one in intake.refused:
                self._not_taken.setdefault(one.name, one)
            self._refused += [*refused, *(claim for claim in intake.claims if claim not in self._refused)]
            self._met.clear()
            self.version += 1
        return tuple(refused)

    def add_mcp(
        self, client: Any, servers: Iterable[RemoteServer] = (), *, within: float = DEFAULT_WAIT
    ) -> tuple[RefusedTool, ...]:
        """Register the tools of MCP servers; called again, it takes their new lists.

        A server that cannot be reached, throws or takes too long loses only its own tools. What was
        refused is logged as a warning.

        Args:
            client: A `MultiServerMCPClient` of langchain-mcp-adapters, or the `MCPAdapter`s of
                `langchain.mcp` by server name. Names and launch identities are read from it.
            servers: The operator's records, by the client's names of the servers. A server without
                one keeps the one it has, else gets an empty one. A `launch` that is written there
                must be the client's.
            within: Seconds that each server has to list its tools.

        Returns:
            What was refused, also kept in `refused`.

        Raises:
            CatalogError: For something that is no such client, two records for one server, a record
                for a server that the client does not have, or where an event loop runs.
        """
        return self._take_listings(finish(list_servers(client, servers, within, self._records)))

    async def aadd_mcp(
        self, client: Any, servers: Iterable[RemoteServer] = (), *, within: float = DEFAULT_WAIT
    ) -> tuple[RefusedTool, ...]:
        """As `add_mcp`, for asynchronous code."""
        return self._take_listings(await list_servers(client, servers, within, self._records))

    def _take_listings(self, listings: Iterable[Listing]) -> tuple[RefusedTool, ...]:
        refused = [one for listing in listings for one in self.add_remote(listing.server, listing.get)]
        for one in refused:
            logger.warning("refused %r of server %r: %s", one.name or "all tools", one.server, one.why)
        return tuple(refused)

    def _server_problem(self, server: RemoteServer) -> str | None:
        """Why a server cannot be one of this catalog's, or `None`."""
        others = {entry.server.name: entry.server for entry in self._entries.values() if entry.server is not None}
        known = others.get(server.name)
        if known is not None and known != server and known.launch != server.launch:
            return "another server has this name with another launch identity"
        if (twin := looks_like(server.name, others)) is not None:
            return f"its name reads like that of server {twin!r}; rename one of them"
        return None

"""The one registry of the tools that an agent can have."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolgate_langchain.catalog.checks import (
    as_tool,
    check_name,
    check_profile,
    check_switch,
    listed,
    no_such_group,
    no_such_tool,
)
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.catalog.fitting import misnamed_argument
from toolgate_langchain.catalog.heard_of import HeardOf
from toolgate_langchain.catalog.intake import CLAIMED, RefusedTool, looks_like, take_in
from toolgate_langchain.catalog.kept import read_definitions, written_definitions
from toolgate_langchain.catalog.mcp import DEFAULT_WAIT, Listing, finish, list_servers
from toolgate_langchain.catalog.meeting import met_entry, own_profile
from toolgate_langchain.catalog.profile import ToolProfile, claims_profile
from toolgate_langchain.catalog.remote import RemoteServer
from toolgate_langchain.errors import CatalogError, ToolGateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from langchain_core.tools import BaseTool
    from typing_extensions import Unpack

    from toolgate_langchain.catalog.definition import Definition
    from toolgate_langchain.catalog.switches import CatalogOptions

__all__ = ["RefusedTool", "ToolCatalog"]

logger = logging.getLogger("toolgate_langchain")


class ToolCatalog(HeardOf):
    """The profiles of all tools that an agent can have.

    Names are compared byte for byte. The agent's own tools count as registered, unclassified, at
    first sight; a closed catalog refuses what was not registered by hand.

    Args:
        closed: Whether tools that were not registered by hand are refused (`not_registered`).
        enabled: The names of the tools that are switched on; `None` means all.
        disabled_groups: Groups switched off as a whole, by name, also for tools added later.
        definitions: What `definitions()` gave in another process, so that servers' tools are held to
            what they were there, and a change is shown.

    Raises:
        CatalogError: If a name is malformed, or definitions are not what that gave.
    """

    def __init__(
        self,
        *,
        closed: bool = False,
        enabled: Iterable[str] | None = None,
        disabled_groups: Iterable[str] = (),
        definitions: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(enabled=enabled, disabled_groups=disabled_groups)
        check_switch("closed", closed)
        self._closed = closed
        self._pinned: dict[tuple[str, str], Definition] = read_definitions(definitions)
        self._met: dict[str, CatalogEntry] = {}
        self._withdrawn: dict[str, CatalogEntry] = {}
        self._not_taken: dict[str, RefusedTool] = {}
        self._records: dict[str, RemoteServer] = {}
        self._refused: list[RefusedTool] = []

    @classmethod
    def from_tools(
        cls,
        tools: Sequence[BaseTool | Callable[..., Any]],
        *,
        profiles: Mapping[str, ToolProfile] | None = None,
        closed: bool = False,
        enabled: Iterable[str] | None = None,
        disabled_groups: Iterable[str] = (),
    ) -> ToolCatalog:
        """Build a catalog from tools, each with the profile it carries or the one given by name.

        Args:
            tools: LangChain tools, or functions as `create_agent` takes them.
            profiles: Profiles by tool name; they replace what the tools carry.
            closed: See the class, as for the further arguments.
            enabled: Names that are switched on.
            disabled_groups: Groups switched off.

        Raises:
            CatalogError: For two tools with one name, or a profile for a tool, a name that is switched on or a
                group switched off that does not exist.
        """
        if profiles is not None and not isinstance(profiles, Mapping):
            raise CatalogError(f"profiles is {profiles!r}; it must be a mapping of profiles by tool name")
        catalog = cls(closed=closed, enabled=enabled, disabled_groups=disabled_groups)
        given = dict(profiles or {})
        for item in listed("tools", tools, CatalogError):
            tool = as_tool(item)
            catalog.register(tool, given.pop(tool.name, None))
        if given:
            raise CatalogError(no_such_tool("a profile is given for", sorted(given), catalog.names()))
        if catalog._enabled is not None and (unknown := sorted(catalog._enabled - set(catalog._entries))):
            raise CatalogError(no_such_tool("`enabled` names", unknown, catalog.names()))
        if unknown := sorted(catalog._disabled_groups - catalog.groups_of_tools()):
            raise CatalogError(no_such_group(unknown, sorted(catalog.groups_of_tools())))
        return catalog

    @classmethod
    def from_mcp(
        cls,
        client: Any,
        servers: Iterable[RemoteServer] = (),
        *,
        within: float = DEFAULT_WAIT,
        **options: Unpack[CatalogOptions],
    ) -> ToolCatalog:
        """Build a catalog from the tools of MCP servers.

        Args:
            client: See `add_mcp`, as for `servers` and `within`.
            servers: The operator's records.
            within: Seconds that each server has.
            options: The arguments of the class.

        Raises:
            CatalogError: As `add_mcp`, and for a malformed option.
        """
        catalog = cls(**options)
        catalog.add_mcp(client, servers, within=within)
        return catalog

    @classmethod
    async def afrom_mcp(
        cls,
        client: Any,
        servers: Iterable[RemoteServer] = (),
        *,
        within: float = DEFAULT_WAIT,
        **options: Unpack[CatalogOptions],
    ) -> ToolCatalog:
        """As `from_mcp`, for asynchronous code."""
        catalog = cls(**options)
        await catalog.aadd_mcp(client, servers, within=within)
        return catalog

    @property
    def closed(self) -> bool:
        """Whether tools that were not registered by hand are refused. It may be set at any time."""
        return self._closed

    @closed.setter
    def closed(self, closed: bool) -> None:
        check_switch("closed", closed)
        with self._lock:
            self._closed = closed
            self.version += 1

    # --- registration -------------------------------------------------------------------------

    def register(self, tool: BaseTool | Callable[..., Any], profile: ToolProfile | None = None) -> None:
        """Register one local tool.

        Args:
            tool: The tool, or a function as `create_agent` takes it.
            profile: What it is; `None` takes the profile that the tool carries, then the one of a
                well-known tool (docs/well-known-tools.md), then unclassified.

        Raises:
            CatalogError: If the name is taken or empty, or the schema cannot be checked.
        """
        tool = as_tool(tool)
        self._add(CatalogEntry(tool.name, own_profile(tool, profile), tool=tool))
        self._report_claim(tool)

    def register_provider_tool(self, name: str, profile: ToolProfile) -> None:
        """Register a tool that the model's provider runs, known here only by its name.

        Such a tool is given to `create_agent` as a dict; its name is the dict's `name`, else `type`.

        Raises:
            CatalogError: If the name is taken or empty.
        """
        check_profile(name, profile)
        self._add(CatalogEntry(name, profile))

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

    def _report_claim(self, tool: BaseTool) -> None:
        """Note that a tool's metadata has our key with something that is ignored there."""
        if claims_profile(tool) and (claim := RefusedTool("", tool.name, CLAIMED)) not in self._refused:
            self._refused.append(claim)

    def _add(self, entry: CatalogEntry) -> None:
        if entry.name == "":
            raise CatalogError("a tool has an empty name")
        check_name("a tool's name", entry.name)
        with self._lock:
            taken = self._entries.get(entry.name) or self._withdrawn.get(entry.name)
            if taken is not None and taken.server is not None:
                # The local tool stays, whichever came first: a server must not take its name away.
                why = f"its name is taken by a tool of {entry.origin}"
                self._not_taken[entry.name] = RefusedTool(taken.server.name, entry.name, why)
                self._refused.append(self._not_taken[entry.name])
            elif taken is not None:
                raise CatalogError(
                    f"two tools are named {entry.name!r} (one of {taken.origin}, one of {entry.origin}); rename one"
                )
            try:
                _ = entry.arguments
            except ToolGateError as error:
                raise CatalogError(f"the arguments of {entry.name!r} cannot be checked: {error}") from error
            if (misnamed := misnamed_argument(entry)) is not None:
                raise CatalogError(misnamed)
            self._entries[entry.name] = entry
            self._met.pop(entry.name, None)
            self._withdrawn.pop(entry.name, None)
            self.version += 1

    # --- look-up ------------------------------------------------------------------------------

    def names(self) -> tuple[str, ...]:
        """All registered names, in order of registration."""
        return tuple(self._entries)

    def get(self, name: str) -> CatalogEntry | None:
        """The entry of a registered tool, compared byte for byte, or `None`."""
        return self._entries.get(name)

    def known(self, name: str) -> CatalogEntry | None:
        """The entry of a registered tool, or of one that was met on an agent, or `None`."""
        return self._entries.get(name) or self._met.get(name)

    def entries(self) -> tuple[CatalogEntry, ...]:
        """All registered tools, in order of registration."""
        return tuple(self._entries.values())

    def tools(self) -> list[BaseTool]:
        """All registered tools that run in this process, to give to an agent; none that was refused."""
        return [entry.tool for entry in self._entries.values() if entry.tool is not None]

    def definitions(self) -> list[dict[str, Any]]:
        """The definitions of servers' tools as they were first seen, as plain JSON to keep for another process.

        What is written of a tool holds for that definition. Given to `ToolCatalog(definitions=...)`, or to
        `from_mcp` as well, it does so there, and what a server changed meanwhile is asked about and shown.
        """
        with self._lock:
            return written_definitions(self._pinned)

    def groups(self) -> frozenset[str]:
        """The names of all groups that a registered tool is in or that were switched."""
        return self.groups_of_tools() | self._disabled_groups

    @property
    def refused(self) -> tuple[RefusedTool, ...]:
        """What remote servers offered and the catalog did not take in."""
        return tuple(self._refused)

    def meet(self, tool: BaseTool) -> CatalogEntry:
        """The entry for a tool that an agent really has, registered or met at first sight.

        The tool that will run decides: where it is not the one that was registered and its
        definition differs, the registered classification was made for something else, so only its
        restrictions are kept and the tier is not. One that its server no longer lists stays that
        server's tool, and is not registered: leaving a list must not shed what was said of a tool.
        Nor is one whose name a server was refused, unless it is the very tool that was registered.
        """
        known = self._entries.get(tool.name)
        if known is not None and known.tool is tool:
            return known
        met = self._met.get(tool.name)
        if met is None or met.tool is not tool or met.first_sight is not (known is None):
            if known is None:
                self._report_claim(tool)
            withdrawn, refused = self._withdrawn.get(tool.name), self._not_taken.get(tool.name)
            met = self._met[tool.name] = met_entry(tool, known, withdrawn, refused)
        return met

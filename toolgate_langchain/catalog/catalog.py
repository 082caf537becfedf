"""The one registry of the tools that an agent can have."""

from __future__ import annotations

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
from toolgate_langchain.catalog.intake import CLAIMED, RefusedTool
from toolgate_langchain.catalog.mcp import DEFAULT_WAIT
from toolgate_langchain.catalog.meeting import met_entry, own_profile
from toolgate_langchain.catalog.profile import ToolProfile, claims_profile
from toolgate_langchain.catalog.remote_tools import RemoteTools
from toolgate_langchain.errors import CatalogError, ToolGateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from langchain_core.tools import BaseTool
    from typing_extensions import Unpack

    from toolgate_langchain.catalog.remote import RemoteServer
    from toolgate_langchain.catalog.switches import CatalogOptions

__all__ = ["ToolCatalog"]


class ToolCatalog(RemoteTools):
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
        super().__init__(enabled=enabled, disabled_groups=disabled_groups, definitions=definitions)
        check_switch("closed", closed)
        self._closed = closed

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

    def groups(self) -> frozenset[str]:
        """The names of all groups that a registered tool is in or that were switched."""
        return self.groups_of_tools() | self._disabled_groups

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

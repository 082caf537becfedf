"""The one registry of the tools that an agent can have."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool

from toolgate_langchain.catalog.checks import check_profile, check_switch, no_such_tool
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.catalog.profile import ToolProfile, claims_profile, profile_of
from toolgate_langchain.catalog.wellknown import well_known_profile
from toolgate_langchain.errors import CatalogError, ToolGateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from toolgate_langchain.catalog.remote import RemoteServer

__all__ = ["RefusedTool", "ToolCatalog"]

_REMOTE_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""Names that every provider accepts and no reader can mistake; others are refused, not rewritten."""


@dataclass(frozen=True, slots=True)
class RefusedTool:
    """A tool, or a whole server, or a tool's own claim, that the catalog did not take in, and why."""

    server: str
    """The server's name; empty for a tool of the agent's own."""
    name: str
    why: str


class ToolCatalog:
    """The profiles of all tools that an agent can have.

    Names are compared byte for byte. The agent's own tools count as registered, unclassified, at
    first sight; a closed catalog refuses what was not registered by hand.

    Args:
        closed: Whether tools that were not registered by hand are refused (`not_registered`).
        enabled: The names of the tools that are switched on; `None` means all.
        disabled_groups: Groups switched off as a whole, by name, also for tools added later.

    Raises:
        CatalogError: If a name is malformed.
    """

    def __init__(
        self,
        *,
        closed: bool = False,
        enabled: Iterable[str] | None = None,
        disabled_groups: Iterable[str] = (),
    ) -> None:
        if isinstance(enabled, str) or isinstance(disabled_groups, str):
            raise CatalogError("enabled and disabled_groups are collections of names, not one string")
        check_switch("closed", closed)
        self.closed = closed
        self._entries: dict[str, CatalogEntry] = {}
        self._enabled = None if enabled is None else set(enabled)
        self._disabled: set[str] = set()
        self._disabled_groups = set(disabled_groups)
        self._pinned: dict[tuple[str, str], str] = {}
        self._met: dict[str, CatalogEntry] = {}
        self._withdrawn: dict[str, CatalogEntry] = {}
        self._refused: list[RefusedTool] = []
        self._lock = threading.Lock()
        self.version = 0
        """Grows with every change; what is derived from a catalog is stale when it differs."""

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
            CatalogError: For two tools with one name, or a profile for a tool that does not exist.
        """
        catalog = cls(closed=closed, enabled=enabled, disabled_groups=disabled_groups)
        given = dict(profiles or {})
        for item in tools:
            tool = item if isinstance(item, BaseTool) else make_tool(item)
            catalog.register(tool, given.pop(tool.name, None))
        if given:
            raise CatalogError(no_such_tool("a profile is given for", sorted(given), catalog.names()))
        if catalog._enabled is not None and (unknown := sorted(catalog._enabled - set(catalog._entries))):
            raise CatalogError(no_such_tool("`enabled` names", unknown, catalog.names()))
        return catalog

    # --- registration -------------------------------------------------------------------------

    def register(self, tool: BaseTool | Callable[..., Any], profile: ToolProfile | None = None) -> None:
        """Register one local tool.

        Args:
            tool: The tool, or a function as `create_agent` takes it.
            profile: What it is; `None` takes the profile that the tool carries, then the one of a
                well-known harmless tool, then unclassified.

        Raises:
            CatalogError: If the name is taken or empty, or the schema cannot be checked.
        """
        tool = tool if isinstance(tool, BaseTool) else make_tool(tool)
        self._add(CatalogEntry(tool.name, _profile_for(tool, profile), tool=tool))
        self._report_claim(tool, "")

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
        refused and reported, and a server that throws loses only its own tools.

        Args:
            server: The operator's record.
            tools: The server's tools, or a function that fetches them.

        Returns:
            What was refused, also kept in `refused`.
        """
        refused: list[RefusedTool] = []
        try:
            listed = list(tools() if callable(tools) else tools)
        except Exception as error:
            refused.append(RefusedTool(server.name, "", f"the server's tools could not be listed: {error}"))
            listed = []
        with self._lock:
            origin = f"server:{server.name}"
            clash = next(
                (e.server for e in self._entries.values() if e.origin == origin and e.server != server),
                None,
            )
            if clash is not None and clash.launch != server.launch:
                refused.append(
                    RefusedTool(server.name, "", "another server has this name with another launch identity")
                )
                listed = []
            else:
                for name in [name for name, entry in self._entries.items() if entry.origin == origin]:
                    self._withdrawn[name] = self._entries.pop(name)
            for tool in listed:
                problem = self._remote_problem(server, tool)
                if problem:
                    refused.append(RefusedTool(server.name, str(getattr(tool, "name", "?"))[:128], problem))
            self._refused.extend(refused)
            self._met.clear()
            self.version += 1
        return tuple(refused)

    def _remote_problem(self, server: RemoteServer, tool: Any) -> str | None:
        """Take in one remote tool, or say why not."""
        if not isinstance(tool, BaseTool):
            return f"not a tool but {type(tool).__name__}"
        if not _REMOTE_NAME.fullmatch(tool.name):
            return "its name is not 1 to 128 of A-Z a-z 0-9 _ . -"
        if (taken := self._entries.get(tool.name)) is not None:
            return f"its name is taken by a tool of {taken.origin}"
        try:
            profile = server.profile(tool.name)
            entry = CatalogEntry(tool.name, profile, tool=tool, server=server)
            pinned = self._pinned.setdefault((server.name, tool.name), entry.fingerprint)
            self._entries[tool.name] = CatalogEntry(
                tool.name, profile, tool=tool, server=server, fingerprint_pinned=pinned
            )
            self._withdrawn.pop(tool.name, None)
        except Exception as error:  # a hostile or broken schema; the tool is lost, nothing else
            return f"its definition cannot be read: {error}"
        self._report_claim(tool, server.name)
        return None

    def _report_claim(self, tool: BaseTool, server: str) -> None:
        """Note that a tool's metadata has our key with something that is ignored there."""
        if claims_profile(tool) or (server and profile_of(tool) is not None):
            why = "it tries to supply its own profile; ignored"
            if (claim := RefusedTool(server, tool.name, why)) not in self._refused:
                self._refused.append(claim)

    def _add(self, entry: CatalogEntry) -> None:
        if not entry.name:
            raise CatalogError("a tool has an empty name")
        with self._lock:
            taken = self._entries.get(entry.name)
            if taken is not None and taken.server is not None:
                # The local tool stays, whichever came first: a server must not take its name away.
                self._refused.append(
                    RefusedTool(taken.server.name, entry.name, f"its name is taken by a tool of {entry.origin}")
                )
            elif taken is not None:
                raise CatalogError(
                    f"two tools are named {entry.name!r} (one of {taken.origin}, one of {entry.origin}); rename one"
                )
            try:
                _ = entry.arguments
            except ToolGateError as error:
                raise CatalogError(f"the arguments of {entry.name!r} cannot be checked: {error}") from error
            self._entries[entry.name] = entry
            self._met.pop(entry.name, None)
            self._withdrawn.pop(entry.name, None)
            self.version += 1

    # --- switches -----------------------------------------------------------------------------

    def switch_tool(self, name: str, *, on: bool) -> None:
        """Switch one tool on or off. Cannot enable a tool of a disabled group.

        Raises:
            CatalogError: If no such tool is registered.
        """
        check_switch("on", on)
        if name not in self._entries:
            raise CatalogError(no_such_tool("a switch names", [name], self.names()))
        with self._lock:
            if on:
                self._disabled.discard(name)
                if self._enabled is not None:
                    self._enabled.add(name)
            else:
                self._disabled.add(name)
            self.version += 1

    def switch_group(self, group: str, *, on: bool) -> None:
        """Switch a group on or off by name; covers tools that are added later."""
        check_switch("on", on)
        with self._lock:
            if on:
                self._disabled_groups.discard(group)
            else:
                self._disabled_groups.add(group)
            self.version += 1

    def is_enabled(self, entry: CatalogEntry) -> bool:
        """Whether the tool and all of its groups are switched on."""
        if entry.name in self._disabled or not self._disabled_groups.isdisjoint(entry.profile.groups):
            return False
        return self._enabled is None or entry.name in self._enabled

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

    def groups(self) -> frozenset[str]:
        """The names of all groups that a registered tool is in or that were switched."""
        named = {group for entry in self._entries.values() for group in entry.profile.groups}
        return frozenset(named | self._disabled_groups)

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
        """
        known = self._entries.get(tool.name)
        if known is not None and known.tool is tool:
            return known
        met = self._met.get(tool.name)
        if met is not None and met.tool is tool and met.first_sight is (known is None):
            return met
        withdrawn = self._withdrawn.get(tool.name)
        if known is None and withdrawn is not None:
            met = CatalogEntry(
                tool.name, withdrawn.profile, tool=tool, server=withdrawn.server, first_sight=True, withdrawn=True
            )
        elif known is None:
            met = CatalogEntry(tool.name, _profile_for(tool, None), tool=tool, first_sight=True)
            self._report_claim(tool, "")
        else:
            profile, pinned = known.profile, known.pinned
            met = CatalogEntry(tool.name, profile, tool=tool, server=known.server, fingerprint_pinned=pinned)
            if known.tool is None or met.fingerprint != known.fingerprint:
                profile = profile.without_tier()
                met = CatalogEntry(tool.name, profile, tool=tool, server=known.server, fingerprint_pinned=pinned)
        self._met[tool.name] = met
        return met


def _profile_for(tool: BaseTool, given: ToolProfile | None) -> ToolProfile:
    if given is not None:
        check_profile(tool.name, given)
        return given
    return profile_of(tool) or well_known_profile(tool) or ToolProfile()

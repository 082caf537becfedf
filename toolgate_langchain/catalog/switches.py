"""Which tools and groups are switched on. A switch says nothing of what a tool is."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from toolgate_langchain.catalog.checks import check_name, check_switch, listed_names, no_such_tool
from toolgate_langchain.errors import CatalogError

if TYPE_CHECKING:
    from toolgate_langchain.catalog.entry import CatalogEntry

__all__ = ["CatalogOptions", "Switches"]


class CatalogOptions(TypedDict, total=False):
    """The arguments of `ToolCatalog`."""

    closed: bool
    enabled: Iterable[str] | None
    disabled_groups: Iterable[str]
    definitions: Iterable[Mapping[str, Any]]


class Switches:
    """The switches of a catalog, and its registered tools that they are for.

    Args:
        enabled: The names of the tools that are switched on; `None` means all.
        disabled_groups: Groups switched off as a whole, by name, also for tools added later.

    Raises:
        CatalogError: If anything but a collection of names is given, as one string.
    """

    def __init__(self, *, enabled: Iterable[str] | None = None, disabled_groups: Iterable[str] = ()) -> None:
        self._entries: dict[str, CatalogEntry] = {}
        self._enabled = None if enabled is None else set(listed_names("enabled", enabled, CatalogError))
        self._disabled: set[str] = set()
        self._disabled_groups = set(listed_names("disabled_groups", disabled_groups, CatalogError))
        self._lock = threading.Lock()
        self.version = 0
        """Grows with every change; what is derived from a catalog is stale when it differs."""

    def switch_tool(self, name: str, *, on: bool) -> None:
        """Switch one tool on or off. Cannot enable a tool of a disabled group.

        Raises:
            CatalogError: If no such tool is registered.
        """
        check_switch("on", on)
        check_name("the tool to switch", name)
        if name not in self._entries:
            raise CatalogError(no_such_tool("a switch names", [name], tuple(self._entries)))
        with self._lock:
            if on:
                self._disabled.discard(name)
                if self._enabled is not None:
                    self._enabled.add(name)
            else:
                self._disabled.add(name)
            self.version += 1

    def switch_group(self, group: str, *, on: bool) -> None:
        """Switch a group on or off by name; covers tools that are added later.

        Raises:
            CatalogError: If the group is no name, or `on` no bool.
        """
        check_switch("on", on)
        check_name("the group to switch", group)
        with self._lock:
            if on:
                self._disabled_groups.discard(group)
            else:
                self._disabled_groups.add(group)
            self.version += 1

    @property
    def has_switches(self) -> bool:
        """Whether tools or groups are switched by name."""
        return bool(self._disabled_groups) or self._enabled is not None

    @property
    def switched_on(self) -> dict[str, str]:
        """The tools that were switched on by name, each with where that is said."""
        return dict.fromkeys(self._enabled or (), "the catalog's enabled")

    @property
    def switched_off(self) -> dict[str, str]:
        """The groups that were switched off by name, each with where that is said."""
        return dict.fromkeys(self._disabled_groups, "the catalog's disabled_groups")

    def is_enabled(self, entry: CatalogEntry) -> bool:
        """Whether the tool and all of its groups are switched on."""
        if entry.name in self._disabled or not self._disabled_groups.isdisjoint(entry.profile.groups):
            return False
        return self._enabled is None or entry.name in self._enabled

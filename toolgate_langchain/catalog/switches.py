"""Which tools and groups are switched on. A switch says nothing of what a tool is."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from toolgate_langchain.catalog.checks import check_switch, no_such_tool
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
        CatalogError: If one string is given for a collection of names.
    """

    def __init__(self, *, enabled: Iterable[str] | None = None, disabled_groups: Iterable[str] = ()) -> None:
        if isinstance(enabled, str) or isinstance(disabled_groups, str):
            raise CatalogError("enabled and disabled_groups are collections of names, not one string")
        self._entries: dict[str, CatalogEntry] = {}
        self._enabled = None if enabled is None else set(enabled)
        self._disabled: set[str] = set()
        self._disabled_groups = set(disabled_groups)
        self._lock = threading.Lock()
        self.version = 0
        """Grows with every change; what is derived from a catalog is stale when it differs."""

    def switch_tool(self, name: str, *, on: bool) -> None:
        """Switch one tool on or off. Cannot enable a tool of a disabled group.

        Raises:
            CatalogError: If no such tool is registered.
        """
        check_switch("on", on)
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

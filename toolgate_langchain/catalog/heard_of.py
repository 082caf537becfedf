"""All names that a catalog has heard of, whether or not they are registered: what is named nowhere is misspelt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate_langchain.catalog.switches import Switches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.catalog.intake import RefusedTool
    from toolgate_langchain.catalog.remote import RemoteServer

__all__ = ["HeardOf"]


class HeardOf(Switches):
    """What a catalog knows of names beyond those that are registered; a part of `ToolCatalog`."""

    _met: dict[str, CatalogEntry]
    _withdrawn: dict[str, CatalogEntry]
    _not_taken: Mapping[str, RefusedTool]
    _records: dict[str, RemoteServer]

    @property
    def has_servers(self) -> bool:
        """Whether it has the record of a server, whose list of tools can change."""
        return bool(self._records)

    def named_anywhere(self) -> set[str]:
        """The names of all tools that it has or has heard of: registered, met, refused, left out, or on a record."""
        with self._lock:
            recorded = [name for record in self._records.values() for name in record.named]
            return {*self._entries, *self._met, *self._withdrawn, *self._not_taken, *recorded}

    def groups_anywhere(self) -> set[str]:
        """The names of all groups that a tool is in which it has or has heard of."""
        with self._lock:
            entries = (*self._entries.values(), *self._met.values(), *self._withdrawn.values())
            recorded = [one for record in self._records.values() for one in (record.profiles or {}).values()]
        return {group for one in (*(entry.profile for entry in entries), *recorded) for group in one.groups}

    def groups_of_tools(self) -> frozenset[str]:
        """The names of all groups that a registered tool is in."""
        return frozenset(group for entry in self._entries.values() for group in entry.profile.groups)

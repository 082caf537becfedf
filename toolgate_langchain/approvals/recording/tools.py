"""What a decision looks at of one tool, as plain JSON, and a tool made of it that a decision can look at again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.catalog.catalog import ToolCatalog
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.catalog.profile import ToolProfile
from toolgate_langchain.catalog.remote import RemoteServer
from toolgate_langchain.vocabulary import DataClass, Tier

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

__all__ = ["read_tool", "write_tool"]

_SERVER: Final = "server:"


def write_tool(entry: CatalogEntry, catalog: ToolCatalog) -> dict[str, Any]:
    """What a decision looks at of a tool; what is at its default is left out.

    Args:
        entry: The tool.
        catalog: Says whether it is switched on.
    """
    profile = entry.profile
    plain: dict[str, Any] = {
        "origin": entry.origin,
        "fingerprint": entry.fingerprint,
        "tier": None if entry.tier is None else entry.tier.value,
        "groups": sorted(profile.groups),
        "admin_only": profile.admin_only,
        "requires_approval": profile.requires_approval,
        "approval_when": profile.approval_when is not None,
        "typed_input": profile.input_schema is not None,
        "data_class": None if profile.data_class is None else profile.data_class.value,
        "withheld": entry.withheld,
        "first_sight": entry.first_sight,
        "closed": catalog.closed,
        "off": not catalog.is_enabled(entry),
    }
    if entry.server is not None:
        plain["named"] = entry.server.declaration(entry.name) is not None
    written = {name: value for name, value in plain.items() if value not in (None, [], False, "")}
    if entry.declared is not None:
        written["declared"] = entry.declared
    return written


class _Recorded(CatalogEntry):
    """A tool as a record has it: what is worked out of a real one elsewhere is said here."""

    def __init__(self, name: str, plain: Mapping[str, Any]) -> None:
        origin = plain["origin"]
        server = None
        if origin.startswith(_SERVER):
            declarations = {name: True} if plain.get("named") else None
            server = RemoteServer(origin.removeprefix(_SERVER), declarations=declarations)
        super().__init__(
            name,
            ToolProfile(
                tier=plain.get("tier"),
                groups=frozenset(plain.get("groups", ())),
                admin_only=plain.get("admin_only", False),
                requires_approval=plain.get("requires_approval", False),
                approval_when=_asks if plain.get("approval_when") else None,
                input_schema=_INPUT if plain.get("typed_input") else None,
                data_class=None if plain.get("data_class") is None else DataClass(plain["data_class"]),
            ),
            server=server,
            first_sight=plain.get("first_sight", False),
            withheld=plain.get("withheld", ""),
        )
        # In the place of what `CatalogEntry` works out when it is first asked for.
        self.__dict__["tier"] = None if plain.get("tier") is None else Tier(plain["tier"])
        self.__dict__["fingerprint"] = plain["fingerprint"]
        self._declared: bool | None = plain.get("declared")

    @property
    def declared(self) -> bool | None:
        return self._declared


def _asks(_: Mapping[str, Any]) -> bool:
    """A predicate whose outcome was not recorded, as where a decision never came to it."""
    return True


_INPUT: Final = {"type": "object", "properties": {"input": {}}}


def read_tool(name: str, plain: Mapping[str, Any]) -> tuple[CatalogEntry, ToolCatalog]:
    """A tool, and a catalog that says of it what the record says.

    Args:
        name: The tool's name.
        plain: What `write_tool` gave.

    Raises:
        KeyError, TypeError, ValueError: If it is nothing that `write_tool` gives.
    """
    catalog = ToolCatalog(closed=plain.get("closed", False), enabled=() if plain.get("off") else None)
    return _Recorded(name, plain), catalog

"""The definitions that a catalog saw first, as plain JSON: what changed of a tool can be shown in another process.

Of how a server is launched or reached only a digest is kept, because a command or a URL may carry a secret.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from toolgate_langchain.catalog.definition import Definition, RemoteDefinition
from toolgate_langchain.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["read_definitions", "written_definitions"]

_FORMAT: Final = 1
_ORIGIN: Final = "server:"


@dataclass(frozen=True, kw_only=True, config=ConfigDict(strict=True, extra="forbid"))
class _Kept:
    """The definition of one tool of a server."""

    v: int
    name: str
    server: str
    fingerprint: str
    schema: Any
    description: str
    annotations: dict[str, str]
    launched: str


def written_definitions(pinned: Mapping[tuple[str, str], Definition]) -> list[dict[str, Any]]:
    """The plain JSON form.

    Args:
        pinned: The definitions, by server and tool.
    """
    return [
        {
            "v": _FORMAT,
            "name": name,
            "server": server,
            "fingerprint": one.fingerprint,
            "schema": one.schema,
            "description": one.remote.description,
            "annotations": dict(one.remote.annotations),
            "launched": one.remote.launched,
        }
        for (server, name), one in pinned.items()
        if one.remote is not None
    ]


def read_definitions(given: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Definition]:
    """Read them back, by server and tool.

    Raises:
        CatalogError: If they are not what `ToolCatalog.definitions` gave, or two are of one tool.
    """
    try:
        listed = [_Kept(**one) for one in given]
    except (TypeError, ValidationError) as error:
        raise CatalogError(
            f"definitions is not what ToolCatalog.definitions() gave: {str(error).splitlines()[0]}"
        ) from error
    read: dict[tuple[str, str], Definition] = {}
    for one in listed:
        key = (one.server, one.name)
        if one.v != _FORMAT:
            raise CatalogError(f"definitions has format {one.v} for {one.name!r}; this version reads format {_FORMAT}")
        if key in read:
            raise CatalogError(f"definitions has two for {one.name!r} of server {one.server!r}")
        remote = RemoteDefinition(one.description, one.annotations, (), launched_as=one.launched)
        made = Definition(one.name, f"{_ORIGIN}{one.server}", one.schema, remote)
        # Its fingerprint covers how the server was launched, which is not kept.
        read[key] = replace(made, known_fingerprint=one.fingerprint)
    return read

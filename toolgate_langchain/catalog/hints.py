"""What a remote server says of its tool besides name, description and schema, and where it is kept.

The two clients of the Model Context Protocol put it in different places. `langchain-mcp-adapters`
spreads the annotations over the tool's metadata, under the protocol's own names, with `_meta` beside
them; `langchain.mcp` nests both under `mcp`, with the names in Python's spelling. A server may add
annotations of its own, so it can fill both places at once: the stricter hint counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolgate_langchain.catalog.profile import METADATA_KEY
from toolgate_langchain.vocabulary import Tier

__all__ = ["annotations_of", "claims_nested_profile", "hints_of", "tier_from_hints"]

_NAMES: Final = {
    "title": "title",
    "readOnlyHint": "read_only_hint",
    "destructiveHint": "destructive_hint",
    "idempotentHint": "idempotent_hint",
    "openWorldHint": "open_world_hint",
}
"""The annotations of the protocol, with the spelling of `langchain.mcp`."""

_STRICT: Final = {"readOnlyHint": False, "destructiveHint": True}
"""The value of a hint that raises a tier."""

_NESTED: Final = 1_000
"""Values of a tool's metadata that are looked through; more is no annotation but an attack."""


def annotations_of(metadata: Mapping[str, Any] | None) -> dict[str, list[Any]]:
    """Everything that a server said under the names of the protocol, from both places.

    Returns:
        By the protocol's name, the values that are there; none is left out and none decides yet.
    """
    found: dict[str, list[Any]] = {}
    for place in _places(metadata or {}):
        for name, other in _NAMES.items():
            for key in dict.fromkeys((name, other)):
                if place.get(key) is not None:
                    found.setdefault(name, []).append(place[key])
    return found


def hints_of(metadata: Mapping[str, Any] | None) -> dict[str, bool]:
    """The hints that count for a tier: exact bools, the stricter one where a server says both."""
    hints: dict[str, bool] = {}
    said = annotations_of(metadata)
    for name, strict in _STRICT.items():
        values = [value for value in said.get(name, ()) if isinstance(value, bool)]
        if values:
            hints[name] = strict if strict in values else not strict
    return hints


def _places(metadata: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield metadata
    nested: Any = metadata
    for key in ("mcp", "tool", "annotations"):
        nested = nested.get(key)
        if not isinstance(nested, Mapping):
            return
    yield nested


def claims_nested_profile(metadata: Mapping[str, Any] | None) -> bool:
    """Whether our key stands anywhere in what a server sent: in its annotations or its `_meta`."""
    pending: list[Any] = [metadata]
    for _ in range(_NESTED):
        if not pending:
            return False
        item = pending.pop()
        if isinstance(item, Mapping):
            if METADATA_KEY in item:
                return True
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
    return bool(pending)


def tier_from_hints(tier: Tier | None, hints: Mapping[str, Any], *, trusted: bool) -> Tier | None:
    """Combine the operator's tier with the hints that a server sent (Model Context Protocol names).

    Hints raise a tier and never lower it. Only where the operator trusts the server's hints do they
    also fill in a missing tier. Anything that is not exactly a bool is not a hint.

    Args:
        tier: The operator's tier, `None` if unclassified.
        hints: The server's hints, as from `hints_of`; `readOnlyHint` and `destructiveHint` are read.
        trusted: `RemoteServer.trust_hints`.
    """
    read_only, destructive = hints.get("readOnlyHint"), hints.get("destructiveHint")
    hinted: Tier | None = None
    if destructive is True:
        hinted = Tier.CONSEQUENTIAL
    elif read_only is False:
        # The protocol's default for a tool that changes things is "destructive".
        hinted = Tier.ROUTINE if destructive is False else Tier.CONSEQUENTIAL
    elif read_only is True:
        hinted = Tier.READ_ONLY
    if hinted is None:
        return tier
    if tier is None:
        return hinted if trusted else None
    return max(tier, hinted)

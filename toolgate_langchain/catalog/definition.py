"""The definition of a tool: what a standing rule, a declaration and a profile were made for.

Its fingerprint tells whether it changed; the definition itself tells a person what changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from toolgate_langchain.canonical import digest

__all__ = ["Definition", "RemoteDefinition"]

_LITERAL: Final = ("const", "default", "enum", "examples")
"""Keywords of a JSON Schema whose values are values and not schemas."""

_SHOWN: Final = 300
"""Characters shown of the old and of the new version of one thing."""

_BEFORE: Final = 30
"""Characters shown before the first difference."""


@dataclass(frozen=True, slots=True)
class RemoteDefinition:
    """What else a server can change under an approval."""

    description: str
    annotations: Mapping[str, str]
    launch: tuple[str, ...]
    launched_as: str = ""
    """The digest of the launch identity, where that itself was not kept."""

    @property
    def launched(self) -> str:
        """The digest of the launch identity."""
        return self.launched_as or digest("toolgate:launch:1", *self.launch)


@dataclass(frozen=True)
class Definition:
    """The definition of one tool, as it was at one time."""

    name: str
    origin: str
    schema: Any
    """The JSON Schema that the model is shown; `None` where there is none."""
    remote: RemoteDefinition | None = None
    known_fingerprint: str = ""
    """Its fingerprint, where not all that it covers was kept."""

    @cached_property
    def fingerprint(self) -> str:
        """The digest that a standing rule dies with.

        Covers name, origin and schema; for a remote tool also its description, its annotations and
        the server's launch identity, all of which a server can change under an approval.

        Raises:
            NotPlainJsonError: If the schema cannot be written as JSON.
        """
        if self.known_fingerprint:
            return self.known_fingerprint
        parts: list[Any] = ["toolgate:fingerprint:1", self.name, self.origin, _without_prose(self.schema)]
        if self.remote is not None:
            remote = self.remote
            parts += [self.schema, remote.description, dict(remote.annotations), list(remote.launch)]
        return digest(*parts)

    def changes_from(self, earlier: Definition) -> str:
        """What is different from an earlier definition, in one line; empty where nothing is.

        The words are the server's own and are not yet fit to be shown. Of the launch identity only
        the fact is told, because a command or a URL may carry a secret.
        """
        return "; ".join(self._changes(earlier))

    def _changes(self, earlier: Definition) -> Iterator[str]:
        if self.remote is not None and earlier.remote is not None:
            before, after = earlier.remote, self.remote
            if before.description != after.description:
                yield f"description was {_pair(before.description, after.description)}"
            for name in sorted({*before.annotations, *after.annotations}):
                was, now = before.annotations.get(name, "not given"), after.annotations.get(name, "not given")
                if was != now:
                    yield f"{name} was {_cut(was)}, is {_cut(now)}"
            if before.launched != after.launched:
                yield "the server is launched or reached in another way"
        if self.schema != earlier.schema:
            yield from _schema_changes(earlier.schema, self.schema)


def _schema_changes(before: Any, after: Any) -> Iterator[str]:
    was, now = _properties(before), _properties(after)
    for name in sorted({*was, *now}):
        if name not in now:
            yield f"argument {_text(name)} is gone"
        elif name not in was:
            yield f"argument {_text(name)} is new: {_cut(_text(now[name]))}"
        elif was[name] != now[name]:
            yield f"argument {_text(name)} was {_pair(was[name], now[name])}"
    if _rest(before) != _rest(after):
        yield f"the rest of its schema was {_pair(_rest(before), _rest(after))}"


def _properties(schema: Any) -> Mapping[str, Any]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _rest(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    return {key: item for key, item in schema.items() if key != "properties" or not isinstance(item, Mapping)}


def _pair(before: Any, after: Any) -> str:
    """Both versions from shortly before their first difference, so that a late change is seen."""
    was, now = _text(before), _text(after)
    start = max(_same(was, now) - _BEFORE, 0)
    return f"{_cut(was, start)}, is {_cut(now, start)}"


def _same(one: str, other: str) -> int:
    """How many characters two texts begin with alike; by halves, because a server may send millions."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(text: str, start: int = 0) -> str:
    shown = text[start : start + _SHOWN]
    return f"{'...' if start else ''}{shown}{'...' if len(text) > start + _SHOWN else ''}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _without_prose(schema: Any) -> Any:
    """A schema without titles and descriptions, which of a local tool only the model reads."""
    if isinstance(schema, dict):
        # A property may itself be called "title", and a default is a value: neither is prose.
        return {
            key: item if key in _LITERAL else _without_prose(item)
            for key, item in schema.items()
            if key not in ("title", "description") or not isinstance(item, str)
        }
    if isinstance(schema, list):
        return [_without_prose(item) for item in schema]
    return schema

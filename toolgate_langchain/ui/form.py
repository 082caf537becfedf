"""Typed input: the fields of a schema, asked one by one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.shown import show_text
from toolgate_langchain.catalog.json_schema import JsonSchemaValidator
from toolgate_langchain.errors import InvalidArgumentsError
from toolgate_langchain.ui.screen import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolgate_langchain.ui.screen import Screen

__all__ = ["Form"]

_MAX_TRIES: Final = 5
"""Lines that do not fit one field, after which the person is back at the question."""

_NOTHING: Final = object()


class Form:
    """Asks for each field of a schema.

    Args:
        screen: Where the fields are shown.
        read: Writes a prompt and reads a line.
        schema: The schema of the fields.
        arguments: The call's arguments; an optional field that is left out keeps its value of them.
    """

    def __init__(
        self, screen: Screen, read: Callable[[str], str], schema: Mapping[str, Any], arguments: Mapping[str, Any]
    ) -> None:
        self._screen, self._read, self._schema, self._arguments = screen, read, schema, arguments

    def fill_in(self) -> dict[str, Any] | None:
        """The fields that were filled in, or `None` where one could not be."""
        filled: dict[str, Any] = {}
        for name in self._schema["properties"]:
            value = self._field(name)
            if value is _NOTHING:
                if name in self._schema.get("required", ()):
                    self._screen.write(f"Without {one_line(name)} it cannot run.")
                    return None
                continue
            filled[name] = value
        return filled

    def _field(self, name: str) -> Any:
        field = self._schema["properties"][name]
        required = name in self._schema.get("required", ())
        self._screen.write(f"{one_line(name)} ({'required' if required else 'optional'})", "bold", before="  ")
        self._screen.quote(show_text(json.dumps(field, ensure_ascii=False), what=name).text)
        leave = "Enter to go back" if required else "Enter to leave it as it is"
        for _ in range(_MAX_TRIES):
            line = self._read(f'{one_line(name)} ({leave}, "" for empty text):').strip()
            if not line:
                return _NOTHING
            value = _value(line, field)
            fault = self._fault(name, value)
            if not fault:
                return value
            self._screen.write(one_line(fault), "red")
        return _NOTHING

    def _fault(self, name: str, value: Any) -> str:
        """What the schema says against one field alone."""
        alone = {**self._schema, "properties": {name: self._schema["properties"][name]}, "required": []}
        try:
            JsonSchemaValidator(alone).check({name: value})
        except InvalidArgumentsError as error:
            return str(error)
        return ""


def _value(line: str, field: Any) -> Any:
    """What a line means for a field: text where the field takes text, else JSON."""
    if line == '""':
        return ""
    types = field.get("type") if isinstance(field, dict) else None
    if types == "string":
        return line
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line

"""Arguments that validation cannot change: bare strings, integers and booleans of a plain model.

Most tools take nothing else, and most calls fit at first sight. What pydantic would make of them is
known without asking it: the same values, and the model's own defaults for what was left out. Every
other model and every other call takes the long way, which is the only one that finds faults.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from toolgate_langchain.canonical import MAX_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FlatArguments"]

_KINDS: Final[Mapping[str, type]] = {"str": str, "int": int, "bool": bool}
_LONG_INTEGER: Final = 2**63
_MISSING: Final = object()

_OF_A_MODEL: Final = {"type", "cls", "schema", "custom_init", "root_model", "config", "ref", "metadata"}
_OF_ITS_FIELDS: Final = {"type", "fields", "model_name", "computed_fields"}
_OF_A_FIELD: Final = {"type", "schema", "metadata"}

_CODE: Final = (classmethod, staticmethod, property, cached_property)


class FlatArguments:
    """Recognises calls of one model whose validation changes nothing.

    Args:
        fields: For each field its type, and its default or a mark that it has none.
    """

    def __init__(self, fields: Mapping[str, tuple[type, Any]]) -> None:
        self._kinds = {name: kind for name, (kind, _) in fields.items()}
        self._defaults = {name: default for name, (_, default) in fields.items() if default is not _MISSING}
        self._names = list(self._kinds)
        # Half of what one value may hold, so that the keys have room beside the texts.
        self._longest = MAX_CHARACTERS // (2 * max(1, len(fields)))

    @classmethod
    def of(cls, model: type[BaseModel]) -> FlatArguments | None:
        """What recognises the calls of a model; `None` for a model that does more than to hold values."""
        core: Any = model.__pydantic_core_schema__
        if not isinstance(core, dict) or core.get("type") != "model" or _has_code(model):
            return None
        fields = core["schema"]
        config = set(core.get("config", ())) - {"title"}
        if config or core.get("custom_init") or core.get("root_model") or set(core) - _OF_A_MODEL:
            return None
        if fields.get("type") != "model-fields" or set(fields) - _OF_ITS_FIELDS or fields.get("computed_fields"):
            return None
        found = {name: _field(field) for name, field in fields["fields"].items()}
        # Fields of these names stand for a function's variadic parameters.
        if any(field is None for field in found.values()) or {"args", "kwargs"} & set(found):
            return None
        made = cls({name: field for name, field in found.items() if field is not None})
        # Defaults are not validated: they may be of another type, or what no call could carry.
        return made if made._can_carry(made._defaults) and "".join(found).isascii() else None

    def __call__(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """The effective arguments; `None` where only validation can tell.

        Args:
            arguments: What the model wrote.

        Returns:
            The very same object where nothing was left out.
        """
        if not self._can_carry(arguments):
            return None
        if list(arguments) == self._names:
            return arguments
        values: dict[str, Any] = {}
        for name in self._names:
            value = arguments.get(name, _MISSING)
            if value is _MISSING:
                value = self._defaults.get(name, _MISSING)
                if value is _MISSING:
                    return None
            values[name] = value
        return values

    def _can_carry(self, values: dict[str, Any]) -> bool:
        """Whether all values are of their fields' very types, and such that JSON and the stores carry them."""
        kinds = self._kinds
        for name, value in values.items():
            kind = type(value)
            if kinds.get(name) is not kind or type(name) is not str:
                return False
            if kind is str:
                if not value.isascii() or len(value) > self._longest:
                    return False
            elif kind is int and not -_LONG_INTEGER <= value < _LONG_INTEGER:
                return False
        return True


def _has_code(model: type[BaseModel]) -> bool:
    """Whether a model brings code of its own, which may do anything when it is validated or read."""
    ours = [cls for cls in model.__mro__ if cls not in BaseModel.__mro__]
    # What stands in a class of another kind need not be Python at all, and such a metaclass may do anything.
    return any(type(cls) is not type(BaseModel) for cls in ours) or any(
        isinstance(value, _CODE) or callable(value) for cls in ours for value in vars(cls).values()
    )


def _field(field: Any) -> tuple[type, Any] | None:
    """The type and the default of a bare field; `None` for any other."""
    if not isinstance(field, dict) or field.get("type") != "model-field" or set(field) - _OF_A_FIELD:
        return None
    schema, default = field["schema"], _MISSING
    if schema.get("type") == "default" and set(schema) == {"type", "schema", "default"}:
        schema, default = schema["schema"], schema["default"]
    kind = _KINDS.get(schema.get("type", "")) if set(schema) == {"type"} else None
    return None if kind is None else (kind, default)

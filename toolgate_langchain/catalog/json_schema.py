"""Checking values against a plain JSON Schema, in bounded time.

Schemas come from remote servers, and one can be written to never come to an end: references that
double at every level, patterns that backtrack, uniqueness over long lists. Whatever is not checked
within the bounds does not fit, and a schema that cannot be bounded is not taken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.canonical import canonical_json, check_plain
from toolgate_langchain.errors import InvalidArgumentsError, MissingExtraError

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

__all__ = ["JsonSchemaValidator"]

_MAX_STEPS: Final = 200_000
"""Keywords applied while one value is checked; about a second, and far beyond any real call."""

_SECONDS_FOR_PATTERNS: Final = 0.2
"""Time for all regular expressions on all texts of one value."""

_MAX_FAULTS: Final = 5
"""Faults that are told; a model mends a few at a time."""

_MAX_REMEMBERED: Final = 10_000
"""Characters of a schema that is remembered: nearly all are shorter, and a server must not fill the memory."""

_Keyword = Callable[[Any, Any, Any, Any], Any]


@dataclass(slots=True)
class _Left:
    """What is left of the bounds while one value is checked."""

    steps: int = _MAX_STEPS
    seconds: float = _SECONDS_FOR_PATTERNS

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise _TooMuchError


_left: ContextVar[_Left] = ContextVar("toolgate_json_schema_left")


class JsonSchemaValidator:
    """Checks values against one schema, which LangChain itself passes through unchecked.

    Raises:
        MissingExtraError: When built, if the libraries are not installed.
        InvalidArgumentsError: When built, if the schema is not a valid one, or cannot be bounded.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        try:
            import regex
            from jsonschema import SchemaError
        except ImportError as error:
            raise MissingExtraError("Checking a plain JSON Schema", "jsonschema") from error
        try:
            # What is no JSON could neither be fingerprinted nor kept with a question.
            check_plain(dict(schema), where="schema")
            text = json.dumps(dict(schema))
            self._validator = _remembered(text) if len(text) <= _MAX_REMEMBERED else _built(text)
        except InvalidArgumentsError:
            raise
        except (SchemaError, regex.error, RecursionError, TypeError, ValueError) as error:
            raise InvalidArgumentsError(f"not a valid JSON Schema: {error}"[:500]) from error

    def check(self, value: Any) -> None:
        """Check one value.

        Raises:
            InvalidArgumentsError: With the first few faults and where they are, or saying that the
                value could not be checked within the bounds.
        """
        token = _left.set(_Left())
        try:
            faults = [
                f"{'.'.join(str(step) for step in fault.absolute_path) or 'arguments'}: {fault.message[:300]}"
                for _, fault in zip(range(_MAX_FAULTS), self._validator.iter_errors(value), strict=False)
            ]
        except (_TooMuchError, TimeoutError, RecursionError) as error:
            raise InvalidArgumentsError("the arguments cannot be checked in bounded time") from error
        finally:
            _left.reset(token)
        if faults:
            raise InvalidArgumentsError("; ".join(faults))


class _TooMuchError(Exception):
    """The steps for one value are used up."""


def _built(text: str) -> Validator:
    """What checks values against a schema, of which it keeps a copy of its own.

    Raises:
        InvalidArgumentsError: If the schema cannot be bounded.
        SchemaError: And what else the libraries raise, if it is not a valid one.
    """
    from jsonschema.validators import validator_for
    from referencing import Registry

    schema = json.loads(text)
    kind = validator_for(schema)
    kind.check_schema(schema)
    if {"patternProperties", "unevaluatedProperties"} <= set(_keywords(schema)):
        raise InvalidArgumentsError(
            "a JSON Schema with both patternProperties and unevaluatedProperties cannot be checked in bounded time"
        )
    # An empty registry: a schema that points elsewhere must not make this process fetch it.
    return _bounded(kind)(schema, registry=Registry())


_remembered = lru_cache(256)(_built)
"""Agents are made again and again with the same tools, and to look whether a schema is valid takes milliseconds."""


@lru_cache
def _bounded(kind: type[Validator]) -> type[Validator]:
    """A draft's validator whose keywords are counted and whose regular expressions end."""
    from jsonschema.validators import extend

    keywords: dict[str, Any] = dict(kind.VALIDATORS)
    ours = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    keywords.update({name: keyword for name, keyword in ours.items() if name in keywords})
    counted = {name: _counted(keyword) for name, keyword in keywords.items()}
    made: type[Validator] = extend(kind, counted)  # type: ignore[no-untyped-call]
    return made


def _counted(keyword: _Keyword) -> _Keyword:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _left.get().step()
        return keyword(validator, value, instance, schema)

    return counted


def _matches(pattern: str, text: str) -> bool:
    import regex

    left = _left.get()
    left.step()
    if left.seconds <= 0:
        raise TimeoutError
    started = perf_counter()
    found = regex.search(pattern, text, timeout=left.seconds) is not None
    left.seconds -= perf_counter() - started
    return found


def _fault(message: str) -> Exception:
    from jsonschema import ValidationError

    return ValidationError(message)


def _pattern(validator: Any, pattern: str, instance: Any, _: Any) -> Iterator[Any]:
    if validator.is_type(instance, "string") and not _matches(pattern, instance):
        yield _fault(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], instance: Any, _: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            if _matches(pattern, name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [name for name in instance if name not in declared and not any(_matches(one, name) for one in patterns)]
    if validator.is_type(allowed, "object"):
        for name in extras:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extras:
        yield _fault(f"Additional properties are not allowed: {', '.join(map(repr, extras[:10]))}")


def _unique_items(validator: Any, unique: Any, instance: Any, _: Any) -> Iterator[Any]:
    if not unique or not validator.is_type(instance, "array"):
        return
    # By their text, so that a long list costs its length and not the square of it.
    if len({canonical_json(_as_numbers(item)) for item in instance}) != len(instance):
        yield _fault("the items are not unique")


def _as_numbers(value: Any) -> Any:
    """JSON Schema takes 1 and 1.0 for one number, which the canonical text keeps apart."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_as_numbers(item) for item in value]
    if isinstance(value, dict):
        return {name: _as_numbers(item) for name, item in value.items()}
    return value


def _keywords(schema: Any) -> Iterator[str]:
    """Every key that occurs anywhere in a schema; walked without recursion."""
    pending = [schema]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            yield from (key for key in item if isinstance(key, str))
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)

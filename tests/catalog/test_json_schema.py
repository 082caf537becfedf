"""Plain JSON Schemas are checked in bounded time, whoever wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from toolgate_langchain.catalog.json_schema import JsonSchemaValidator
from toolgate_langchain.errors import InvalidArgumentsError


def fits(schema: dict[str, Any], value: Any) -> bool:
    try:
        JsonSchemaValidator(schema).check(value)
    except InvalidArgumentsError:
        return False
    return True


def doubling(levels: int) -> dict[str, Any]:
    defs: dict[str, Any] = {"d0": {"type": "object"}}
    for level in range(1, levels + 1):
        below = {"$ref": f"#/$defs/d{level - 1}"}
        defs[f"d{level}"] = {"allOf": [below, below]}
    return {"$defs": defs, "$ref": f"#/$defs/d{levels}"}


HOSTILE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a pattern of names that backtracks": (
        {"type": "object", "patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
        {"a" * 5_000 + "!": 1},
    ),
    "a reference to itself": ({"$ref": "#"}, {}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_schema_made_to_never_end_is_given_up_on(name: str) -> None:
    """It ends at all: without bounds each of these would run for years.

    How soon, and that references that double and patterns of values that backtrack are given up on, is in
    `tests/redteam/test_bounded_time.py`.
    """
    schema, value = HOSTILE[name]
    with pytest.raises(InvalidArgumentsError):
        JsonSchemaValidator(schema).check(value)


def test_the_same_kinds_of_schema_with_harmless_content_are_checked() -> None:
    assert fits(doubling(4), {})
    assert fits({"properties": {"a": {"pattern": "^a+$"}}}, {"a": "aaa"})
    assert not fits({"properties": {"a": {"pattern": "^a+$"}}}, {"a": "b"})
    named = {"patternProperties": {"^x_": {"type": "integer"}}, "properties": {"y": {}}, "additionalProperties": False}
    assert fits(named, {"x_1": 1, "y": "any"})
    assert not fits(named, {"x_1": "1"})
    assert not fits(named, {"z": 1})
    assert fits({"additionalProperties": {"type": "string"}}, {"a": "b"})
    assert not fits({"additionalProperties": {"type": "string"}}, {"a": 1})


def test_unique_items_are_told_by_value_as_json_schema_does() -> None:
    unique = {"properties": {"a": {"uniqueItems": True}}}
    assert fits(unique, {"a": [1, True, "1", None, {"b": 1}, {"b": 2}]})
    assert not fits(unique, {"a": [1, 1.0]})
    assert not fits(unique, {"a": [{"b": [1]}, {"b": [1.0]}]})
    assert fits(unique, {"a": [{"n": n} for n in range(20_000)]})


def test_a_schema_that_cannot_be_bounded_is_not_taken() -> None:
    with pytest.raises(InvalidArgumentsError, match="bounded time"):
        JsonSchemaValidator({"patternProperties": {"a": {}}, "unevaluatedProperties": False})


def test_a_schema_that_is_changed_after_it_was_looked_at_is_checked_as_it_was() -> None:
    """Whether it was looked at for the first time or is remembered from another tool that has the same."""
    for _ in range(2):
        schema: dict[str, Any] = {"properties": {"n": {"type": "integer"}}}
        validator = JsonSchemaValidator(schema)
        schema["properties"]["n"]["type"] = "string"
        validator.check({"n": 1})
        with pytest.raises(InvalidArgumentsError, match="not of type 'integer'"):
            validator.check({"n": "1"})


def test_schemas_that_differ_as_json_does_are_not_taken_for_each_other() -> None:
    """Python holds `1`, `1.0` and `true` for equal, and JSON Schema holds `true` for another value."""
    assert [fits({"const": one}, True) for one in (1, True, 1.0)] == [False, True, False]

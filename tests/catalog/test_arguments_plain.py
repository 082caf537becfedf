"""Plain JSON Schemas are checked, and what JSON or the stores cannot carry exactly is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict

from toolgate_langchain.catalog.arguments import ArgumentSchema, EffectiveArguments
from toolgate_langchain.errors import InvalidArgumentsError


class Allows(BaseModel):
    model_config = ConfigDict(extra="allow")
    n: int


def a_tool(schema: Any, got: list[dict[str, Any]] | None = None) -> BaseTool:
    def run(**kwargs: Any) -> str:
        if got is not None:
            got.append(kwargs)
        return "ran"

    return StructuredTool(name="act", description="Act.", func=run, args_schema=schema)


def effective(schema: Any, arguments: Any) -> EffectiveArguments:
    return ArgumentSchema(a_tool(schema)).effective(arguments)


SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}, "to": {"$ref": "#/$defs/name"}},
    "required": ["n"],
    "additionalProperties": False,
    "$defs": {"name": {"type": "string", "maxLength": 3}},
}


def test_a_plain_json_schema_is_checked_although_langchain_itself_does_not() -> None:
    assert effective(SCHEMA, {"n": 1, "to": "ann"}) == EffectiveArguments({"n": 1, "to": "ann"})
    got: list[dict[str, Any]] = []
    a_tool(SCHEMA, got).invoke({"n": "x"})
    assert got == [{"n": "x"}]
    for given, told in (
        ({"n": "1"}, "n: '1' is not of type 'integer'"),
        ({"n": 0}, "n: 0 is less than the minimum of 1"),
        ({}, "arguments: 'n' is a required property"),
        ({"n": 1, "to": "anna"}, "to: 'anna' is too long"),
        ({"n": 1, "more": 2}, "Additional properties are not allowed"),
        ({"n": True}, "n: True is not of type 'integer'"),
    ):
        with pytest.raises(InvalidArgumentsError, match=told):
            effective(SCHEMA, given)


@pytest.mark.parametrize(
    "reference", ["http://example.invalid/s.json", "file:///etc/hostname", "https://json-schema.org/x"]
)
def test_a_ref_that_points_elsewhere_is_never_fetched(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(*_: Any, **__: Any) -> Any:
        raise AssertionError("fetched")

    monkeypatch.setattr("urllib.request.urlopen", fetch)
    monkeypatch.setattr("socket.socket.connect", fetch)
    schema = {"type": "object", "properties": {"n": {"$ref": reference}}}
    with pytest.raises(InvalidArgumentsError, match="could not be validated"):
        effective(schema, {"n": 1})
    assert effective(schema, {}).values == {}


def test_a_schema_that_refers_to_itself_for_ever_refuses_the_call() -> None:
    with pytest.raises(InvalidArgumentsError):
        effective({"$ref": "#"}, {"n": 1})


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


UNCARRIED: dict[str, Callable[[], Any]] = {
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("-inf"),
    "an integer of 400 digits": lambda: 10**400,
    "an integer of 5,000 digits": lambda: 10**5_000,
    "2**63": lambda: 2**63,
    "-2**63 - 1": lambda: -(2**63) - 1,
    "depth 10,000": lambda: _nested(10_000),
    "depth 65": lambda: _nested(65),
    "a lone surrogate": lambda: "a\ud800",
    "a lone surrogate in a key": lambda: {"\udfff": 1},
    "a key that is an integer": lambda: {1: "a"},
    "a key that is a huge integer": lambda: {10**5_000: "a"},
    "a key that is null": lambda: {None: "a"},
    "a tuple": lambda: (1, 2),
    "bytes": lambda: b"a",
    "a set": lambda: {1},
    "an object": object,
    "a million values": lambda: [0] * 1_000_000,
    "five million characters": lambda: "a" * 5_000_000,
}


@pytest.mark.parametrize("schema", [None, {"type": "object"}, Allows], ids=["no schema", "JSON Schema", "pydantic"])
@pytest.mark.parametrize("kind", UNCARRIED)
def test_what_cannot_be_carried_exactly_is_refused_in_bounded_time(kind: str, schema: Any) -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        effective(schema, {"n": 1, "x": UNCARRIED[kind]()})
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "value",
    [2**63 - 1, -(2**63), _nested(60), "a\U0001f600", 0.1, -0.0, None, True, [], {}, "\u0000"],
    ids=lambda v: str(v)[:9],
)
def test_what_can_be_carried_passes_as_it_is(value: Any) -> None:
    for schema in (None, {"type": "object"}):
        assert repr(effective(schema, {"x": value}).values) == repr({"x": value})

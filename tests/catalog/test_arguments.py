"""Effective arguments: what validation makes of the model's words is what is shown, matched and run."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

import pytest
from langchain_core.tools import BaseTool, StructuredTool, tool
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    computed_field,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic.v1 import BaseModel as BaseModelV1

from toolgate_langchain.catalog.arguments import ArgumentSchema, EffectiveArguments
from toolgate_langchain.errors import InvalidArgumentsError


class ReadOtherwise(BaseModel):
    n: int = Field(default=0, validation_alias="number")


class Nested(BaseModel):
    inner: ReadOtherwise


class Color(Enum):
    RED = "red"


class Address(BaseModel):
    street: str = Field(alias="streetName")
    zip_code: int = Field(default=0, alias="zip")


class Order(BaseModel):
    count: int
    note: str = "-"
    when: date | None = None
    price: Decimal = Decimal("1.50")
    color: Color = Color.RED
    kind: Literal["a", "b"] = "a"


class Aliased(BaseModel):
    to: Address
    cc: list[Address] = []
    amount: int = Field(alias="howMuch")
    source: str = Field(default="x", validation_alias=AliasChoices("src", "from"))  # type: ignore[pydantic-alias]


class ByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    amount: int = Field(alias="howMuch")


class Forbids(BaseModel):
    model_config = ConfigDict(extra="forbid")
    n: int


class Allows(BaseModel):
    model_config = ConfigDict(extra="allow")
    n: int


class Ignores(BaseModel):
    n: int


class Checked(BaseModel):
    low: int
    high: int

    @field_validator("low")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("low must be even")
        return value

    @model_validator(mode="after")
    def _ordered(self) -> Checked:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Lowered(BaseModel):
    host: str

    @field_validator("host")
    @classmethod
    def _lower(cls, value: str) -> str:
        return value.strip().lower()


class Adds(BaseModel):
    """A validator that is not idempotent."""

    n: int

    @field_validator("n")
    @classmethod
    def _more(cls, value: int) -> int:
        return value + 1


class Secret(BaseModel):
    token: SecretStr


class Computed(BaseModel):
    n: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return self.n * 2


class Shouts(BaseModel):
    text: str

    @field_serializer("text")
    def _upper(self, value: str) -> str:
        return value.upper()


class Hidden(BaseModel):
    n: int
    level: int = Field(default=1, exclude=True)


class Tags(BaseModel):
    tags: set[str]
    deep: dict[str, frozenset[int]] = {}


def a_tool(schema: Any, got: list[dict[str, Any]] | None = None) -> BaseTool:
    def run(**kwargs: Any) -> str:
        if got is not None:
            got.append(kwargs)
        return "ran"

    return StructuredTool(name="act", description="Act.", func=run, args_schema=schema)


def effective(schema: Any, arguments: Any) -> EffectiveArguments:
    return ArgumentSchema(a_tool(schema)).effective(arguments)


FULL_ORDER = {"count": 5, "note": "-", "when": None, "price": "1.50", "color": "red", "kind": "a"}
EXACT: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (Order, {"count": "5"}, FULL_ORDER),
    (Order, {"count": 5.0}, FULL_ORDER),
    (Order, {"when": "2026-01-02", "count": 5}, {**FULL_ORDER, "when": "2026-01-02"}),
    (Aliased, {"to": {"streetName": "s", "zip": "7"}, "howMuch": "2"},
     {"to": {"streetName": "s", "zip": 7}, "cc": [], "howMuch": 2, "src": "x"}),
    (ByName, {"howMuch": 2}, {"amount": 2}),
    (ByName, {"amount": "2"}, {"amount": 2}),
    (Allows, {"n": "1", "more": {"x": [1]}}, {"n": 1, "more": {"x": [1]}}),
    (Ignores, {"n": "1", "more": 2}, {"n": 1}),
    (Forbids, {"n": "1"}, {"n": 1}),
    (Checked, {"low": "2", "high": 3}, {"low": 2, "high": 3}),
    (Lowered, {"host": "  Example.COM "}, {"host": "example.com"}),
    (Computed, {"n": "3"}, {"n": 3}),
    (Tags, {"tags": ["b", "a", "c", "a"]}, {"tags": ["a", "b", "c"], "deep": {}}),
    (Tags, {"tags": [], "deep": {"x": [3, 1, 2]}}, {"tags": [], "deep": {"x": [1, 2, 3]}}),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "given", "expected"), EXACT, ids=lambda value: getattr(value, "__name__", None))
def test_coercions_defaults_aliases_and_validators_are_part_of_the_arguments(
    schema: type[BaseModel], given: dict[str, Any], expected: dict[str, Any]
) -> None:
    result = effective(schema, given)
    assert (result.values, result.exact) == (expected, True)
    assert json.loads(json.dumps(result.values)) == expected
    assert effective(schema, result.values) == result


@pytest.mark.parametrize(("schema", "given", "expected"), EXACT, ids=lambda value: getattr(value, "__name__", None))
def test_the_tool_gets_the_same_from_the_effective_arguments_as_from_the_models_own(
    schema: type[BaseModel], given: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert expected
    own: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    a_tool(schema, own).invoke(given)
    a_tool(schema, shown).invoke(effective(schema, given).values)
    assert own == shown
    assert len(own) == 1


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        (Adds, {"n": 1}),
        (Secret, {"token": "hunter2"}),
        (Shouts, {"text": "quiet"}),
        (Hidden, {"n": 1, "level": 5}),
        (Nested, {"inner": {"number": "5"}}),
    ],
    ids=[
        "a validator that is not idempotent",
        "a secret type",
        "a one-way serialiser",
        "a field that is not dumped",
        "an inner field that is read under another key than it is written",
    ],
)
def test_where_validating_again_does_not_give_the_same_the_models_own_arguments_run_and_are_not_exact(
    schema: type[BaseModel], given: dict[str, Any]
) -> None:
    result = effective(schema, given)
    assert (result.values, result.exact) == (given, False)


@pytest.mark.parametrize(
    ("schema", "given", "told"),
    [
        (Order, {"count": "five"}, "count: "),
        (Order, {}, "count: Field required"),
        (Order, {"count": 5, "color": "blue"}, "color: "),
        (Aliased, {"to": {"street": "s"}, "howMuch": 1}, "to.streetName: Field required"),
        (Aliased, {"to": {"streetName": "s"}, "amount": 1}, "howMuch: Field required"),
        (Forbids, {"n": 1, "more": 2}, "more: Extra inputs are not permitted"),
        (Checked, {"low": 1, "high": 3}, "low must be even"),
        (Checked, {"low": 4, "high": 3}, "low is above high"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_the_validators_words(
    schema: type[BaseModel], given: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidArgumentsError, match=told):
        effective(schema, given)


def test_a_refusal_does_not_repeat_the_values() -> None:
    """They may be large, or secret."""

    class Long(BaseModel):
        password: int

    with pytest.raises(InvalidArgumentsError) as refused:
        effective(Long, {"password": "hunter2"})
    assert "hunter2" not in str(refused.value)


def test_a_validator_that_raises_anything_refuses_the_call() -> None:
    class Breaks(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def _break(cls, value: int) -> int:
            raise LookupError(value)

    with pytest.raises(InvalidArgumentsError, match="could not be validated"):
        effective(Breaks, {"n": 1})


def test_an_alias_path_is_never_guessed() -> None:
    class Path(BaseModel):
        n: int = Field(validation_alias=AliasPath("outer", "n"))  # type: ignore[pydantic-alias]

    result = effective(Path, {"outer": {"n": 1}})
    assert (result.values, result.exact) == ({"outer": {"n": 1}}, False)


def test_variadic_parameters_are_not_made_up() -> None:
    @tool
    def vary(n: int, *args: str, **kwargs: str) -> str:
        """Vary."""
        return f"{n} {args} {kwargs}"

    assert ArgumentSchema(vary).effective({"n": "1"}).values == {"n": 1}


def test_a_tool_without_a_schema_gets_what_the_model_wrote_as_far_as_it_is_plain_json() -> None:
    schema = ArgumentSchema(a_tool(None))
    assert schema.effective({"a": [1, "x", None]}) == EffectiveArguments({"a": [1, "x", None]})
    with pytest.raises(InvalidArgumentsError):
        schema.effective({"a": float("nan")})


@pytest.mark.parametrize("given", [None, "x", [], 1, [("n", 1)], '{"n": 1}'])
def test_arguments_that_are_no_object_are_refused(given: Any) -> None:
    for schema in (Ignores, {"type": "object"}, None):
        with pytest.raises(InvalidArgumentsError, match="the arguments are not an object but"):
            effective(schema, given)


def test_a_schema_of_pydantics_first_version_is_validated_and_its_arguments_run_as_written() -> None:
    class Old(BaseModelV1):
        n: int
        note: str = "-"

    assert effective(Old, {"n": "5"}) == EffectiveArguments({"n": "5"}, exact=False)
    with pytest.raises(InvalidArgumentsError, match="value is not a valid integer"):
        effective(Old, {"n": "five"})

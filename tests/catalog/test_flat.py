"""Arguments that validation cannot change: where it is plain, nothing else is said than validation says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, IntEnum
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Generic, Literal, Optional, TypeVar, cast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, tool
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    RootModel,
    Strict,
    StringConstraints,
    computed_field,
    create_model,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.v1 import BaseModel as BaseModelV1

from toolgate_langchain.canonical import MAX_CHARACTERS
from toolgate_langchain.catalog.arguments import ArgumentSchema
from toolgate_langchain.catalog.flat import FlatArguments
from toolgate_langchain.errors import InvalidArgumentsError

_quick = settings(deadline=None, database=None, max_examples=200)

T = TypeVar("T")
KINDS: dict[Any, tuple[Any, ...]] = {str: ("", "a", "x" * 50), int: (0, -1, 2**63 - 1), bool: (True, False)}


class Text(str):
    """A string of a class of its own."""

    __slots__ = ()


class Number(IntEnum):
    ONE = 1


def a_tool(schema: Any, got: list[list[tuple[str, Any]]] | None = None) -> BaseTool:
    def run(**kwargs: Any) -> str:
        if got is not None:
            got.append(list(kwargs.items()))
        return "ran"

    return StructuredTool(name="act", description="Act.", func=run, args_schema=schema)


def flat(schema: Any) -> ArgumentSchema:
    return ArgumentSchema(a_tool(schema))


def the_long_way(schema: Any) -> ArgumentSchema:
    """The same schema, by which every call is validated."""
    made = flat(schema)
    made._flat = None
    return made


def said(schema: ArgumentSchema, arguments: Any) -> str:
    """What is made of arguments: the values with their very types, in their order, and whether they are exact."""
    try:
        effective = schema.effective(arguments)
    except InvalidArgumentsError:
        return "refused"
    return f"{list(effective.values.items())!r}, exact={effective.exact}"


# --- generated models and arguments ----------------------------------------------------------------


@st.composite
def plain_models(draw: st.DrawFn) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name in draw(st.permutations(["to", "n", "flag", "note", "a_b"]))[: draw(st.integers(0, 5))]:
        kind = draw(st.sampled_from(list(KINDS)))
        default = draw(st.sampled_from([..., *KINDS[kind]]))
        described = draw(st.booleans())
        fields[name] = (kind, Field(default, description="What it is.", title="It") if described else default)
    model: type[BaseModel] = create_model("Drawn", __doc__=draw(st.sampled_from([None, "Some."])), **fields)
    return model


VALUES = st.one_of(
    st.sampled_from(["", "a", "5", "true", "x" * 50, "é", "\u202e", "\ud800", "\x00", Text("a")]),
    st.text(max_size=4),
    st.integers(-9, 9),
    st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30, Number.ONE]),
    st.booleans(),
    st.sampled_from([None, 1.0, 0.5, float("nan"), [], ["a"], {}, {"a": 1}, b"a", (1,)]),
)
NAMES = st.sampled_from(["to", "n", "flag", "note", "a_b", "more", "To", "", "é", "\ud800", Text("n"), 1])


@st.composite
def arguments_of(draw: st.DrawFn, model: type[BaseModel]) -> dict[Any, Any]:
    """Mostly what fits, in any order; here and there something else."""
    fields = [(name, field.annotation) for name, field in model.model_fields.items()]
    written: dict[Any, Any] = {}
    for name, kind in draw(st.permutations(fields)):
        odd = draw(st.integers(0, 9))
        if odd == 0:
            continue
        usual = KINDS.get(kind) if isinstance(kind, type) else None
        written[name] = draw(VALUES if odd == 1 or usual is None else st.sampled_from(usual))
    if draw(st.integers(0, 7)) == 0:
        written[draw(NAMES)] = draw(VALUES)
    return written


@_quick
@given(st.data())
def test_plain_arguments_are_what_validation_makes_of_them(data: st.DataObject) -> None:
    """The same values, of the same types, in the same order, and exact; or nothing is said of them."""
    model = data.draw(plain_models())
    recognised = FlatArguments.of(model)
    assert recognised is not None
    arguments = data.draw(arguments_of(model))
    written = repr(arguments)
    values = recognised(arguments)
    if values is not None:
        assert said(the_long_way(model), arguments) == f"{list(values.items())!r}, exact=True"
        assert (values is arguments) is (list(values) == list(arguments))
    assert said(flat(model), arguments) == said(the_long_way(model), arguments)
    assert repr(arguments) == written


@_quick
@given(st.data())
def test_the_tool_receives_the_same_whichever_way_its_arguments_went(data: st.DataObject) -> None:
    model = data.draw(plain_models())
    arguments = data.draw(arguments_of(model))
    values = flat(model).flat(arguments)
    assume(values is not None)
    received: list[list[tuple[str, Any]]] = []
    act = a_tool(model, received)
    for args in (values, the_long_way(model).effective(arguments).values, arguments):
        act.invoke({"name": "act", "args": args, "id": "c", "type": "tool_call"})
    assert repr(received[0]) == repr(received[1]) == repr(received[2])


@_quick
@given(st.data())
def test_all_that_fits_a_plain_model_is_recognised(data: st.DataObject) -> None:
    """What has exactly the types of the fields, and everything that is required."""
    model = data.draw(plain_models())
    arguments: dict[str, Any] = {}
    for name, field in data.draw(st.permutations(list(model.model_fields.items()))):
        assert field.annotation is not None
        if field.is_required() or data.draw(st.booleans()):
            arguments[name] = data.draw(st.sampled_from(KINDS[field.annotation]))
    assert flat(model).flat(arguments) is not None


def test_a_functions_own_schema_is_plain() -> None:
    @tool
    def search(query: str, limit: int = 10, exact: bool = False) -> str:
        """Search.

        Args:
            query: What for.
            limit: How many.
            exact: Whether to the letter.
        """
        return query

    schema = ArgumentSchema(search)
    assert schema.flat({"query": "a"}) == {"query": "a", "limit": 10, "exact": False}
    whole = {"query": "a", "limit": 1, "exact": True}
    assert schema.flat(whole) is whole
    assert schema.effective(whole).flat


def test_a_model_without_fields_takes_nothing() -> None:
    class Nothing(BaseModel):
        pass

    assert flat(Nothing).flat({}) == {}
    assert flat(Nothing).flat({"n": 1}) is None


# --- arguments of which only validation can tell -----------------------------------------------------


class Plain(BaseModel):
    n: int
    note: str = "-"
    flag: bool = False


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"note": "a"},
        {"n": True},
        {"n": "5"},
        {"n": 5.0},
        {"n": None},
        {"n": Number.ONE},
        {"n": 2**63},
        {"n": -(2**63) - 1},
        {"n": 1, "flag": 1},
        {"n": 1, "flag": "true"},
        {"n": 1, "note": "é"},
        {"n": 1, "note": "\ud800"},
        {"n": 1, "note": Text("a")},
        {"n": 1, "note": "a" * (MAX_CHARACTERS // 6 + 1)},
        {"n": 1, "more": 1},
        {"n": 1, "N": 1},
        {Text("n"): 1},
        {"n": 1, 1: 1},
        [("n", 1)],
        '{"n": 1}',
        None,
    ],
    ids=lambda value: repr(value)[:40],
)
def test_arguments_that_are_not_plainly_right_go_the_long_way(arguments: Any) -> None:
    assert flat(Plain).flat({"n": 1}) == {"n": 1, "note": "-", "flag": False}
    assert flat(Plain).flat(arguments) is None
    assert said(flat(Plain), arguments) == said(the_long_way(Plain), arguments)


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 0])
def test_integers_of_64_bits_are_plain(number: int) -> None:
    assert flat(Plain).flat({"n": number, "note": "", "flag": True}) == {"n": number, "note": "", "flag": True}


def test_long_texts_are_plain_as_long_as_all_fields_together_stay_within_what_is_judged() -> None:
    class Texts(BaseModel):
        a: str
        b: str

    longest = {"a": "x" * (MAX_CHARACTERS // 4), "b": "x" * (MAX_CHARACTERS // 4)}
    assert flat(Texts).flat(longest) is longest
    assert said(flat(Texts), longest) == said(the_long_way(Texts), longest) != "refused"
    too_long = {"a": "x" * MAX_CHARACTERS, "b": "x"}
    assert flat(Texts).flat(too_long) is None
    assert said(flat(Texts), too_long) == "refused"


# --- models that do more than to hold values -----------------------------------------------------------


class Mixin:
    def helps(self) -> str:
        return "helped"


class Meta(type(BaseModel)):  # type: ignore[misc]
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)


class Metaclass(BaseModel, metaclass=Meta):
    n: int


class WithMixin(Mixin, BaseModel):
    n: int


class BeforeField(BaseModel):
    n: int

    @field_validator("n", mode="before")
    @classmethod
    def _doubled(cls, value: Any) -> Any:
        return value * 2


class AfterField(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def _even(cls, value: int) -> int:
        return value + value % 2


class BeforeModel(BaseModel):
    n: int

    @model_validator(mode="before")
    @classmethod
    def _other(cls, values: Any) -> Any:
        return {**values, "n": 7}


class AfterModel(BaseModel):
    n: int

    @model_validator(mode="after")
    def _other(self) -> AfterModel:
        self.n = 7
        return self


class OfAValidatedBase(AfterField):
    more: int = 0


class FieldWritten(BaseModel):
    n: int

    @field_serializer("n")
    def _text(self, value: int) -> str:
        return f"{value}"


class ModelWritten(BaseModel):
    n: int

    @model_serializer
    def _text(self) -> dict[str, Any]:
        return {"n": 7}


class Computed(BaseModel):
    n: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return self.n * 2


class Cached(BaseModel):
    n: int

    @cached_property
    def double(self) -> int:
        return self.n * 2


class PostInit(BaseModel):
    n: int

    def model_post_init(self, context: Any, /) -> None:
        self.n += 1


class OwnInit(BaseModel):
    n: int

    def __init__(self, **values: Any) -> None:
        super().__init__(**{**values, "n": 7})


class OwnGetattribute(BaseModel):
    n: int

    def __getattribute__(self, name: str) -> Any:
        return 7 if name == "n" else super().__getattribute__(name)


class OwnValidate(BaseModel):
    n: int

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> OwnValidate:
        return super().model_validate({**obj, "n": 7}, **options)


class OwnDump(BaseModel):
    n: int

    def model_dump(self, **options: Any) -> dict[str, Any]:
        return {**super().model_dump(**options), "n": 7}


class OwnSchema(BaseModel):
    n: int

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return handler(source)


class Private(BaseModel):
    n: int
    _seen: list[int] = PrivateAttr(default_factory=list)


class OfAGeneric(BaseModel, Generic[T]):
    n: T


class RootOfInt(RootModel[int]):
    pass


class NotInherited(BaseModel):
    n: int


NotInherited.model_dump = partial(BaseModel.model_dump)  # type: ignore[method-assign]


class Version1(BaseModelV1):
    n: int


class Kind(Enum):
    A = "a"


def configured(**config: Any) -> type[BaseModel]:
    return create_model("Configured", __config__=cast(ConfigDict, config), n=(int, ...), note=(str, "-"))


def field_of(annotation: Any, default: Any = ...) -> type[BaseModel]:
    return create_model("OneField", n=(annotation, default))


def same(value: Any) -> Any:
    return value


MORE_THAN_VALUES: Mapping[str, Callable[[], Any]] = {
    "a validator before a field": lambda: BeforeField,
    "a validator after a field": lambda: AfterField,
    "a validator before the model": lambda: BeforeModel,
    "a validator after the model": lambda: AfterModel,
    "a subclass of a validated model": lambda: OfAValidatedBase,
    "a field that is written otherwise": lambda: FieldWritten,
    "a model that is written otherwise": lambda: ModelWritten,
    "a computed field": lambda: Computed,
    "a cached property": lambda: Cached,
    "model_post_init": lambda: PostInit,
    "its own __init__": lambda: OwnInit,
    "its own __getattribute__": lambda: OwnGetattribute,
    "its own model_validate": lambda: OwnValidate,
    "its own model_dump": lambda: OwnDump,
    "a model_dump that is no function": lambda: NotInherited,
    "its own core schema": lambda: OwnSchema,
    "private attributes": lambda: Private,
    "a base that is no model": lambda: WithMixin,
    "a metaclass": lambda: Metaclass,
    "a generic model": lambda: OfAGeneric[int],
    "a root model": lambda: RootOfInt,
    "a model of pydantic's first version": lambda: Version1,
    "texts stripped": lambda: configured(str_strip_whitespace=True),
    "texts in lower case": lambda: configured(str_to_lower=True),
    "texts of a length": lambda: configured(str_max_length=3),
    "strict": lambda: configured(strict=True),
    "extra keys refused": lambda: configured(extra="forbid"),
    "extra keys kept": lambda: configured(extra="allow"),
    "extra keys ignored": lambda: configured(extra="ignore"),
    "frozen": lambda: configured(frozen=True),
    "defaults validated": lambda: configured(validate_default=True),
    "read from attributes": lambda: configured(from_attributes=True),
    "numbers taken for texts": lambda: configured(coerce_numbers_to_str=True),
    "generated aliases": lambda: configured(alias_generator=str.upper),
    "an alias": lambda: field_of(int, Field(alias="number")),
    "an alias for reading": lambda: field_of(int, Field(validation_alias="number")),
    "an alias for writing": lambda: field_of(int, Field(serialization_alias="number")),
    "a frozen field": lambda: field_of(int, Field(frozen=True)),
    "a field left out": lambda: field_of(int, Field(exclude=True)),
    "a lower bound": lambda: field_of(int, Field(gt=0)),
    "a length": lambda: field_of(str, Field(max_length=3)),
    "a pattern": lambda: field_of(str, Field(pattern="^a")),
    "a strict field": lambda: field_of(Annotated[int, Strict()]),
    "constraints": lambda: field_of(Annotated[str, StringConstraints(strip_whitespace=True)]),
    "a function before": lambda: field_of(Annotated[int, BeforeValidator(same)]),
    "a function after": lambda: field_of(Annotated[int, AfterValidator(same)]),
    "a function that writes": lambda: field_of(Annotated[int, PlainSerializer(same)]),
    "a factory of defaults": lambda: field_of(int, Field(default_factory=int)),
    "a validated default": lambda: field_of(int, Field(5, validate_default=True)),
    "a default of another type": lambda: field_of(int, "5"),
    "a default of a subclass": lambda: field_of(str, Text("a")),
    "a bool as the default of an integer": lambda: field_of(int, True),
    "None as the default of a text": lambda: field_of(str, None),
    "a default beyond 64 bits": lambda: field_of(int, 2**63),
    "a default that no text can carry": lambda: field_of(str, "\ud800"),
    "a default that is not ASCII": lambda: field_of(str, "é"),
    "a default longer than what is judged": lambda: field_of(str, "x" * (MAX_CHARACTERS + 1)),
    "a name that is not ASCII": lambda: create_model("Named", é=(int, 0)),
    "a choice": lambda: field_of(Literal["a"]),
    "an enumeration": lambda: field_of(Kind),
    "an optional": lambda: field_of(Optional[int], None),  # noqa: UP045
    "a union": lambda: field_of(int | str),
    "a list": lambda: field_of(list[int]),
    "an object": lambda: field_of(dict[str, int]),
    "a model": lambda: field_of(Plain),
    "a float": lambda: field_of(float),
    "bytes": lambda: field_of(bytes),
    "anything": lambda: field_of(Any),
    "a field named args": lambda: create_model("Variadic", args=(int, 0)),
    "a field named kwargs": lambda: create_model("Variadic", kwargs=(int, 0)),
    "an injected field": lambda: create_model("Injected", n=(Annotated[int, InjectedToolArg], 0), note=(str, "-")),
    "an injected call id": lambda: create_model("Injected", n=(Annotated[str, InjectedToolCallId], ...)),
    "a field that LangGraph fills in": lambda: create_model("Injected", n=(int, 0), runtime=(str, "-")),
}
"""Models beside the plainest one, each with one thing more; some of these would do no harm."""

SOME: tuple[dict[str, Any], ...] = (
    {},
    {"n": 1},
    {"n": "a"},
    {"n": 1, "note": " A "},
    {"n": 1, "more": 2},
    {"number": 1},
    {"N": 1, "NOTE": "a"},
    {"n": "abcd"},
    {"n": True},
    {"args": 1},
    {"kwargs": 1},
    {"n": 1, "runtime": "x"},
)


@pytest.mark.parametrize("name", MORE_THAN_VALUES)
def test_a_model_that_does_more_than_to_hold_values_goes_the_long_way(name: str) -> None:
    model = MORE_THAN_VALUES[name]()
    schema = flat(model)
    assert [schema.flat(arguments) for arguments in SOME] == [None] * len(SOME)
    assert [said(schema, arguments) for arguments in SOME] == [said(the_long_way(model), one) for one in SOME]


def test_the_controls_of_these_models_are_plain() -> None:
    """What the models above are, without the one thing that each has more."""

    class Attributes(BaseModel):
        shared: ClassVar[int] = 5
        n: int

    class Further(Plain):
        more: int = 1

    for model in (Plain, Attributes, Further, field_of(int), field_of(int, 5), field_of(str, "a"), configured()):
        assert FlatArguments.of(model) is not None
    assert flat(Further).flat({"n": 1}) == {"n": 1, "note": "-", "flag": False, "more": 1}


def test_a_model_that_is_completed_late_is_recognised_as_what_it_then_is() -> None:
    class Late(BaseModel):
        model_config = ConfigDict(defer_build=True)
        n: int

    schema = flat(Late)
    assert said(schema, {"n": 1}) == said(the_long_way(Late), {"n": 1}) == "[('n', 1)], exact=True"


def test_a_default_is_not_shared_between_calls() -> None:
    schema = flat(Plain)
    first = schema.flat({"n": 1})
    assert first is not None
    first["note"] = "changed"
    assert schema.flat({"n": 1}) == {"n": 1, "note": "-", "flag": False}

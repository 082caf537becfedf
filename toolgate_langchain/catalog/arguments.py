"""The effective arguments of a call: what validation makes of the model's words.

The tool itself validates again when it runs. What a person is shown, what a rule remembers and what
a deny matches must be the value that the tool will see, or `"5"` slips past a deny on `5`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import AliasChoices, BaseModel, ValidationError, create_model
from pydantic.v1 import BaseModel as BaseModelV1
from pydantic.v1 import ValidationError as ValidationErrorV1

from toolgate_langchain.canonical import canonical_json, check_plain, copy_plain
from toolgate_langchain.catalog.flat import FlatArguments
from toolgate_langchain.catalog.injected import injected_names
from toolgate_langchain.catalog.json_schema import JsonSchemaValidator
from toolgate_langchain.errors import InvalidArgumentsError

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

__all__ = ["ArgumentSchema", "EffectiveArguments", "unchecked_arguments"]


@dataclass(frozen=True, slots=True)
class EffectiveArguments:
    """The arguments of one call as they are shown, matched, hashed and run."""

    values: dict[str, Any]
    """Plain JSON values."""

    exact: bool = True
    """Whether validating the values again gives the same. If not, the tool runs on the model's own
    arguments, the request says so, and exact arguments cannot be remembered."""

    flat: bool = field(default=False, compare=False)
    """Whether nothing in the values can be changed in place, so that nobody needs a copy of them."""


class _Validator(Protocol):
    def __call__(self, arguments: dict[str, Any]) -> EffectiveArguments: ...


class ArgumentSchema:
    """How the arguments of one tool are validated, built once per tool.

    Raises:
        MissingExtraError: When built for a tool with a plain JSON Schema and jsonschema is not
            installed; a schema that cannot be checked must not pass for one that was.
        InvalidArgumentsError: When built for a tool whose JSON Schema is itself invalid.
    """

    def __init__(self, tool: BaseTool) -> None:
        self._tool_name = tool.name
        self._tool = tool
        self.injected = injected_names(tool)
        schema = tool.args_schema
        self._validate: _Validator
        self._flat: FlatArguments | None = None
        if schema is None:
            self._validate = _as_given
        elif isinstance(schema, dict):
            self._validate = _JsonSchemaArguments(schema)
        elif issubclass(schema, BaseModelV1):
            self._validate = _PydanticV1Validator(schema, self.injected)
        else:
            self._validate = _PydanticValidator(schema, self.injected)
            if self.injected.isdisjoint(schema.model_fields):
                self._flat = FlatArguments.of(schema)

    @cached_property
    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema that the model is shown, without injected fields."""
        schema = self._tool.tool_call_schema
        if isinstance(schema, dict):
            return schema
        if issubclass(schema, BaseModelV1):
            return schema.schema()
        return schema.model_json_schema()

    def flat(self, arguments: Any) -> dict[str, Any] | None:
        """The effective arguments where it is plain that validation changes nothing; else `None`.

        Args:
            arguments: The `args` of a tool call, in whatever shape they arrived.

        Returns:
            The very same object where nothing was left out.
        """
        return self._flat(arguments) if self._flat is not None and type(arguments) is dict else None

    def effective(self, arguments: Any) -> EffectiveArguments:
        """Validate the model's arguments as the tool will.

        Args:
            arguments: The `args` of a tool call, in whatever shape they arrived.

        Raises:
            InvalidArgumentsError: If they do not fit, name an injected field, or cannot be carried
                exactly. The message is fit for the model.
        """
        values = self.flat(arguments)
        if values is not None:
            return EffectiveArguments(values, flat=True)
        unchecked_arguments(arguments)
        supplied = self.injected.intersection(arguments)
        if supplied:
            raise InvalidArgumentsError(f"{', '.join(sorted(supplied))}: not yours to supply")
        try:
            return self._validate(arguments)
        except InvalidArgumentsError:
            raise
        except Exception as error:  # a validator of the tool's own may raise anything
            raise InvalidArgumentsError(f"the arguments could not be validated: {error}") from error


def unchecked_arguments(arguments: Any) -> EffectiveArguments:
    """The arguments of a call as the model wrote them, where there is no schema to check them against.

    Raises:
        InvalidArgumentsError: If they are no object, or cannot be carried exactly.
    """
    if type(arguments) is not dict:
        raise InvalidArgumentsError(f"the arguments are not an object but {type(arguments).__name__}")
    check_plain(arguments)
    return EffectiveArguments(arguments)


def _as_given(arguments: dict[str, Any]) -> EffectiveArguments:
    return EffectiveArguments(arguments)


class _JsonSchemaArguments:
    """Checks arguments against a plain JSON Schema, and leaves them as they are."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._validator = JsonSchemaValidator(schema)

    def __call__(self, arguments: dict[str, Any]) -> EffectiveArguments:
        self._validator.check(arguments)
        return EffectiveArguments(arguments)


class _PydanticValidator:
    """Validates with the tool's own model, its injected fields made optional and left out again."""

    def __init__(self, schema: type[BaseModel], injected: frozenset[str]) -> None:
        if not schema.__pydantic_complete__:
            schema.model_rebuild()
        # A subclass keeps validators, aliases, defaults and config; `tool_call_schema` drops some.
        fields: Any = {name: (Any, None) for name in injected if name in schema.model_fields}
        self._model = create_model(f"{schema.__name__}Call", __base__=schema, **fields) if fields else schema
        # Computed fields are results, not arguments; nobody supplies them.
        self._injected, self._left_out = injected, {*injected, *schema.model_computed_fields}
        self._keys = {name: self._input_key(name) for name in self._model.model_fields if name not in injected}
        self._variadic = {"args", "kwargs"} & {
            name for name, field in self._model.model_fields.items() if not field.is_required()
        }

    def _input_key(self, name: str) -> str:
        """The key under which the tool's own validation accepts this field."""
        field, config = self._model.model_fields[name], self._model.model_config
        alias = field.validation_alias
        if alias is None or config.get("populate_by_name") or config.get("validate_by_name"):
            return name
        if isinstance(alias, AliasChoices):
            alias = next((choice for choice in alias.choices if isinstance(choice, str)), name)
        return alias if isinstance(alias, str) else name

    def __call__(self, arguments: dict[str, Any]) -> EffectiveArguments:
        try:
            # Copies: a validator may change what it is given, and that is the model's own message.
            first = self._model.model_validate(copy_plain(arguments))
        except ValidationError as error:
            raise InvalidArgumentsError(_in_words(error)) from error
        values = arguments
        try:
            values = self._dump(first)
            if repr(values) == repr(arguments):
                # Validation changed nothing, so validating the dump again would be doing the same twice.
                return EffectiveArguments(arguments)
            check_plain(values)
            again = self._model.model_validate(copy_plain(values))
            same = self._fields(again) == self._fields(first) and repr(self._dump(again)) == repr(values)
        except Exception:  # the dump does not come back: secret types, one-way validators
            same = False
        return EffectiveArguments(values if same else arguments, exact=same)

    def _dump(self, validated: BaseModel) -> dict[str, Any]:
        dumped = self._dump_nested_by_alias(validated) if self._has_aliases else self._by_name(validated)
        if self._has_sets:
            values = validated.model_dump(exclude=self._left_out, warnings=False)
            dumped = {name: _in_order(item, values[name]) for name, item in dumped.items()}
        unset = self._variadic - validated.model_fields_set
        return {self._keys.get(name, name): item for name, item in dumped.items() if name not in unset}

    @cached_property
    def _has_aliases(self) -> bool:
        # Looked up in the compiled schema, so that aliases of nested models are seen as well.
        return "alias" in str(self._model.__pydantic_core_schema__)

    @cached_property
    def _has_sets(self) -> bool:
        return "set'" in str(self._model.__pydantic_core_schema__)

    def _by_name(self, validated: BaseModel) -> dict[str, Any]:
        return validated.model_dump(mode="json", exclude=self._left_out, warnings=False)

    def _dump_nested_by_alias(self, validated: BaseModel) -> dict[str, Any]:
        # Nested models are written by alias, which is how they are read; the outermost keys are
        # put back to names, because a serialisation alias can differ from the validation alias.
        by_alias = validated.model_dump(mode="json", by_alias=True, exclude=self._left_out, warnings=False)
        return dict(zip(self._by_name(validated), by_alias.values(), strict=True))

    def _fields(self, validated: BaseModel) -> tuple[dict[str, Any], dict[str, Any]]:
        own = {name: item for name, item in validated.__dict__.items() if name not in self._injected}
        return own, validated.__pydantic_extra__ or {}


class _PydanticV1Validator:
    """The same for models of pydantic's first version, which LangChain still accepts."""

    def __init__(self, schema: type[BaseModelV1], injected: frozenset[str]) -> None:
        self._model, self._injected = schema, injected

    def __call__(self, arguments: dict[str, Any]) -> EffectiveArguments:
        try:
            self._model.parse_obj(copy_plain(arguments))
        except ValidationErrorV1 as error:
            raise InvalidArgumentsError(str(error)) from error
        # That version has no dump to JSON values that its own validation is known to accept again.
        return EffectiveArguments(arguments, exact=False)


def _in_order(plain: Any, value: Any) -> Any:
    """A dumped value with its sets in a fixed order; their own differs from process to process."""
    if isinstance(value, set | frozenset) and isinstance(plain, list):
        return sorted(plain, key=canonical_json)
    if isinstance(value, Mapping) and isinstance(plain, dict):
        return {key: _in_order(item, own) for (key, item), own in zip(plain.items(), value.values(), strict=True)}
    if isinstance(value, list | tuple) and isinstance(plain, list):
        return [_in_order(item, own) for item, own in zip(plain, value, strict=True)]
    return plain


def _in_words(error: ValidationError) -> str:
    """Pydantic's findings without the input values, which may be large or secret."""
    findings = error.errors(include_url=False, include_input=False, include_context=False)
    shown = [
        f"{'.'.join(str(step) for step in finding['loc']) or 'arguments'}: {finding['msg']}" for finding in findings[:5]
    ]
    return "; ".join(shown)

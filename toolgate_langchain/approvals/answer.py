"""What a person said to one request, and how an answer in plain JSON is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, Strict, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from toolgate_langchain.approvals.identity import readable_identity
from toolgate_langchain.approvals.rules import Scope
from toolgate_langchain.approvals.screens import translated
from toolgate_langchain.approvals.unknown import OutcomeAnswer
from toolgate_langchain.canonical import check_plain
from toolgate_langchain.catalog.profile import STRICT
from toolgate_langchain.errors import InvalidAnswerError, NotPlainJsonError
from toolgate_langchain.policy.approval_rule import AnswerType

if TYPE_CHECKING:
    from toolgate_langchain.approvals.request import ApprovalRequest

__all__ = ["AnswerType", "ApprovalAnswer", "Remember", "read_answer"]


@dataclass(frozen=True, config=STRICT)
class Remember:
    """What an answer asks to be remembered.

    Args:
        what: `"arguments"` for exactly this call, `"tool"` for any call of the tool.
        scope: `"thread"` for this conversation, `"run"` until the agent ends, `"user"` for all conversations
            of the user for whom the run runs.
        expires_in: Seconds after which the rule runs out; `None` for never.
    """

    what: Literal["arguments", "tool"]
    scope: Scope = "thread"
    expires_in: Annotated[float | None, Field(gt=0, le=10 * 365 * 86_400), Strict(False)] = None


@dataclass(frozen=True, kw_only=True, config=ConfigDict(**STRICT))
class ApprovalAnswer:
    """What a person said to one request.

    Raises:
        pydantic.ValidationError: (a `ValueError`) if a field is missing for its type or does not
            belong to it.
    """

    request_id: str | None = None
    """The request that this answers. Only a lenient gate takes an answer without."""

    type: AnswerType | OutcomeAnswer
    message: str | None = None
    """The reason of a `reject`, the text of a `respond` that becomes the result, or what is known of an outcome."""

    edited_arguments: dict[str, Any] | None = None
    """For `edit`: the arguments to run instead."""

    edited_name: str | None = None
    """For `edit`: the tool; it must be the tool that was asked about."""

    input: dict[str, Any] | None = None
    """For `approve` of a tool with typed input: the fields that the person filled in."""

    remember: Remember | None = None
    """Make a standing rule: an allow with `approve`, a deny with `reject`."""

    by: Annotated[str | None, BeforeValidator(readable_identity)] = None
    """Who answered; `None` for nobody. What cannot be read as an identity is nobody."""

    @model_validator(mode="after")
    def _fits_its_type(self) -> ApprovalAnswer:
        if self.type == "edit" and self.edited_arguments is None:
            raise ValueError('an "edit" needs "edited_action": {"name": ..., "args": {...}}')
        if self.type == "respond" and self.message is None:
            raise ValueError('a "respond" needs a "message", the text that becomes the result')
        if self.type != "edit" and (self.edited_arguments is not None or self.edited_name is not None):
            raise ValueError(f'"edited_action" does not belong to "{self.type}"')
        if self.type != "approve" and self.input is not None:
            raise ValueError(f'"input" does not belong to "{self.type}"')
        if self.remember is not None and self.type not in ("approve", "reject"):
            raise ValueError(f'"remember" counts with a plain "approve" or a "reject", not with "{self.type}"')
        if self.remember is not None and self.input is not None:
            raise ValueError('"remember" does not go with typed input, which a person gives each time')
        return self

    def to_json(self) -> dict[str, Any]:
        """The form in which an answer travels through `Command(resume=...)`."""
        plain: dict[str, Any] = {"type": self.type, "request_id": self.request_id}
        if self.message is not None:
            plain["message"] = self.message
        if self.edited_arguments is not None:
            plain["edited_action"] = {"name": self.edited_name, "args": self.edited_arguments}
        if self.input is not None:
            plain["input"] = self.input
        if self.remember is not None:
            remember = self.remember
            plain["remember"] = {
                "what": remember.what,
                "scope": remember.scope,
                "expires_in": remember.expires_in,
            }
        if self.by is not None:
            plain["by"] = self.by
        return plain


_REMEMBER_KEYS = ("what", "scope", "expires_in")
_KEYS = {"type", "request_id", "message", "edited_action", "input", "remember", "by"}
_TYPES: Final = (*get_args(AnswerType), *get_args(OutcomeAnswer))


def read_answer(value: Any, request: ApprovalRequest | None = None) -> ApprovalAnswer:
    """Read an answer from plain JSON: `{"decisions": [d]}`, a bare `d`, or what other screens send.

    Args:
        value: What the screen sent, in whatever shape.
        request: What it was shown, where that is known; some screens say in their answer what they showed.

    Raises:
        InvalidAnswerError: If it is not exactly one decision in a known shape. Nothing is guessed:
            `true`, `1`, `"yes"` and `{"type": "APPROVE"}` are not approvals.
    """
    if isinstance(value, ApprovalAnswer):
        return value
    try:
        check_plain(value, where="answer")
    except NotPlainJsonError as error:
        raise InvalidAnswerError(f"the answer cannot be read: {error}") from error
    value = translated(value, request)
    if isinstance(value, dict) and "decisions" in value:
        decisions = value["decisions"]
        if set(value) != {"decisions"} or not isinstance(decisions, list) or len(decisions) != 1:
            raise InvalidAnswerError('the answer must hold exactly one decision: {"decisions": [{...}]}')
        value = decisions[0]
    if not isinstance(value, dict):
        raise InvalidAnswerError(
            'the answer must be an object such as {"type": "approve", "request_id": "..."}, '
            f"not {type(value).__name__}"
        )
    if unknown := sorted(set(value) - _KEYS):
        raise InvalidAnswerError(f"unknown fields in the answer: {', '.join(unknown)[:200]}")
    kind = value.get("type")
    if kind not in _TYPES:
        given_type = (
            f"is {kind[:64]!r}" if isinstance(kind, str) else "is not a text" if "type" in value else "is missing"
        )
        raise InvalidAnswerError(
            f'"type" {given_type}; it must be one of {", ".join(get_args(AnswerType))}, or, where the outcome of a '
            f"call is asked for, {', '.join(get_args(OutcomeAnswer))}"
        )
    plain = {key: item for key, item in value.items() if key not in ("edited_action", "remember")}
    try:
        if "edited_action" in value:
            plain["edited_name"], plain["edited_arguments"] = _edited_action(value["edited_action"])
        if value.get("remember") is not None:
            given = value["remember"]
            if not isinstance(given, str | dict) or any(
                key not in _REMEMBER_KEYS for key in given if isinstance(given, dict)
            ):
                raise InvalidAnswerError('"remember" is "arguments", "tool", or {"what", "scope", "expires_in"}')
            if isinstance(given, str) and given not in ("arguments", "tool"):
                raise InvalidAnswerError(f'"remember" is "arguments" or "tool", not {given[:64]!r}')
            plain["remember"] = Remember(given) if isinstance(given, str) else Remember(**given)  # type: ignore[arg-type]
        return ApprovalAnswer(**plain)
    except ValidationError as error:
        findings = error.errors(include_url=False, include_input=False, include_context=False)
        told = "; ".join(
            f"{'.'.join(map(str, finding['loc'])) or 'answer'}: {finding['msg']}" for finding in findings[:5]
        )
        raise InvalidAnswerError(told) from error


def _edited_action(action: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(action, Mapping) or set(action) != {"name", "args"}:
        raise InvalidAnswerError('"edited_action" must be {"name": ..., "args": {...}}')
    name, arguments = action["name"], action["args"]
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise InvalidAnswerError('"edited_action" needs a string "name" and an object "args"')
    return name, arguments

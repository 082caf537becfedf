"""What an answer changes in the arguments of a call: an edit, or the input that a person fills in."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.catalog.json_schema import JsonSchemaValidator
from toolgate_langchain.errors import InvalidAnswerError, InvalidArgumentsError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.turn import CallRecord
    from toolgate_langchain.catalog.entry import CatalogEntry

__all__ = ["changed_arguments"]


def changed_arguments(
    call: CallRecord,
    arguments: Mapping[str, Any],
    answer: ApprovalAnswer,
    request: ApprovalRequest,
    entry: CatalogEntry | None,
) -> dict[str, Any] | None:
    """The arguments that an edit or a typed input makes, or `None` for a plain approval.

    Args:
        call: The saved call.
        arguments: Its effective arguments.
        answer: An `edit` or an `approve`.
        request: What was asked.
        entry: The tool, where this process has met it.

    Raises:
        InvalidAnswerError: If the answer cannot be used; the message is for the person.
    """
    if answer.type == "edit":
        if answer.edited_name != call.name:
            raise InvalidAnswerError(
                f"an edit stays with the tool that was asked about, {call.name!r}, not {answer.edited_name!r}"
            )
        wanted = answer.edited_arguments or {}
    elif request.input_schema is not None:
        wanted = {**arguments, **_typed_input(answer.input, request.input_schema)}
    elif answer.input is not None:
        raise InvalidAnswerError("this tool takes no input from a person; use an edit to change arguments")
    else:
        return None
    try:
        wanted = _effective(call, wanted, entry)
    except InvalidArgumentsError as error:
        raise InvalidAnswerError(f"the arguments do not fit {call.name}: {error}") from error
    return None if canonical_json(wanted) == canonical_json(dict(arguments)) else wanted


def _effective(call: CallRecord, wanted: dict[str, Any], entry: CatalogEntry | None) -> dict[str, Any]:
    """What the tool's validation makes of arguments that a person wrote."""
    if entry is not None:
        return wanted if entry.arguments is None else entry.arguments.effective(wanted).values
    if call.args_schema is not None:
        # This process has not met the tool yet; its own validation follows where the call runs.
        with suppress(MissingExtraError):
            JsonSchemaValidator(call.args_schema).check(wanted)
    return wanted


def _typed_input(given: dict[str, Any] | None, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the schema that the person filled in; nothing else of the answer counts."""
    if given is None:
        raise InvalidAnswerError(f'this tool needs "input" with the fields {", ".join(schema["properties"])}')
    filled = {name: value for name, value in given.items() if name in schema["properties"]}
    try:
        JsonSchemaValidator({**schema, "additionalProperties": False}).check(filled)
    except InvalidArgumentsError as error:
        raise InvalidAnswerError(f"the input does not fit: {error}") from error
    return filled

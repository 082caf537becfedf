"""Reading and repairing the tool calls of a model's message."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolMessage

from toolgate_langchain.canonical import check_plain
from toolgate_langchain.catalog.arguments import unchecked_arguments
from toolgate_langchain.errors import InvalidArgumentsError, NotPlainJsonError
from toolgate_langchain.policy.decision import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "answered_after",
    "in_order",
    "last_ai_message",
    "result_after",
    "with_fresh_ids",
    "with_refused_invalid_calls",
    "without_unstorable_calls",
]


_MESSAGE_ID: Final = attrgetter("id")


def last_ai_message(messages: Sequence[BaseMessage]) -> AIMessage | None:
    """The last message of the model, or `None`."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message
    return None


def answered_after(messages: Sequence[BaseMessage], message: AIMessage) -> set[str]:
    """The ids of the calls of the last model message that have their tool message already."""
    answered: set[str] = set()
    for one in reversed(messages):
        if one is message:
            break
        if isinstance(one, ToolMessage):
            answered.add(one.tool_call_id)
    return answered


def result_after(messages: Sequence[BaseMessage], call_id: str) -> ToolMessage | None:
    """The result that a call of the last model message has already, or `None`."""
    for one in reversed(messages):
        if isinstance(one, AIMessage):
            return None
        if isinstance(one, ToolMessage) and one.tool_call_id == call_id:
            return one
    return None


def in_order(message: AIMessage, before: Sequence[BaseMessage]) -> bool:
    """Whether a message with calls can be kept as it is, which nearly all can.

    Args:
        message: The model's message.
        before: The messages that are there already.
    """
    if message.invalid_tool_calls or not message.id:
        return False
    seen: set[str] = set()
    try:
        for call in message.tool_calls:
            call_id, args = call["id"], call["args"]
            if not call_id or call_id in seen or type(args) is not dict:
                return False
            check_plain(args)
            seen.add(call_id)
    except NotPlainJsonError:
        return False
    return message.id not in map(_MESSAGE_ID, before)


def with_fresh_ids(message: AIMessage, new_id: Callable[[], str], before: Sequence[BaseMessage] = ()) -> AIMessage:
    """The message with an id of its own and an id for every call that has none or repeats one.

    Answers, results and grants are bound to call ids. A model that leaves them out, or uses one
    twice in a turn, must not get one call's answer applied to another. A reply that comes again (as
    from a cache) gets a fresh message id: with the old one it would take the place of the earlier
    message, and the results of its calls would stand for calls that never ran.

    Args:
        message: The model's message.
        new_id: Gives random ids.
        before: The messages that are there already.

    Returns:
        The same object where nothing had to be changed.
    """
    seen: set[str] = set()
    fresh: list[str] = []
    for call in message.tool_calls:
        given = call["id"]
        kept = given if given and given not in seen else f"call_{new_id()}"
        seen.add(kept)
        fresh.append(kept)
    changed = any(call["id"] != kept for call, kept in zip(message.tool_calls, fresh, strict=True))
    known = bool(message.id) and message.id not in [one.id for one in before]
    if known and not changed:
        return message
    update: dict[str, Any] = {} if known else {"id": f"lc_{new_id()}"}
    if changed:
        update["tool_calls"] = [{**call, "id": kept} for call, kept in zip(message.tool_calls, fresh, strict=True)]
        update["content"] = _content_with_ids(message.content, fresh)
        # The provider's raw form still holds the old ids; converters prefer `tool_calls`.
        update["additional_kwargs"] = {k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"}
    return message.model_copy(update=update)


def _content_with_ids(content: Any, ids: Sequence[str]) -> Any:
    """Content blocks that repeat the calls (Anthropic's `tool_use`), in the same order, with the same ids."""
    if not isinstance(content, list):
        return content
    remaining = iter(ids)
    blocks = []
    for block in content:
        if isinstance(block, dict) and block.get("type") in ("tool_use", "tool_call"):
            new = next(remaining, None)
            blocks.append({**block, "id": new} if new is not None else block)
        else:
            blocks.append(block)
    return blocks


_NOT_VALID: Final = "Its arguments are not valid: "


def without_unstorable_calls(message: AIMessage) -> AIMessage:
    """The message with every call whose arguments cannot be carried exactly made an invalid one.

    A checkpointer fails on such arguments, and the run with it, before anybody could refuse the call.

    Returns:
        The same object where nothing had to be changed.
    """
    faults: dict[int, str] = {}
    for position, call in enumerate(message.tool_calls):
        try:
            unchecked_arguments(call["args"])
        except InvalidArgumentsError as error:
            faults[position] = str(error)
    if not faults:
        return message
    kept = [call for position, call in enumerate(message.tool_calls) if position not in faults]
    refused = [
        InvalidToolCall(
            name=message.tool_calls[position]["name"],
            args="{}",
            id=message.tool_calls[position]["id"],
            error=f"{_NOT_VALID}{fault}",
            type="invalid_tool_call",
        )
        for position, fault in faults.items()
    ]
    update: dict[str, Any] = {
        "tool_calls": kept,
        "invalid_tool_calls": [*message.invalid_tool_calls, *refused],
        "content": _without_inputs(message.content, {call["id"] for call in refused}),
        "additional_kwargs": {k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"},
    }
    return message.model_copy(update=update)


def _without_inputs(content: Any, ids: set[str | None]) -> Any:
    """Content blocks that repeat the calls of these ids, with nothing as their input."""
    if not isinstance(content, list):
        return content
    return [
        {**block, **{key: {} for key in ("input", "args") if key in block}}
        if isinstance(block, dict) and block.get("type") in ("tool_use", "tool_call") and block.get("id") in ids
        else block
        for block in content
    ]


def with_refused_invalid_calls(message: AIMessage) -> list[BaseMessage]:
    """A message with calls that cannot be read, followed by an error result for each of them."""
    results: list[BaseMessage] = []
    calls = []
    taken = {call["id"] for call in message.tool_calls}
    for position, call in enumerate(message.invalid_tool_calls):
        given, error = call.get("id"), str(call.get("error") or "")
        call_id = given if given and given not in taken else f"invalid_{message.id or 'call'}_{position}"
        name = call.get("name") or "unknown"
        calls.append({**call, "id": call_id, "name": name})
        why = (
            error if error.startswith(_NOT_VALID) else "Its arguments could not be read; write them as one JSON object."
        )
        text = f"The call of {name!r} was not executed. {why}"
        mark = {"toolgate": {"code": Code.INVALID_ARGUMENTS}}
        results.append(ToolMessage(text, name=name, tool_call_id=call_id, status="error", artifact=mark))
    return [message.model_copy(update={"invalid_tool_calls": calls}), *results]

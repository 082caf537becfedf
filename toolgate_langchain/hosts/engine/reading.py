"""What a message holds, as flow reads it: its text, its structure, whose it is, and a digest that it is known by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from toolgate_langchain.canonical import check_plain, digest
from toolgate_langchain.errors import NotPlainJsonError
from toolgate_langchain.policy.decision import Code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "from_the_gate",
    "input_of_run",
    "message_digest",
    "server_side",
    "structure_of",
    "texts_in",
    "words_in_place",
]

_OWN_BLOCKS: Final = frozenset(
    {"text", "tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta", "thinking"}
    | {"redacted_thinking", "reasoning", "refusal", "image", "audio"}
)
"""Content that a model writes itself. Whatever else stands in its message was put there by the provider."""

_LONGEST_JSON: Final = 1_000_000
"""Characters of a result that are read as JSON; a longer one has no structure, and so vouches for nothing in it."""


def message_digest(message: BaseMessage) -> str:
    """What tells a message from any other, also from one of the same id with other content."""
    call_id = message.tool_call_id if isinstance(message, ToolMessage) else ""
    artifact = message.artifact if isinstance(message, ToolMessage) else None
    try:
        return digest("toolgate:read:1", message.type, call_id, message.content, artifact)
    except NotPlainJsonError:
        return digest("toolgate:read:1:unreadable", message.type, call_id, repr(message.content))


def structure_of(message: ToolMessage) -> Any:
    """A result as plain JSON: its artifact, or its text where that is JSON; `None` where it has no structure."""
    artifact = message.artifact
    if isinstance(artifact, Mapping) and set(artifact) == {"structured_content"}:  # as the MCP adapters give it
        artifact = artifact["structured_content"]
    if artifact is None:
        text = str(message.text)
        if len(text) > _LONGEST_JSON or text[:1] not in ("{", "["):
            return None
        try:
            artifact = json.loads(text)
        except (ValueError, RecursionError):
            return None
    try:
        check_plain(artifact)
    except NotPlainJsonError:
        return None
    return artifact if isinstance(artifact, dict | list) else None


def from_the_gate(message: ToolMessage) -> bool:
    """Whether a message is the gate's own, in place of a result."""
    artifact = message.artifact
    return isinstance(artifact, Mapping) and isinstance(artifact.get("toolgate"), Mapping)


def words_in_place(message: ToolMessage) -> bool:
    """Whether a message is what a person wrote in the place of a tool's result."""
    return from_the_gate(message) and message.artifact["toolgate"].get("code") == Code.RESPONDED


def server_side(message: AIMessage) -> str:
    """What the provider's own tools put into a model's message, as text; empty where there is nothing."""
    found: list[Any] = (
        [message.additional_kwargs["tool_outputs"]] if "tool_outputs" in message.additional_kwargs else []
    )
    for block in message.content if isinstance(message.content, list) else ():
        if not isinstance(block, dict):
            continue
        cited = block.get("annotations") or block.get("citations")
        if block.get("type") not in _OWN_BLOCKS or cited:
            found.append(block)
    return "" if not found else json.dumps(found, ensure_ascii=False, default=str)


def input_of_run(messages: Sequence[BaseMessage]) -> list[HumanMessage]:
    """The person's own words among the messages that a run was started with, where it starts.

    They stand behind all that a model or a tool said. What stands in front of it is history, wherever it came from.

    Args:
        messages: The messages in the state.
    """
    words: list[HumanMessage] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            words.append(message)
        elif not isinstance(message, SystemMessage):
            break
    return words[::-1]


def texts_in(value: Any) -> Iterator[str]:
    """All texts in a plain JSON value, at any depth, in no order."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one

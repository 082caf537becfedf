"""What a tool gave back, before it goes on: nothing of the gate's state, and a notice where it was edited."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolCall, ToolMessage
from langgraph.types import Command

from toolgate_langchain.hosts.engine.refusal import with_notice
from toolgate_langchain.hosts.engine.run_state import CHANNELS
from toolgate_langchain.hosts.langgraph.internals import written_by

if TYPE_CHECKING:
    from toolgate_langchain.approvals.turn import CallRecord

__all__ = ["channels_written", "dropped", "finished", "own_result"]

logger = logging.getLogger("toolgate_langchain")


def own_result(call: ToolCall, result: Any) -> Any:
    """The result of a call, without what it would write into the gate's state.

    Args:
        call: The call.
        result: A tool message, a command, or a list of them.
    """
    if isinstance(result, list):
        return [own_result(call, one) for one in result]
    if isinstance(result, Command) and (written := channels_written(result)):
        return dropped(call, written)
    return result


def finished(call: ToolCall, record: CallRecord | None, result: Any) -> Any:
    """The result of a call as it goes into the state.

    Args:
        call: The call.
        record: What was saved of it.
        result: A tool message, a command, or a list of them.
    """
    result = own_result(call, result)
    if isinstance(result, list):
        return [finished(call, record, one) for one in result]
    if isinstance(result, Command) and record is not None and record.outcome == "edited":
        return _with_notice_inside(result, record)
    return with_notice(result, record)


def channels_written(command: Command[Any]) -> str:
    """The gate's channels that a command would write, by name; empty where it leaves them alone."""
    return ", ".join(sorted(CHANNELS & written_by(command)))


def dropped(call: ToolCall, written: str) -> ToolMessage:
    """What the model reads in place of a result that would have written the gate's state."""
    logger.error("tool %r tried to write the gate's state (%s); its result is dropped", call["name"], written)
    text = "The tool ran, but its result was dropped: it tried to write state that is not its own."
    return ToolMessage(text, name=call["name"], tool_call_id=str(call["id"]), status="error")


def _with_notice_inside(command: Command[Any], record: CallRecord) -> Command[Any]:
    """Put what ran instead in front of the result that a command of an edited call carries."""
    if not isinstance(command.update, Mapping):
        return command
    messages = [with_notice(message, record) for message in command.update.get("messages", ())]
    return replace(command, update={**command.update, "messages": messages}) if messages else command

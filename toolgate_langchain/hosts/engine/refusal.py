"""What the model reads in place of a result: a code and a safe sentence, never the rules behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage

from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.policy.decision import Code, what_the_model_is_told

if TYPE_CHECKING:
    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.turn import CallRecord

__all__ = ["refusal", "refused", "rejection", "reported", "response", "stopped", "with_notice", "withheld"]


def refusal(call_id: str, name: str, code: str, reason: str, *, message_id: str | None = None) -> ToolMessage:
    """The result of a call that was not executed, or of which nobody knows whether it was.

    Args:
        call_id: The call's id.
        name: The tool's name as the model wrote it.
        code: Why, as a code.
        reason: Why, for operators; the model sees it only where the fault is in its own arguments.
        message_id: An id derived from the request, so that a replay cannot write two messages.
    """
    became = "has no result" if code == Code.OUTCOME_UNKNOWN else "was not executed"
    text = f"The call of {name!r} {became}. {what_the_model_is_told(code, reason)}"
    return _message(call_id, name, text, code, status="error", message_id=message_id)


def stopped(refused: ToolMessage) -> ToolMessage:
    """The result of a call whose tool asked something that nobody can answer: what it did until then is done.

    Args:
        refused: Its refusal, which says that it was not executed.
    """
    text = f"The call of {refused.name!r} began and did not end: it asked a question, which nobody is there to answer."
    return refused.model_copy(update={"content": text})


def rejection(call: CallRecord) -> ToolMessage:
    """The result of a call that a person rejected."""
    if call.message:
        text = f"A person rejected the call of {call.name!r}. Nothing was executed. The reason: {call.message}"
    else:
        text = f"A person rejected the call of {call.name!r}. Nothing was executed. Do not repeat this call."
    return _message(call.call_id, call.name, text, call.code, status="error", message_id=_message_id(call))


def response(call: CallRecord) -> ToolMessage:
    """The result that a person wrote in place of the tool."""
    text = f"The tool was not executed. A person answered in its place:\n{call.message}"
    return _message(call.call_id, call.name, text, call.code, status="success", message_id=_message_id(call))


def reported(call_id: str, name: str, answer: ApprovalAnswer, request_id: str) -> ToolMessage:
    """The result of a call whose outcome nobody knew, as a person reported it.

    Args:
        call_id: The call's id.
        name: The tool's name as the model wrote it.
        answer: What the person said: `done` or `failed`.
        request_id: The request.
    """
    failed = answer.type == "failed"
    said = "failed, so that its work was not done" if failed else "was carried out"
    text = f"No result of the call of {name!r} was recorded. A person reports that it {said}. It was not run again."
    text = text if not answer.message else f"{text}\n{answer.message}"
    status = "error" if failed else "success"
    return _message(call_id, name, text, Code.OUTCOME_KNOWN, status=status, message_id=f"toolgate-{request_id}")


def refused(call: CallRecord) -> ToolMessage:
    """The result of a call whose record says that it is refused."""
    return refusal(call.call_id, call.name, call.code, call.reason, message_id=_message_id(call))


def with_notice(result: Any, record: CallRecord | None) -> Any:
    """A result with what ran instead in front of it, where a person edited the call; else as it is.

    Args:
        result: What the call gave; only its own tool message is changed.
        record: What was saved of the call.
    """
    if record is None or record.outcome != "edited":
        return result
    if not isinstance(result, ToolMessage) or result.tool_call_id != record.call_id:
        return result
    notice = (
        f"A person replaced the arguments of this call before it ran. {record.name!r} ran with "
        f"{canonical_json(record.arguments or {})} instead. Do not repeat your own version.\n\n"
    )
    if isinstance(result.content, str):
        return result.model_copy(update={"content": notice + result.content})
    return result.model_copy(update={"content": [{"type": "text", "text": notice}, *result.content]})


def withheld(call: ToolCall) -> ToolMessage:
    """What the model reads in place of a result that the zone it runs in may not have."""
    text = f"The call of {call['name']!r} ran. Its result may not be read here."
    return _message(str(call["id"]), call["name"], text, Code.TRUST_ZONE, status="error", message_id=None)


def _message_id(call: CallRecord) -> str:
    return f"toolgate-{call.request_id}"


def _message(call_id: str, name: str, text: str, code: str, *, status: Any, message_id: str | None) -> ToolMessage:
    return ToolMessage(
        text,
        name=name,
        tool_call_id=call_id,
        status=status,
        id=message_id,
        artifact={"toolgate": {"code": code}},
    )

"""Calls that end without their last step: unreadable, refused before it, or closed because the user went on.

They are written and told like all others, so that nothing that a model wanted is missing from the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolCall

from toolgate_langchain.hosts.engine.attempt import Attempt
from toolgate_langchain.hosts.engine.telling import tell
from toolgate_langchain.policy.decision import Code, Decision, Layer
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import AIMessage, ToolMessage

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import CallRecord, Run, TurnRecord
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["tell_closed", "tell_refused_early", "tell_unreadable"]


def tell_unreadable(gate: ToolGate, run: Run, message: AIMessage) -> Steps[None]:
    """Tell of the calls of a message that could not be read, each of which has its error result.

    Args:
        gate: The gate.
        run: The run.
        message: The message.
    """
    for call in message.invalid_tool_calls:
        reason = str(call.get("error") or "its arguments could not be read")
        read = ToolCall(name=call.get("name") or "unknown", args={}, id=call.get("id") or "", type="tool_call")
        decision = Decision(Verdict.DENY, Code.INVALID_ARGUMENTS, reason, Layer.IDENTITY)
        yield from tell(gate, _attempt(gate, run, message, read, None, None), decision)


def tell_refused_early(
    gate: ToolGate, run: Run, message: AIMessage, turn: TurnRecord, refusals: Sequence[ToolMessage]
) -> Steps[None]:
    """Tell of the calls of a turn that got their refusal before their last step.

    Args:
        gate: The gate.
        run: The run.
        message: The message that makes the calls.
        turn: The turn.
        refusals: The refusals.
    """
    for refusal in refusals:
        record = turn.call(refusal.tool_call_id)
        call = next((call for call in message.tool_calls if call["id"] == refusal.tool_call_id), None)
        if record is None or call is None:
            continue
        attempt = _attempt(gate, run, message, call, turn, record)
        yield from tell(gate, attempt, _as_recorded(record))


def tell_closed(
    gate: ToolGate,
    run: Run,
    message: AIMessage,
    call: ToolCall,
    turn: TurnRecord | None,
    record: CallRecord | None,
    code: str,
) -> Steps[None]:
    """Tell of a call that was left pending and is closed, because the user wrote something else.

    Args:
        gate: The gate.
        run: The run that it was made in.
        message: The message that makes it.
        call: The call.
        turn: The turn that was saved, if there is one.
        record: What was saved of the call.
        code: What becomes of it, as a code.
    """
    if record is not None and record.code == code:
        decision = _as_recorded(record)
    elif code == Code.OUTCOME_UNKNOWN:
        reason = "it was started, no result is recorded, and the user wrote something else"
        decision = Decision(Verdict.DENY, code, reason, Layer.IDENTITY)
    else:
        decision = Decision(Verdict.DENY, code, "the user wrote something else while it was waiting", Layer.IDENTITY)
    yield from tell(gate, _attempt(gate, run, message, call, turn, record), decision)


def _attempt(
    gate: ToolGate, run: Run, message: AIMessage, call: ToolCall, turn: TurnRecord | None, record: CallRecord | None
) -> Attempt:
    state: dict[str, Any] = {"messages": [message]}
    return Attempt(call, run, state, turn, record, gate.catalog.known(call["name"]))


def _as_recorded(record: CallRecord) -> Decision:
    layer = next((layer for layer in Layer if layer.value == record.layer), Layer.IDENTITY)
    return Decision(Verdict.DENY, record.code, record.reason, layer)

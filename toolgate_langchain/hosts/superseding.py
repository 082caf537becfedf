"""What happens to a pending turn when the user writes something else instead of answering."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from toolgate_langchain.approvals.ledger import GrantStatus, Ledger
from toolgate_langchain.approvals.turn import TurnRecord
from toolgate_langchain.hosts.refusal import refusal
from toolgate_langchain.hosts.run_state import TURN
from toolgate_langchain.policy.decision import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.approvals.steps import Steps

__all__ = ["supersede"]


def supersede(state: Mapping[str, Any], ledger: Ledger) -> Steps[dict[str, Any]]:
    """Give every call of a turn that was left pending its message, in its place.

    Detected by the saved turn, not by dangling ids, which a handover between agents has too.

    Args:
        state: The agent's state when a run starts, with the user's new words.
        ledger: Tells which calls were started; the approvals of the others are withdrawn.

    Returns:
        The state update; the turn is closed by it. Rules and rejections are kept.
    """
    turn = TurnRecord.from_json(state.get(TURN))
    if turn is None:
        return {}
    messages = state["messages"]
    place = next((i for i, message in enumerate(messages) if message.id == turn.message_id), None)
    message = None if place is None else messages[place]
    if place is None or not isinstance(message, AIMessage):
        return {TURN: {}}
    end = place + 1
    while end < len(messages) and isinstance(messages[end], ToolMessage):
        end += 1
    answered = {one.tool_call_id for one in messages[place + 1 :] if isinstance(one, ToolMessage)}
    missing: list[ToolMessage] = []
    for call in message.tool_calls:
        if call["id"] in answered:
            continue
        record = turn.call(call["id"])
        if record is None:
            missing.append(refusal(str(call["id"]), call["name"], Code.SUPERSEDED, ""))
            continue
        status = yield partial(ledger.status, record.request_id)
        started = status not in (None, GrantStatus.ISSUED, GrantStatus.WITHDRAWN)
        code = Code.OUTCOME_UNKNOWN if started else Code.SUPERSEDED
        message_id = f"toolgate-{record.request_id}"
        missing.append(refusal(str(call["id"]), call["name"], code, "", message_id=message_id))
    if not missing:
        return {TURN: {}}
    yield partial(ledger.withdraw, [call.request_id for call in turn.calls])
    # Providers refuse tool messages that stand after the user's next words, so the list is rebuilt.
    rebuilt = [*messages[:end], *missing, *messages[end:]]
    return {TURN: {}, "messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *rebuilt]}

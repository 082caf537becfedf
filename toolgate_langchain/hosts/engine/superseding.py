"""What happens to a pending turn when the user writes something else instead of answering."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, ToolMessage

from toolgate_langchain.approvals.ledger import GrantStatus, Ledger
from toolgate_langchain.approvals.turn import CallRecord, Run, TurnRecord, unasked_key
from toolgate_langchain.hosts.engine.calls import last_ai_message
from toolgate_langchain.hosts.engine.made_up import calls_without_an_end
from toolgate_langchain.hosts.engine.refusal import refusal, refused, rejection, response
from toolgate_langchain.hosts.engine.run_state import RUN, TURN
from toolgate_langchain.hosts.engine.unseen import tell_closed
from toolgate_langchain.policy.decide import call_key
from toolgate_langchain.policy.decision import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.messages import BaseMessage, ToolCall

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["LeftBehind", "supersede"]


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """What a step left behind that was interrupted and never finished."""

    interrupted: bool = False
    results: Mapping[str, ToolMessage] = field(default_factory=dict)
    """Results of tools that ran beside the one that waited, by call id."""
    judged: Mapping[str, Any] | None = None
    """What the step that waited had judged, where it is saved there and not in the state yet."""
    crashed: bool = False
    """Whether it ended by an error, or with its process, and was not waiting: its calls may have been running."""


def supersede(
    state: Mapping[str, Any], run: Run, gate: ToolGate, left_behind: Callable[[], LeftBehind | Any]
) -> Steps[list[BaseMessage] | None]:
    """Give every call of a turn that was left pending its message, in its place.

    Detected by what is saved as pending, not by dangling ids, which a handover between agents has too.

    Args:
        state: The agent's state when a run starts, with the user's new words.
        run: The run that starts; rejections of the pending turn hold in it.
        gate: Its ledger tells which calls were started; the approvals of the others are withdrawn. Who listens to it is
            told of every call that is closed.
        left_behind: Looks up what the interrupted step left behind; may return an awaitable.

    Returns:
        The messages with those of the closed turn in their place; `None` where there is nothing to close.
        The saved turn is over in any case. Rules and rejections are kept.
    """
    turn = TurnRecord.from_json(state.get(TURN))
    messages: Sequence[BaseMessage] = state["messages"]
    place = _place(messages, turn)
    if place is None:
        return None
    message, end = messages[place], place + 1
    assert isinstance(message, AIMessage)
    while end < len(messages) and isinstance(messages[end], ToolMessage):
        end += 1
    if turn is not None and turn.message_id != message.id:
        turn = None
    results = [one for one in messages[place + 1 :] if isinstance(one, ToolMessage)]
    made_up: set[str] = set() if turn is None else (yield from calls_without_an_end(turn, results, gate.ledger))
    if made_up:
        written = [one for one in results if one.tool_call_id in made_up]
        end -= sum(one in written for one in messages[place + 1 : end])
        messages = [one for one in messages if one not in written]
    answered = {one.tool_call_id for one in results} - made_up
    dangling = [call for call in message.tool_calls if call["id"] not in answered]
    if not dangling:
        return None
    left = yield left_behind
    if turn is None and not left.interrupted:
        return None
    ledger, earlier_run = gate.ledger, state.get(RUN) or {}
    earlier = replace(run, id=str(earlier_run.get("id")), start=str(earlier_run.get("start", "")))
    closed: list[BaseMessage] = []
    for call in dangling:
        result = left.results.get(str(call["id"]))
        if result is None:
            record = None if turn is None else turn.call(call["id"])
            place_of_call = earlier.id, earlier.start, str(message.id), str(call["id"])
            key = unasked_key(*place_of_call) if record is None else record.request_id
            result = yield from _closing(call, record, key, run, ledger)
            if left.crashed and _may_have_run(result, gate.catalog.known(call["name"])):
                result = refusal(str(call["id"]), call["name"], Code.OUTCOME_UNKNOWN, "", message_id=result.id)
            code = (result.artifact or {}).get("toolgate", {}).get("code", "")
            yield from tell_closed(gate, earlier, message, call, turn, record, code)
        closed.append(result)
    if turn is not None:
        yield partial(ledger.withdraw, [call.request_id for call in turn.calls])
    if run.place is not None and not run.agent_path and not run.start:
        # Also what agents inside of its calls asked: the run that waited for it is over.
        yield partial(ledger.close_thread, run.place)
    # Providers refuse tool messages that stand after the user's next words, so the list is rebuilt.
    return [*messages[:end], *closed, *messages[end:]]


def _may_have_run(result: ToolMessage, entry: CatalogEntry | None) -> bool:
    """Whether a call without a start on record may have been running in a run that crashed.

    Calls that may be repeated leave no start there.
    """
    code = (result.artifact or {}).get("toolgate", {}).get("code", "")
    return code == Code.SUPERSEDED and (entry is None or entry.repeatable)


def _place(messages: Sequence[BaseMessage], turn: TurnRecord | None) -> int | None:
    """Where the message stands that may have been left pending: the saved turn's, else the model's last."""
    if turn is not None:
        for place, message in enumerate(messages):
            if message.id == turn.message_id and isinstance(message, AIMessage):
                return place
    last = last_ai_message(messages)
    return next((place for place, message in enumerate(messages) if message is last), None)


def _closing(call: ToolCall, record: CallRecord | None, key: str, run: Run, ledger: Ledger) -> Steps[ToolMessage]:
    """What became of one call that left no result behind."""
    if record is not None:
        held = yield partial(ledger.answer_to, key)
        if held is not None and held.type == "reject":
            record.outcome, record.message, record.by = "rejected", held.message, held.by
            record.code, record.reason = Code.REJECTED, "a person rejected it"
        if record.outcome == "rejected":
            arguments = call["args"] if record.arguments is None else record.arguments
            same = call_key(record, arguments)
            yield partial(ledger.note_rejected, run.id, same, record.name, key)
            return rejection(record)
        if record.outcome == "responded":
            return response(record)
        if record.outcome == "refused":
            return refused(record)
    kept: ToolMessage | None = yield partial(ledger.result, key)
    if kept is not None:
        return kept
    status = yield partial(ledger.status, key)
    started = status not in (None, GrantStatus.ISSUED, GrantStatus.WITHDRAWN)
    code = Code.OUTCOME_UNKNOWN if started else Code.SUPERSEDED
    return refusal(str(call["id"]), call["name"], code, "", message_id=f"toolgate-{key}")

"""What the record of a ledger says of one call at its last step, and of what came out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import ToolMessage

from toolgate_langchain.approvals.recording.entries import Entry, Which, decided, decider, ended
from toolgate_langchain.approvals.recording.recorder import tier_of
from toolgate_langchain.approvals.turn import raw_digest
from toolgate_langchain.canonical import check_plain
from toolgate_langchain.errors import NotPlainJsonError
from toolgate_langchain.policy.approval_rule import ask_predicate
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from toolgate_langchain.hosts.engine.attempt import Attempt
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.policy.context import CallFacts
    from toolgate_langchain.policy.decide import ProposedCall
    from toolgate_langchain.policy.decision import Decision

__all__ = ["BY_A_PERSON", "again", "entry_of", "entry_of_end", "recorded", "with_predicate"]

BY_A_PERSON: Final = frozenset({"approved", "edited", "rejected", "responded"})
"""What becomes of a call by a person's answer."""


def recorded(gate: ToolGate, attempt: Attempt, decision: Decision) -> bool:
    """Whether a call is written into the record: every one that does not run, and of the others what the gate wants.

    Args:
        gate: The gate.
        attempt: The call.
        decision: What was decided.
    """
    recorder = gate.recorder
    if decision.verdict is not Verdict.ALLOW or attempt.entry is None:
        return recorder.on
    return recorder.wants(attempt.entry, decision)


def entry_of(
    gate: ToolGate, attempt: Attempt, decision: Decision, values: Mapping[str, Any] | None = None, digest: str = ""
) -> Entry | None:
    """The entry of a call that was decided about; `None` where it is not written.

    Args:
        gate: The gate.
        attempt: The call.
        decision: What was decided.
        values: The arguments that run, where it runs.
        digest: What binds its grant, where it has one.
    """
    if not recorded(gate, attempt, decision):
        return None
    return decided(_which(attempt, values, digest), decision, attempt.question, _by(attempt, decision))


def entry_of_end(
    gate: ToolGate, attempt: Attempt, status: str, result: Any, error: BaseException | None
) -> Entry | None:
    """The entry of a call that ran; `None` where that it ran was not written either.

    Args:
        gate: The gate.
        attempt: The call.
        status: How it ended; see `ended`.
        result: What the tool gave.
        error: What it raised.
    """
    if not attempt.written:
        return None
    message = _own_message(result, str(attempt.call["id"]))
    said = "" if error is None else type(error).__name__
    if message is not None and message.status == "error":
        said = said or "the tool reported an error"
    content = None if message is None else _plain(message.content)
    return ended(_which(attempt), status, content, error=said, content=gate.recorder.content)


def _which(attempt: Attempt, values: Mapping[str, Any] | None = None, digest: str = "") -> Which:
    record, entry = attempt.record, attempt.entry
    tier = tier_of(entry)
    if record is not None and entry is None and record.fingerprint:
        tier = "unclassified" if record.tier is None else record.tier.value
    return Which(
        run=attempt.run,
        turn_id="" if attempt.turn is None else attempt.turn.turn_id,
        call_id=str(attempt.call["id"]),
        name=attempt.call["name"],
        arguments=_readable(attempt.arguments if values is None else values),
        request_id=attempt.key,
        digest=digest or (record.digest if record is not None else "") or raw_digest(attempt.call),
        tier=tier,
        declared=() if entry is None else entry.profile.sensitive,
    )


def _readable(arguments: Any) -> Any:
    """Arguments as they can be written; `None` for what cannot be."""
    try:
        check_plain(arguments)
    except NotPlainJsonError:
        return None
    return arguments


def _by(attempt: Attempt, decision: Decision) -> dict[str, Any]:
    """Who or what decided."""
    record = attempt.record
    if record is not None and record.code == decision.code:
        if record.outcome in BY_A_PERSON:
            said = {} if record.message is None else {"words": record.message}
            return {"kind": "person", "id": record.by, "answer": record.outcome, **said}
        if record.outcome == "refused":
            # As it was judged with its turn, or as the last answer of its queue left it.
            return {"kind": "judgement", "id": record.layer}
    return decider(decision, attempt.question, attempt.run)


def _own_message(result: Any, call_id: str) -> ToolMessage | None:
    """The tool message of a call in what its tool gave: a message, a command with one, or a list of them."""
    if isinstance(result, ToolMessage):
        return result
    update = getattr(result, "update", None)
    inside = update.get("messages", ()) if isinstance(update, Mapping) else result
    if not isinstance(inside, list | tuple):
        return None
    found = (_own_message(one, call_id) for one in inside)
    return next((one for one in found if one is not None and one.tool_call_id == call_id), None)


def _plain(content: Any) -> Any:
    try:
        check_plain(content)
    except NotPlainJsonError:
        return str(content)
    return content


def with_predicate(facts: CallFacts, call: ProposedCall) -> CallFacts:
    """Facts with the outcome of the call's own predicate, so that the record has it; asked where it was not before.

    Args:
        facts: What is known of the call.
        call: The call.
    """
    if facts.predicate is not None or call.entry is None or call.arguments is None:
        return facts
    return replace(facts, predicate=ask_predicate(call.entry, call.arguments.values))


def again(attempt: Attempt) -> Attempt:
    """A call that is let through and ends as refused all the same: a second thing to write and to tell."""
    return replace(attempt, question=None, written=False, reentered=False)

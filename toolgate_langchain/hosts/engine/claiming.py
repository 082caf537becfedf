"""At most once: a grant is used up before its tool starts, and of a call that was started before a person is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from langchain_core.messages import ToolMessage

from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.binding import call_digest
from toolgate_langchain.approvals.ledger import StartStatus
from toolgate_langchain.hosts.engine.last_look import denied
from toolgate_langchain.hosts.engine.outcomes import TRY_AGAIN, Question, started_before
from toolgate_langchain.hosts.engine.recording import entry_of
from toolgate_langchain.hosts.engine.telling import tell
from toolgate_langchain.policy.decide import ProposedCall, call_key
from toolgate_langchain.policy.decision import Code, Decision, Layer
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.errors import AlreadyAnsweredError
    from toolgate_langchain.hosts.engine.attempt import Attempt
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["claim"]

_CODES_OF_START: Final = {
    StartStatus.USED: Code.OUTCOME_UNKNOWN,
    StartStatus.MISSING: Code.NOT_ON_RECORD,
    StartStatus.WITHDRAWN: Code.WITHDRAWN,
    StartStatus.MISMATCH: Code.CHANGED,
}


def claim(
    gate: ToolGate,
    attempt: Attempt,
    proposed: ProposedCall,
    decision: Decision,
    *,
    question: Callable[[Attempt], Question | None],
    leaving: type[AlreadyAnsweredError],
) -> Steps[Decision | ToolMessage]:
    """Use the grant of a call up, by compare-and-set.

    Args:
        gate: The gate.
        attempt: The call, which may not be repeated or was asked about.
        proposed: It with its tool and its effective arguments.
        decision: What the last look at it said: it may run.
        question: How a person is asked what became of a call that was started before.
        leaving: The error with which a call is left to the worker that is at it.

    Returns:
        The decision: as it was, or why the call does not run after all. Or the result, where a person reported it.
    """
    entry, record, run = attempt.entry, attempt.record, attempt.run
    assert entry is not None and proposed.arguments is not None
    turn_id = "" if attempt.turn is None else attempt.turn.turn_id
    bound = call_digest(run, entry, proposed.arguments.values, turn_id, str(attempt.call["id"]))
    if record is not None and bound != record.digest:
        # Edited in a process that had not met the tool: bound to what the person wrote, before validation.
        written = call_digest(run, entry, attempt.arguments, turn_id, str(attempt.call["id"]))
        if record.outcome != "edited" or written != record.digest:
            return denied(
                Code.CHANGED,
                "the tool, its arguments or where it runs changed after it was judged",
            )
        bound = written
    key = attempt.key
    call = attempt.started = CallStart(
        key,
        bound,
        needs_grant=attempt.approved,
        repeatable=entry.repeatable and not attempt.starts_agents,
        hold=True,
        entry=entry_of(gate, attempt, decision, proposed.arguments.values, bound),
    )
    start: StartStatus = yield lambda: gate.ledger.start(call)
    if start is StartStatus.USED:
        values = proposed.arguments.values
        known = yield from started_before(gate, attempt, call, values, question(attempt), leaving)
        if known == TRY_AGAIN:
            return decision
        if isinstance(known, ToolMessage):
            said = Decision(Verdict.DENY, Code.OUTCOME_KNOWN, "it was started before", Layer.IDENTITY)
            yield from tell(gate, attempt, said)
            return known
    if start in (StartStatus.STARTED, StartStatus.REENTERED):
        attempt.written, attempt.reentered = call.entry is not None, start is StartStatus.REENTERED
        return decision
    if start is StartStatus.WITHDRAWN and record is not None:
        held: ApprovalAnswer | None = yield lambda: gate.ledger.answer_to(key)
        if held is not None and held.type == "reject":
            # Taken back after the turn was settled: it counts as any other rejection.
            same = call_key(entry, proposed.arguments.values)
            yield lambda: gate.ledger.note_rejected(run.id, same, entry.name, key)
            record.outcome, record.message, record.by = "rejected", held.message, held.by
            record.code, record.reason = Code.REJECTED, "a person took the approval back"
            return denied(record.code, record.reason)
    return denied(_CODES_OF_START[start], f"its grant is {start.value}")

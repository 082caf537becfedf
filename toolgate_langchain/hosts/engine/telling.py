"""Saying what became of a call at the last step: to the model, the log and whoever listens."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.canonical import copy_plain
from toolgate_langchain.hosts.engine.recording import BY_A_PERSON, entry_of
from toolgate_langchain.hosts.engine.refusal import refusal, refused
from toolgate_langchain.hosts.record import CallOutcome
from toolgate_langchain.policy.decision import Code, Layer
from toolgate_langchain.policy.sensitive import MASK, holds_sensitive
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import CallRecord
    from toolgate_langchain.hosts.engine.attempt import Attempt
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.policy.decision import Decision

__all__ = ["refuse", "tell"]

logger = logging.getLogger("toolgate_langchain")

_PERSON: Final = "person"
"""The layer that is shown where a person's answer decided."""


def refuse(gate: ToolGate, attempt: Attempt, decision: Decision) -> Steps[ToolMessage]:
    """The result of a call that the last step refuses; the operator is told why.

    Args:
        gate: The gate.
        attempt: The call.
        decision: Why it is refused.
    """
    call, run, record = attempt.call, attempt.run, attempt.record
    yield from tell(gate, attempt, decision)
    loud = logging.WARNING if not run.context.surface.attended else logging.INFO
    logger.log(
        loud,
        "refused %r on surface %r: %s (%s)",
        call["name"],
        run.context.surface.name,
        decision.code,
        _without_secrets(attempt, decision),
    )
    if record is not None and record.code == decision.code:
        return refused(record)
    # Derived from the place of the call, so that a replay cannot write two messages.
    message_id = f"toolgate-{attempt.key}"
    return refusal(str(call["id"]), call["name"], decision.code, decision.reason, message_id=message_id)


def _without_secrets(attempt: Attempt, decision: Decision) -> str:
    """The reason as a log may have it: validators and policies may quote what they were given."""
    declared = () if attempt.entry is None else attempt.entry.profile.sensitive
    quotes = decision.code == Code.INVALID_ARGUMENTS or decision.layer is Layer.ARGUMENT_POLICIES
    return MASK if quotes and holds_sensitive(attempt.call["args"], declared) else decision.reason


def tell(gate: ToolGate, attempt: Attempt, decision: Decision, values: Mapping[str, Any] | None = None) -> Steps[None]:
    """Write one call at its end into the record, and tell the gate's observer of it.

    What cannot be written raises, so that nothing runs of which no record is left.

    Args:
        gate: The gate.
        attempt: The call.
        decision: What was decided.
        values: The arguments that run, where it runs.
    """
    if attempt.reentered:
        return
    # What started under a grant is written already, in the transaction of its start.
    if not attempt.written and (entry := entry_of(gate, attempt, decision, values)) is not None:
        ledger = gate.recorder.ledger
        assert ledger is not None
        yield partial(ledger.note, [entry])
        attempt.written = decision.verdict is Verdict.ALLOW
    observer = gate.on_decision
    if observer is None:
        return
    record = attempt.record
    by_person = record is not None and record.outcome in BY_A_PERSON
    outcome = CallOutcome(
        call_id=str(attempt.call["id"]),
        name=attempt.call["name"],
        # A copy: who listens must not change the call that runs.
        arguments=copy_plain(values if values is not None else (record and record.arguments) or attempt.call["args"]),
        verdict=decision.verdict,
        code=decision.code,
        layer=_PERSON if by_person and record is not None and decision.code == record.code else decision.layer.value,
        reason=_with_words(decision, record),
        asked=by_person or (record is not None and record.code == Code.BAD_ANSWERS),
        by=None if record is None else record.by,
    )
    try:
        observer(outcome)
    except Exception:
        logger.exception("on_decision raised")


def _with_words(decision: Decision, record: CallRecord | None) -> str:
    """The reason, with what the person said where it was a no."""
    if record is None or record.outcome != "rejected" or not record.message or decision.code != record.code:
        return decision.reason
    return f"{decision.reason}: {record.message}"

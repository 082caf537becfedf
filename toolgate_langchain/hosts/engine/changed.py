"""A call that was refused as changed: what it was and what it is now, kept for whoever is asked about it next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.turn import raw_digest
from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.errors import NotPlainJsonError
from toolgate_langchain.policy.decision import Code

if TYPE_CHECKING:
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.engine.attempt import Attempt
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.policy.decision import Decision

__all__ = ["remember_change"]


def remember_change(gate: ToolGate, attempt: Attempt, decision: Decision) -> Steps[None]:
    """Keep both versions of a call that was refused as changed, to be shown when it is asked about again.

    Args:
        gate: The gate.
        attempt: The call.
        decision: Why it is refused; nothing is kept for another reason.
    """
    if decision.code != Code.CHANGED:
        return
    record, name = attempt.record, attempt.call["name"]
    # Where the call is as it was judged, the arguments that were saved with it are what would have run.
    same = record is not None and record.raw == raw_digest(attempt.call)
    about_to_run = _readable(attempt.arguments if same else attempt.call["args"])
    judged = "" if record is None or not record.shown else f", and it had been judged with {record.shown}"
    text = f"a call of it was refused as changed: it was about to run with {about_to_run}{judged}"
    text = text if not attempt.change else f"a call of it was refused: {attempt.change}"
    yield lambda: gate.ledger.note_change(attempt.run.id, name, text)


def _readable(arguments: Any) -> str:
    try:
        text = canonical_json(arguments)
    except NotPlainJsonError:
        return "arguments that cannot be written as JSON"
    return text if len(text) <= 2_000 else f"{text[:2_000]}..."

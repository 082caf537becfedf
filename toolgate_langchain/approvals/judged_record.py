"""What is saved of a call when it was judged, whatever became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate_langchain.approvals.binding import call_digest
from toolgate_langchain.approvals.turn import CallRecord, raw_digest
from toolgate_langchain.canonical import canonical_json, digest
from toolgate_langchain.policy.sensitive import holds_sensitive
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolgate_langchain.approvals.judged import Judged
    from toolgate_langchain.approvals.turn import Run

__all__ = ["record_of"]


def record_of(judged: Judged, run: Run, turn_id: str, new_id: Callable[[], str] | None) -> CallRecord:
    """The record of a call.

    Args:
        judged: The call, as it was judged.
        run: The run.
        turn_id: The turn.
        new_id: Gives the id of its request at random; `None` where it is derived from the run and the call, so that
            a replay of the step that judges makes the same one.
    """
    call, proposed, facts, decision = judged
    raw, call_id = raw_digest(call), str(call["id"])
    request_id = digest("toolgate:late:1", run.id, turn_id, call_id, raw)[:32] if new_id is None else new_id()
    record = CallRecord(
        call_id=call_id,
        name=call["name"],
        raw=raw,
        request_id=request_id,
        verdict=decision.verdict,
        code=decision.code,
        layer=decision.layer.value,
        reason=decision.reason,
        needs_person=decision.needs_person,
        must_ask=decision.must_ask,
        predicate=facts.predicate,
        heuristic=facts.heuristic,
        heuristics_run=facts.heuristics_run,
        warnings=facts.warnings,
        variant=facts.variant,
        at_cap=facts.at_cap and decision.needs_person,
    )
    entry, arguments = proposed.entry, proposed.arguments
    if entry is not None and arguments is not None:
        record.origin, record.tier, record.memory = entry.origin, entry.tier, entry.widest_memory
        same = canonical_json(arguments.values) == canonical_json(call["args"])
        record.arguments = None if same else arguments.values
        record.exact = arguments.exact
        record.sensitive = holds_sensitive(arguments.values, entry.profile.sensitive)
        if decision.verdict is not Verdict.DENY:
            record.fingerprint = entry.fingerprint
            record.digest = call_digest(run, entry, arguments.values, turn_id, call_id)
    if decision.verdict is Verdict.ALLOW:
        record.outcome = "released"
    elif decision.verdict is Verdict.DENY:
        record.outcome = "refused"
    return record

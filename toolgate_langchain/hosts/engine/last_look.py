"""The last look at a call: judged once more, right before it runs, by what was saved of it and what holds today.

It never asks. What would now be asked about and was not is refused as changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.answer import ApprovalAnswer
from toolgate_langchain.approvals.turn import raw_digest
from toolgate_langchain.hosts.engine.answering import barred
from toolgate_langchain.hosts.engine.previewing import preview_changed
from toolgate_langchain.hosts.engine.recording import with_predicate
from toolgate_langchain.policy.context import NO_RULES, CallFacts, RunMemory
from toolgate_langchain.policy.decide import ProposedCall, decide
from toolgate_langchain.policy.decision import Code, Decision, Layer
from toolgate_langchain.policy.resolving import names_elsewhere
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.engine.attempt import Attempt
    from toolgate_langchain.hosts.engine.base_runs import Runs

__all__ = ["LastLook", "denied"]

_NO_FACTS: Final = CallFacts()


class LastLook:
    """Judges calls once more, for one agent.

    Args:
        runs: The agent's runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs, self._gate = runs, runs.gate

    def foregone(self, attempt: Attempt) -> Decision | None:
        """The decision that is the same for every call of the tool, while nothing was said; else `None`.

        Args:
            attempt: The call, of which nothing was saved, with arguments that fit.
        """
        run, entry = attempt.run, attempt.entry
        assert entry is not None
        released = self._runs.foregone.released(entry, run.context)
        quiet = released is not None and self._gate.ledger.quiet(run.id, run.place, run.context.caller_id) is True
        if released is not None and quiet and self._gate.recorder.on:
            proposed = ProposedCall.of(attempt.call["name"], attempt.arguments, entry)
            attempt.question = self._gate.recorder.ask(proposed, run.context, NO_RULES, RunMemory(), _NO_FACTS)
        return released if quiet else None

    def decide(self, attempt: Attempt, proposed: ProposedCall, state: Mapping[str, Any]) -> Steps[Decision]:
        """Judge the call once more, with the saved outcomes and today's rules, policies and configuration.

        Args:
            attempt: The call.
            proposed: It with its tool and its effective arguments.
            state: The agent's state.
        """
        run, record, entry = attempt.run, attempt.record, attempt.entry
        if record is not None and record.raw != raw_digest(attempt.call):
            return denied(Code.CHANGED, "the call is not the one that was judged")
        if record is not None and record.outcome == "":
            return denied(record.code, "it waits for a person and was not asked about")
        if self._names_elsewhere(attempt):
            return denied(Code.CHANGED, "what its arguments name is not what they named when it was judged")
        index, said = yield from self._runs.rules.look(state, run)
        facts = _NO_FACTS if record is None else self._gate.judge.still_known(record.facts)
        if said.stopped is not False:
            facts = replace(facts, stopped=True)
        if self._runs.flow.on:
            facts = replace(facts, history=(yield from self._runs.flow.again(attempt)))
        person = attempt.approved
        if person and (told := (yield from self._not_entitled(attempt))):
            return denied(Code.WITHDRAWN, told)
        # What a person just approved is not held against what was rejected beside it.
        known = RunMemory() if person else said.memory
        rules = self._gate.judge.view(index, run)
        if not self._gate.recorder.on:
            decision = decide(proposed, run.context, self._gate.rulebook, rules, known, facts)
        else:
            facts = with_predicate(facts, proposed)
            attempt.question = self._gate.recorder.ask(proposed, run.context, rules, known, facts)
            decision = attempt.question.said
        if decision.verdict is Verdict.DENY:
            return decision
        assert entry is not None
        if decision.verdict is Verdict.ASK and not person:
            return denied(
                Code.CHANGED,
                f"it needs a person now and was not asked about: {decision.reason}",
            )
        if person:
            # Also where the answer itself made a rule that matches by now: the person decided, not the rule.
            assert record is not None
            decision = replace(decision, verdict=Verdict.ALLOW, code=record.code, reason=record.reason)
        # Also of a call that the answer to one beside it released: it is held to what was told when it was judged.
        preview = None if record is None else record.preview
        if preview is not None and (yield from preview_changed(self._gate, attempt, proposed)):
            return denied(Code.CHANGED, "what it would do is not what was told when it was judged")
        return self._gate.judge.if_unattended(entry, decision, run)

    def _names_elsewhere(self, attempt: Attempt) -> bool:
        """Whether the model's words, judged before, name something else by now; only where a policy resolves names."""
        record, entry, resolving = attempt.record, attempt.entry, self._gate.rulebook.resolving
        if record is None or entry is None or not resolving:
            return False
        # What a person wrote in its place was resolved when it was answered.
        if record.outcome not in ("approved", "released") or record.input_schema is not None:
            return False
        return names_elsewhere(entry, attempt.call["args"], attempt.arguments, resolving)

    def _not_entitled(self, attempt: Attempt) -> Steps[str]:
        """Why the approval of a call holds no more, where the operator's rule says who may answer: by today's rule."""
        record = attempt.record
        if self._gate.judge.approvers is None or record is None:
            return ""
        given = ApprovalAnswer(request_id=record.request_id, type="approve", by=record.by)
        return (yield from barred(self._gate, given))


def denied(code: str, reason: str) -> Decision:
    """The decision of a call that the last step refuses."""
    return Decision(Verdict.DENY, code, reason, Layer.IDENTITY)

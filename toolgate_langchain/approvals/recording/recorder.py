"""Which calls one gate writes into the record of its ledger, and what it writes of a turn that it judged."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from toolgate_langchain.approvals.asking import request_for
from toolgate_langchain.approvals.recording.entries import Entry, Which, judged
from toolgate_langchain.approvals.recording.given import Question
from toolgate_langchain.approvals.recording.keeping import record_of
from toolgate_langchain.policy.decide import decide
from toolgate_langchain.policy.decision import Code, Decision
from toolgate_langchain.policy.sensitive import MASK, masked
from toolgate_langchain.vocabulary import Tier, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.approvals.ledger import Ledger
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import CallRecord, Run, TurnRecord
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.arguments import PolicyAnswer
    from toolgate_langchain.policy.context import CallFacts, RulesInForce, RunContext, RunMemory
    from toolgate_langchain.policy.decide import ProposedCall, Rulebook

__all__ = ["RecordLevel", "Recorder", "tier_of"]

RecordLevel = Literal["decisions", "all"]
"""`decisions`: every call but those that only read and that nobody had to be asked about. `all`: those too."""


class Recorder:
    """What one gate writes into the record.

    Args:
        ledger: The gate's ledger. One that keeps no record is asked for none.
        rulebook: What the operator configured.
        level: Which calls are written.
        content: Whether what a tool gave is kept itself, and not only its digest and size.
    """

    def __init__(
        self, ledger: Ledger, rulebook: Rulebook, level: RecordLevel = "decisions", *, content: bool = False
    ) -> None:
        self.ledger = record_of(ledger)
        self.level, self.content = level, content
        self._rulebook = rulebook

    @property
    def on(self) -> bool:
        """Whether there is a record at all."""
        return self.ledger is not None

    def wants(self, entry: CatalogEntry, decision: Decision | None = None) -> bool:
        """Whether a call that runs is written.

        Args:
            entry: Its tool.
            decision: What lets it run; `None` where that is that nobody had to be asked.
        """
        if self.ledger is None:
            return False
        unasked = decision is None or decision.code == Code.NOT_REQUIRED
        return self.level == "all" or entry.tier is not Tier.READ_ONLY or not unasked

    def ask(
        self,
        call: ProposedCall,
        context: RunContext,
        rules: RulesInForce,
        memory: RunMemory,
        facts: CallFacts,
    ) -> Question:
        """Ask `decide`, and keep the question with the answer."""
        heard: list[PolicyAnswer] = []
        said = decide(call, context, self._rulebook, rules, memory, facts, heard)
        names = [getattr(policy, "__name__", type(policy).__name__) for policy in self._rulebook.argument_policies]
        told = [(name, _unnamed(name, answer)) for name, answer in zip(names, heard, strict=False)]
        return Question(call, context, self._rulebook, rules, memory, facts, said, told)

    def note_turn(
        self,
        run: Run,
        turn: TurnRecord,
        rules: RulesInForce,
        memory: RunMemory,
        judged: Sequence[tuple[ProposedCall, CallFacts, Decision]],
    ) -> Steps[None]:
        """Write what was judged of a turn: of its calls that needed a person, or that are refused.

        Args:
            run: The run.
            turn: The turn as it is saved.
            rules: What `decide` was given, like all that follow.
            memory: The memory of the run.
            judged: Each call of the turn, in its order, with what was decided of it.
        """
        ledger = self.ledger
        if ledger is None:
            return
        calls = [
            (record, decision, self.ask(call, run.context, rules, memory, facts))
            for record, (call, facts, decision) in zip(turn.calls, judged, strict=True)
        ]
        if entries := self._of_turn(run, turn, calls):
            yield partial(ledger.note, entries)

    def _of_turn(
        self, run: Run, turn: TurnRecord, calls: Sequence[tuple[CallRecord, Decision, Question]]
    ) -> list[Entry]:
        waiting = [record for record, decision, _ in calls if decision.verdict is Verdict.ASK]
        entries = []
        for record, decision, question in calls:
            if not decision.needs_person and decision.verdict is not Verdict.DENY:
                continue
            call = question.call
            arguments = None if call.arguments is None else call.arguments.values
            which = Which(
                run=run,
                turn_id=turn.turn_id,
                call_id=record.call_id,
                name=record.name,
                arguments=arguments,
                request_id=record.request_id,
                digest=record.digest or record.raw,
                tier=tier_of(call.entry),
                declared=() if call.entry is None else call.entry.profile.sensitive,
            )
            shown = None
            if decision.verdict is Verdict.ASK:
                shown = _shown(record, which, waiting.index(record) + 1, len(waiting))
            entries.append(judged(which, decision, question, shown))
        return entries


def tier_of(entry: CatalogEntry | None) -> str:
    """The tier of a tool in a word; empty where it is unknown."""
    if entry is None:
        return ""
    return "unclassified" if entry.tier is None else entry.tier.value


def _unnamed(name: str, answer: PolicyAnswer) -> PolicyAnswer:
    """What a policy said, without its name, which `decide` puts in front."""
    reason = "" if answer.reason == name else answer.reason.removeprefix(f"{name}: ")
    return replace(answer, reason=reason)


def _shown(record: CallRecord, which: Which, position: int, of: int) -> dict[str, Any]:
    """What a person is shown, rendered from masked arguments."""
    if which.sensitive:
        # Whoever wrote these may have quoted what is masked.
        notes = (MASK,) if record.notes else ()
        preview = record.preview and replace(record.preview, text=MASK, fault="")
        record = replace(record, notes=notes, preview=preview, reason=MASK if record.must_ask else record.reason)
    request = request_for(record, which.run, masked(which.arguments, which.declared), position, of)
    return {
        "text": request.description(),
        "remember": [offer.text for offer in request.remember],
        "answers": list(request.allowed),
        "place": [position, of],
    }

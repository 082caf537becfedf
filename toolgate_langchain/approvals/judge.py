"""Judging a turn: each of its calls once, together, before anybody is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.beside import misleading, prepare
from toolgate_langchain.approvals.heuristics import Heuristic, ask_heuristics, heuristic_name
from toolgate_langchain.approvals.judged import Judged, Judging, for_operators
from toolgate_langchain.approvals.judged_record import record_of
from toolgate_langchain.approvals.origins import log_observed
from toolgate_langchain.approvals.preview import PREVIEW_SECONDS
from toolgate_langchain.approvals.recording.recorder import Recorder
from toolgate_langchain.approvals.rules import RuleIndex, RuleView
from toolgate_langchain.approvals.turn import Run, TurnRecord
from toolgate_langchain.canonical import digest
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.policy.approval_rule import ask_predicate
from toolgate_langchain.policy.context import NO_RULES, CallFacts, RulesInForce
from toolgate_langchain.policy.decide import ProposedCall, Rulebook, decide
from toolgate_langchain.policy.decision import Code, Decision, Layer
from toolgate_langchain.policy.gates import decide_offer
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from datetime import datetime

    from langchain_core.messages import BaseMessage, ToolCall

    from toolgate_langchain.approvals.described import Describe
    from toolgate_langchain.approvals.identity import Approvers
    from toolgate_langchain.approvals.ledger import Ledger
    from toolgate_langchain.approvals.rule_ledger import Said
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.policy.history import History

__all__ = [
    "DEFAULT_MAX_AUTO_APPROVALS",
    "DEFAULT_MAX_REQUESTS",
    "FindTool",
    "TurnJudge",
]

DEFAULT_MAX_AUTO_APPROVALS: Final = 40
"""Turns in a row that rules and heuristics may release without anybody being asked. The number is
the one of the Go agent framework whose approval middleware this follows."""

DEFAULT_MAX_REQUESTS: Final = 20
"""Requests of one turn; nobody reads more of them with care."""

FindTool = Callable[[str], CatalogEntry | None]
"""Gives the agent's tool of a name, or `None`."""


class TurnJudge:
    """Judges turns for one gate.

    Args:
        rulebook: What the operator configured.
        heuristics: In order.
        ledger: Where the memory of runs is kept.
        max_auto_approvals: The cap of auto-approved turns.
        max_requests: The cap of requests in one turn.
        clock: The time, with a time zone.
        new_id: Gives random ids.
        describe: What the operator says of one call, for the person who is asked.
        approvers: Who may answer; everybody, where it is left out.
    """

    def __init__(
        self,
        rulebook: Rulebook,
        heuristics: tuple[Heuristic, ...],
        ledger: Ledger,
        *,
        max_auto_approvals: int,
        max_requests: int,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        describe: Describe | None = None,
        approvers: Approvers | None = None,
    ) -> None:
        self.rulebook, self.heuristics, self.ledger = rulebook, heuristics, ledger
        self.max_auto_approvals, self.max_requests = max_auto_approvals, max_requests
        self.clock, self.new_id, self.describe = clock, new_id, describe
        self.approvers, self.preview_seconds = approvers, PREVIEW_SECONDS
        self.recorder = Recorder(ledger, rulebook)

    def view(self, index: RuleIndex, run: Run) -> RulesInForce:
        """The rules that are in force for a run, now."""
        if not index.rules:
            return NO_RULES
        return RuleView(
            index,
            surface=run.context.surface.name,
            agent_path=run.agent_path,
            run_id=run.id,
            now=self.clock(),
            caller=run.context.caller_id,
        )

    def judge(
        self,
        run: Run,
        message_id: str,
        calls: Sequence[ToolCall],
        find: FindTool,
        index: RuleIndex,
        *,
        messages: Sequence[BaseMessage] = (),
        state: Mapping[str, Any] | None = None,
        late: bool = False,
        derived: bool = False,
        joins: str = "",
        save: bool = False,
        said: Said | None = None,
        history: History | None = None,
    ) -> Steps[TurnRecord | None]:
        """Judge all calls of a turn, each once.

        Args:
            run: The run.
            message_id: The id of the message that makes the calls.
            calls: The calls, with ids that are unique within the turn.
            find: Gives the agent's tools.
            index: The standing rules of the thread.
            messages: The conversation before the turn, for heuristics.
            state: The agent's state, for heuristics.
            late: Whether the calls appeared without a saved verdict. They are then judged without
                heuristics, and their ids are derived.
            derived: Whether ids are derived from the run and the call, so that a replay of the step that
                judges makes the same ones.
            joins: The id of the saved turn that late calls become a part of, if there is one.
            save: Whether to make a record even where nothing must be remembered.
            said: What the ledger said where the rules were looked up; looked up here where it was not.
            history: What was read before the turn, where a policy asks for it.

        Returns:
            What to save; `None` where no call needed a person and none has a predicate, so that the
            same judgement can be made again where the call runs.

        Raises:
            HeuristicError: If a heuristic raises; nothing of the turn is saved then.
        """
        derived = derived or late
        if said is None:
            said = yield lambda: self.ledger.said(run.id, run.thread_id, run.context.caller_id, place=run.place)
        assert said is not None
        memory = said.memory
        about = Judging(
            run=run,
            rules=self.view(index, run),
            memory=memory,
            stopped=said.stopped is not False,
            at_cap=memory.auto_approved_turns >= self.max_auto_approvals,
            messages=messages,
            state=state or {},
            history=history,
        )
        judged: list[Judged] = []
        asked = 0
        for call in calls:
            entry, resolving = find(call["name"]), self.rulebook.resolving
            proposed = ProposedCall.of(call["name"], call["args"], entry, resolving)
            facts, decision = yield from self._judge_one(call, proposed, about, heuristics=not late)
            if decision.verdict is Verdict.ASK:
                asked += 1
                if asked > self.max_requests:
                    decision = self._too_many()
            judged.append(Judged(call, proposed, facts, decision))
            log_observed(self.rulebook, proposed, run, history)
        needed = any(one.decision.needs_person or one.facts.predicate is not None for one in judged)
        if not needed and not save:
            return None
        turn_id = joins or (digest("toolgate:turn:1", run.id, message_id)[:32] if derived else self.new_id())
        turn = TurnRecord(turn_id=turn_id, run_id=run.id, message_id=message_id, settled=asked == 0)
        turn.ledger = yield self.ledger.identity
        turn.read = None if history is None else history.marks()
        for one in judged:
            record = record_of(one, run, turn_id, None if derived else self.new_id)
            if one.decision.verdict is Verdict.ASK:
                yield from prepare(self, record, one, about, index)
            turn.calls.append(record)
        if self.recorder.on:
            told = [(one.proposed, one.facts, one.decision) for one in judged]
            yield from self.recorder.note_turn(run, turn, about.rules, memory, told)
        auto_approved = any(call.needs_person and call.verdict is Verdict.ALLOW for call in turn.calls)
        if auto_approved and not asked:
            yield lambda: self.ledger.note_auto_approved(run.id, turn_id)
        return turn

    def _too_many(self) -> Decision:
        reason = f"more than {self.max_requests} calls of this turn need a person"
        return Decision(Verdict.DENY, Code.TOO_MANY_REQUESTS, reason, Layer.SURFACE, needs_person=True)

    def _judge_one(
        self, call: ToolCall, proposed: ProposedCall, about: Judging, *, heuristics: bool
    ) -> Steps[tuple[CallFacts, Decision]]:
        entry, arguments, context = proposed.entry, proposed.arguments, about.run.context
        facts = CallFacts(stopped=about.stopped, at_cap=about.at_cap, history=about.history)
        if entry is not None and arguments is not None:
            if entry.profile.approval_when is not None and decide_offer(entry, context, self.rulebook.catalog).allowed:
                facts = replace(facts, predicate=ask_predicate(entry, arguments.values))
            if about.memory.rejections.get(entry.name):
                facts = replace(facts, variant=True)
        decision = self._decide(proposed, about, facts)
        if not decision.needs_person or entry is None or arguments is None:
            return facts, decision
        warnings = misleading(proposed.name, entry, arguments.values, about.run.agent_path)
        if warnings:
            facts = replace(facts, warnings=warnings)
            decision = self._decide(proposed, about, facts)
        if heuristics and self.heuristics and self._open_to_heuristics(decision, facts, entry):
            heuristic = yield from ask_heuristics(self.heuristics, *for_operators(call, proposed, about))
            facts = replace(facts, heuristic=heuristic, heuristics_run=True)
            decision = self._decide(proposed, about, facts)
        if decision.verdict is Verdict.ALLOW:
            decision = self.if_unattended(entry, decision, about.run)
        return facts, decision

    def _decide(self, proposed: ProposedCall, about: Judging, facts: CallFacts) -> Decision:
        return decide(proposed, about.run.context, self.rulebook, about.rules, about.memory, facts)

    @staticmethod
    def _open_to_heuristics(decision: Decision, facts: CallFacts, entry: CatalogEntry) -> bool:
        """Whether only the surface decided, so that a heuristic's yes would make a difference."""
        barred = decision.must_ask or facts.warnings or facts.variant or facts.at_cap or entry.profile.input_schema
        return decision.layer is Layer.SURFACE and not barred

    def still_known(self, facts: CallFacts) -> CallFacts:
        """Saved outcomes without the yes of a heuristic that this gate does not have, or has no longer."""
        name = facts.heuristic
        if name is None or any(heuristic_name(one) == name for one in self.heuristics):
            return facts
        return replace(facts, heuristic=None)

    def if_unattended(self, entry: CatalogEntry, decision: Decision, run: Run) -> Decision:
        """Where nobody is there, a tool that may ever need a person is not offered, so it does not run."""
        surface = run.context.surface
        if surface.attended or not (need := self.rulebook.approval_rule.need(entry, surface)).needed:
            return decision
        reason = f"it is not in the unattended set of surface {surface.name!r}: {need.reason}"
        return Decision(Verdict.DENY, Code.UNATTENDED, reason, Layer.SURFACE, decision.trace, needs_person=True)

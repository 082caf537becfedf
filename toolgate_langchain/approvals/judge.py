"""Judging a turn: each of its calls once, together, before anybody is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import BaseMessage, ToolCall

from toolgate_langchain.approvals.described import Describe, described
from toolgate_langchain.approvals.heuristics import Heuristic, HeuristicContext, ask_heuristics, heuristic_name
from toolgate_langchain.approvals.origins import log_observed, origin_notes
from toolgate_langchain.approvals.policy_notes import policy_notes
from toolgate_langchain.approvals.preview import PREVIEW_SECONDS, SavedPreview, take_preview
from toolgate_langchain.approvals.recording.recorder import Recorder
from toolgate_langchain.approvals.request import request_digest
from toolgate_langchain.approvals.rules import RuleIndex, RuleView, ToolIdentity
from toolgate_langchain.approvals.shown import show_arguments, show_text
from toolgate_langchain.approvals.turn import CallRecord, Run, TurnRecord, raw_digest
from toolgate_langchain.canonical import canonical_json, copy_plain, digest
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.policy.approval_rule import ask_predicate
from toolgate_langchain.policy.context import NO_RULES, CallFacts, RulesInForce, RunMemory
from toolgate_langchain.policy.decide import ProposedCall, Rulebook, decide
from toolgate_langchain.policy.decision import Code, Decision, Layer
from toolgate_langchain.policy.gates import decide_offer
from toolgate_langchain.policy.sensitive import holds_sensitive
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from datetime import datetime

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
    "call_digest",
]

DEFAULT_MAX_AUTO_APPROVALS: Final = 40
"""Turns in a row that rules and heuristics may release without anybody being asked. The number is
the one of the Go agent framework whose approval middleware this follows."""

DEFAULT_MAX_REQUESTS: Final = 20
"""Requests of one turn; nobody reads more of them with care."""

FindTool = Callable[[str], CatalogEntry | None]
"""Gives the agent's tool of a name, or `None`."""


@dataclass(frozen=True, slots=True)
class _Judging:
    """What is the same for all calls of a turn."""

    run: Run
    rules: RulesInForce
    memory: RunMemory
    stopped: bool
    at_cap: bool
    messages: Sequence[BaseMessage]
    state: Mapping[str, Any]
    history: History | None = None


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
        about = _Judging(
            run=run,
            rules=self.view(index, run),
            memory=memory,
            stopped=said.stopped is not False,
            at_cap=memory.auto_approved_turns >= self.max_auto_approvals,
            messages=messages,
            state=state or {},
            history=history,
        )
        judged: list[tuple[ToolCall, ProposedCall, CallFacts, Decision]] = []
        asked = 0
        for call in calls:
            entry, resolving = find(call["name"]), self.rulebook.resolving
            proposed = ProposedCall.of(call["name"], call["args"], entry, resolving)
            facts, decision = yield from self._judge_one(call, proposed, about, heuristics=not late)
            if decision.verdict is Verdict.ASK:
                asked += 1
                if asked > self.max_requests:
                    decision = self._too_many()
            judged.append((call, proposed, facts, decision))
            log_observed(self.rulebook, proposed, run, history)
        needed = any(decision.needs_person or facts.predicate is not None for _, _, facts, decision in judged)
        if not needed and not save:
            return None
        turn_id = joins or (digest("toolgate:turn:1", run.id, message_id)[:32] if derived else self.new_id())
        turn = TurnRecord(turn_id=turn_id, run_id=run.id, message_id=message_id, settled=asked == 0)
        turn.ledger = yield self.ledger.identity
        turn.read = None if history is None else history.marks()
        for call, proposed, facts, decision in judged:
            record = self._record(call, proposed, facts, decision, about, turn_id, derived=derived)
            if decision.verdict is Verdict.ASK:
                record.shown = canonical_json(proposed.arguments.values if proposed.arguments else None)[:2_000]
                record.preview = yield from self._previewed(proposed)
                seen = policy_notes(self.rulebook, proposed, run, history, decision)
                record.notes = (*seen, *(yield from self._notes(call, proposed, about, index)))
                if record.preview is not None and record.preview.fault:
                    fault = show_text(record.preview.fault).text
                    record.notes = (*record.notes, f"what it would do could not be told: {fault}")
                record.allowed = self.rulebook.approval_rule.asks.get(record.name)
                _save_schemas(record, proposed, decision)
            turn.calls.append(record)
        if self.recorder.on:
            told = [(proposed, facts, decision) for _, proposed, facts, decision in judged]
            yield from self.recorder.note_turn(run, turn, about.rules, memory, told)
        auto_approved = any(call.needs_person and call.verdict is Verdict.ALLOW for call in turn.calls)
        if auto_approved and not asked:
            yield lambda: self.ledger.note_auto_approved(run.id, turn_id)
        return turn

    def _too_many(self) -> Decision:
        reason = f"more than {self.max_requests} calls of this turn need a person"
        return Decision(Verdict.DENY, Code.TOO_MANY_REQUESTS, reason, Layer.SURFACE, needs_person=True)

    def _judge_one(
        self, call: ToolCall, proposed: ProposedCall, about: _Judging, *, heuristics: bool
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
        warnings = _warnings(proposed.name, entry, arguments.values, about.run.agent_path)
        if warnings:
            facts = replace(facts, warnings=warnings)
            decision = self._decide(proposed, about, facts)
        if heuristics and self.heuristics and self._open_to_heuristics(decision, facts, entry):
            heuristic = yield from ask_heuristics(self.heuristics, *_for_operators(call, proposed, about))
            facts = replace(facts, heuristic=heuristic, heuristics_run=True)
            decision = self._decide(proposed, about, facts)
        if decision.verdict is Verdict.ALLOW:
            decision = self.if_unattended(entry, decision, about.run)
        return facts, decision

    def _decide(self, proposed: ProposedCall, about: _Judging, facts: CallFacts) -> Decision:
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

    def _record(
        self,
        call: ToolCall,
        proposed: ProposedCall,
        facts: CallFacts,
        decision: Decision,
        about: _Judging,
        turn_id: str,
        *,
        derived: bool,
    ) -> CallRecord:
        raw, run = raw_digest(call), about.run
        call_id = str(call["id"])
        request_id = digest("toolgate:late:1", run.id, turn_id, call_id, raw)[:32] if derived else self.new_id()
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
            record.origin, record.tier, record.memory = (
                entry.origin,
                entry.tier,
                entry.widest_memory,
            )
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

    def _previewed(self, proposed: ProposedCall) -> Steps[SavedPreview | None]:
        """What the call would do, as its tool tells it; `None` where the tool tells nothing."""
        entry, arguments = proposed.entry, proposed.arguments
        if entry is None or arguments is None or entry.profile.preview is None:
            return None
        return (yield from take_preview(entry.profile.preview, arguments.values, self.preview_seconds))

    def _notes(
        self, call: ToolCall, proposed: ProposedCall, about: _Judging, index: RuleIndex
    ) -> Steps[tuple[str, ...]]:
        """What a person should know besides the call itself."""
        entry, arguments = proposed.entry, proposed.arguments
        assert entry is not None and arguments is not None
        notes = list(origin_notes(self.rulebook, proposed, about.run, about.history))
        if self.describe is not None and (note := described(self.describe, *_for_operators(call, proposed, about))):
            notes.append(note)
        if about.at_cap:
            turns = about.memory.auto_approved_turns
            notes.append(f"{turns} turn{'s' if turns != 1 else ''} ran without anybody being asked")
        if about.memory.rejections.get(entry.name):
            notes.append("a call of this tool with other arguments was rejected in this run; this is a variant of it")
        if not arguments.exact:
            notes.append("validating its arguments twice gives different values, so they run as the model wrote them")
        if index.rules and isinstance(about.rules, RuleView) and (void := about.rules.void(entry, arguments.values)):
            notes.append(void)
        if entry.change:
            notes.append(show_text(entry.change).text)
        change = yield lambda: self.ledger.change(about.run.id, entry.name)
        if change:
            notes.append(change)
        return tuple(notes)


def _for_operators(call: ToolCall, proposed: ProposedCall, about: _Judging) -> tuple[ToolCall, HeuristicContext]:
    """One call and what surrounds it, as an operator's functions get it: a copy, so that none changes what runs."""
    entry, arguments, context = proposed.entry, proposed.arguments, about.run.context
    assert entry is not None and arguments is not None
    effective = ToolCall(name=call["name"], args=copy_plain(arguments.values), id=call["id"], type="tool_call")
    messages, state, history = about.messages, about.state, about.history
    return effective, HeuristicContext(entry, context.surface, context.caller, messages, state, history)


def _save_schemas(record: CallRecord, proposed: ProposedCall, decision: Decision) -> None:
    """Keep the forms that an answer must fit, for a process that goes on asking before it has met the tool."""
    entry = proposed.entry
    assert entry is not None
    if entry.arguments is not None:
        record.args_schema = entry.arguments.json_schema
    if decision.code == Code.INPUT_REQUIRED and entry.profile.input_schema is not None:
        record.input_schema = dict(entry.profile.input_schema)


def call_digest(run: Run, entry: ToolIdentity, arguments: Mapping[str, Any], turn_id: str, call_id: str) -> str:
    """The digest that binds a grant to one exact call of one turn."""
    context = run.context
    return request_digest(
        tool=entry.name,
        origin=entry.origin,
        fingerprint=entry.fingerprint,
        arguments=arguments,
        surface=context.surface.name,
        thread=run.thread_id,
        agent_path=run.agent_path,
        run=run.id,
        turn=turn_id,
        caller=context.caller_id,
        call_id=call_id,
    )


def _warnings(
    name: str, entry: CatalogEntry, arguments: Mapping[str, Any], agent_path: tuple[str, ...]
) -> tuple[str, ...]:
    """What could mislead a person who looks at the call."""
    return (
        *show_text(name, what="the tool's name").warnings,
        *show_text(entry.origin, what="the server's name").warnings,
        *dict.fromkeys(one for agent in agent_path for one in show_text(agent, what="an agent's name").warnings),
        *show_arguments(arguments)[1],
    )

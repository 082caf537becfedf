"""The answers of one turn that were taken in: what each does to its call, to its siblings and to later calls.

Whether an answer is for the request at hand is the queue's to say. Here it counts, or it is refused as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.asking import warnings_of
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.binding import call_digest
from toolgate_langchain.approvals.edits import changed_arguments
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, StartStatus
from toolgate_langchain.approvals.refused_before import RefusedBeforeError, refused_before
from toolgate_langchain.approvals.remembering import check_memory, rule_of
from toolgate_langchain.approvals.rules import RuleIndex, RuleView, StandingRule
from toolgate_langchain.errors import InvalidAnswerError
from toolgate_langchain.policy.context import RunMemory
from toolgate_langchain.policy.decide import ProposedCall, call_key, decide
from toolgate_langchain.policy.decision import Code
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.carrying import Carrying
    from toolgate_langchain.approvals.judge import FindTool, TurnJudge
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import CallRecord, Run, TurnRecord

__all__ = ["TakenAnswers"]


class TakenAnswers:
    """Takes answers in, for one pass over the questions of a saved turn.

    Args:
        judge: The gate's judge.
        run: The run.
        turn: The saved turn; its calls are filled in.
        calls: The calls as they stand in the message.
        find: Gives the agent's tools, as far as this process has seen them.
        carrying: Claims each answer before it is taken in.
    """

    def __init__(
        self,
        judge: TurnJudge,
        run: Run,
        turn: TurnRecord,
        calls: Sequence[ToolCall],
        find: FindTool,
        carrying: Carrying,
    ) -> None:
        self._judge, self._ledger, self._run, self._turn = judge, judge.ledger, run, turn
        self._find, self._carrying = find, carrying
        self._arguments = {str(call["id"]): call["args"] for call in calls}
        self._rejected: set[str] = set()
        self.new_rules: list[StandingRule] = []
        """The standing rules that they made, in order."""

    def effective(self, call: CallRecord) -> Mapping[str, Any]:
        """The effective arguments of a call."""
        arguments: Mapping[str, Any] = (
            call.arguments if call.arguments is not None else self._arguments.get(call.call_id, {})
        )
        return arguments

    def settles(self, call: CallRecord) -> bool:
        """Whether an answer to an earlier sibling settles this call as well. If so, its outcome is filled in."""
        if call.exact and self._key(call) in self._rejected:
            call.refuse(Code.REJECTED, "a person rejected this very call in this turn")
            return True
        if call.must_ask or warnings_of(call) or call.variant or call.at_cap or call.code == Code.INPUT_REQUIRED:
            return False
        view = RuleView(
            RuleIndex(self.new_rules),
            surface=self._run.context.surface.name,
            agent_path=self._run.agent_path,
            run_id=self._run.id,
            # Not today's time: what a rule cleared when it was made it clears in every replay.
            now=max((rule.created_at for rule in self.new_rules), default=self._judge.clock()),
            caller=self._run.context.caller_id,
        )
        arguments = self.effective(call)
        if (reason := view.denies(call, arguments)) is not None:
            call.refuse(Code.STANDING_DENY, reason)
            return True
        if (reason := view.allows(call, arguments)) is not None:
            call.outcome, call.layer = "released", "standing allows"
            call.code, call.reason = Code.STANDING_RULE, reason
            return True
        return False

    def take(
        self, call: CallRecord, answer: ApprovalAnswer, request: ApprovalRequest, *, on_record: bool = False
    ) -> Steps[None]:
        """Apply an answer to its call.

        Args:
            call: The call.
            answer: The answer, with the id of the call's request.
            request: What was asked.
            on_record: Whether nobody gave it just now; see `Carrying.take`.

        Raises:
            InvalidAnswerError: If it cannot be used; nothing has changed then.
        """
        # Whatever an operator offers, a person who is asked can say no.
        if answer.type not in (*request.allowed, "reject"):
            raise InvalidAnswerError(f'"{answer.type}" is not possible here; possible: {", ".join(request.allowed)}')
        check_memory(answer, request, call, self._run)
        if answer.type != "reject":
            yield from self._check_first(call, answer)
        yield from self._carrying.take(call.request_id, on_record=on_record)
        taken_back = False
        if answer.type == "reject":
            yield from self._reject(call, answer)
        elif answer.type == "respond":
            yield lambda: self._record(call, answer)
            call.outcome, call.message = "responded", answer.message
            call.code, call.reason = Code.RESPONDED, "a person answered in the tool's place"
        else:
            changed = changed_arguments(call, self.effective(call), answer, request, self._find(call.name))
            status = yield lambda: self._record(call, answer)
            held = yield lambda: self._ledger.answer_to(call.request_id)
            # Taken back after it was given: replayed as it was given, so that the same questions follow in
            # the same order and no other answer is lost. What it released is refused when the turn is settled.
            taken_back = status is not AnswerStatus.RECORDED and held is not None and held.type == "reject"
            yield lambda: self._ledger.note_person(self._run.id, call.request_id)
            yield from self._approve(call, answer, changed)
        call.by = answer.by
        if answer.remember is not None:
            yield from self._remember(call, answer, on_record=not taken_back)

    def take_back(self, call: CallRecord, answer: ApprovalAnswer) -> Steps[None]:
        """Apply a rejection to a call that was approved. Such an approval leaves no rule behind."""
        yield from self._reject(call, answer)
        gone = [rule for rule in self.new_rules if rule.request_id == call.request_id and rule.effect == "allow"]
        self.new_rules = [rule for rule in self.new_rules if rule not in gone]
        if gone and self._run.thread_id is not None:
            yield lambda: self._ledger.drop_thread_rules(str(self._run.place), gone)

    def conclude(self, call: CallRecord) -> Steps[None]:
        """Issue the grant of an approved call, unless the approval was taken back meanwhile."""
        if call.outcome not in ("approved", "edited", "responded"):
            return
        held = yield lambda: self._ledger.answer_to(call.request_id)
        if held is not None and held.type == "reject":
            yield from self.take_back(call, held)
            return
        yield lambda: self._ledger.grant(call.request_id, call.digest)
        if call.outcome == "responded":
            # The text is the result from here on; a rejection comes too late.
            said = CallStart(call.request_id, call.digest, needs_grant=True, repeatable=True)
            start = yield lambda: self._ledger.start(said)
            if start is not StartStatus.STARTED:
                # Closed before it was answered, as where the run went another way.
                call.refuse(Code.WITHDRAWN, f"its request was closed; its grant is {start.value}")
                return
            yield lambda: self._ledger.end(said.ended(GrantStatus.FINISHED))

    # --- one answer ---------------------------------------------------------------------------

    def _check_first(self, call: CallRecord, answer: ApprovalAnswer) -> Steps[None]:
        """Refuse an answer to a request that was answered otherwise before.

        An answer can be usable in one replay and not in the next, as where its validator looks at the
        world. The answers behind it must not move up to a request that they were not given to.
        """
        held = yield lambda: self._ledger.answer_to(call.request_id)
        if held is not None and held.type != "reject" and held != answer:
            raise InvalidAnswerError(f"this request was answered before, with {held.type!r}, and that answer holds")
        told = self._ledger, self._carrying, call.request_id, answer
        if held is None and (yield from refused_before(*told)):
            raise RefusedBeforeError

    def _record(self, call: CallRecord, answer: ApprovalAnswer) -> Any:
        now = self._judge.clock()
        return self._ledger.answer(call.request_id, answer, thread_id=self._run.thread_id, at=now)

    def _reject(self, call: CallRecord, answer: ApprovalAnswer) -> Steps[None]:
        key = self._key(call)
        self._rejected.add(key)
        call.outcome, call.message, call.by = "rejected", answer.message, answer.by
        call.code, call.reason = Code.REJECTED, "a person rejected it"
        yield lambda: self._record(call, answer)
        yield lambda: self._ledger.note_rejected(self._run.id, key, call.name, call.request_id)

    def _approve(self, call: CallRecord, answer: ApprovalAnswer, changed: dict[str, Any] | None) -> Steps[None]:
        call.outcome, call.code, call.reason = "approved", Code.APPROVED, "a person approved it"
        if changed is None:
            return
        original = self._key(call)
        entry = self._find(call.name)
        if answer.type == "edit":
            call.outcome, call.reason = "edited", "a person replaced its arguments"
            yield lambda: self._ledger.note_replaced(self._run.id, original)
        else:
            call.reason = "a person filled in its input"
        call.arguments, call.preview = changed, None  # what was shown is not what runs
        if entry is not None:
            # An edit is a new call: judged from the start. A deny wins; no second question.
            edited = ProposedCall.of(call.name, changed, entry, self._judge.rulebook.resolving)
            if edited.arguments is not None:
                call.arguments = changed = edited.arguments.values
            view = self._judge.view(RuleIndex(self.new_rules), self._run)
            again = decide(edited, self._run.context, self._judge.rulebook, view, RunMemory(), call.facts)
            if again.verdict is Verdict.DENY:
                call.refuse(again.code, again.reason)
                return
        tool = entry if entry is not None else call
        call.digest = call_digest(self._run, tool, changed, self._turn.turn_id, call.call_id)

    def _remember(self, call: CallRecord, answer: ApprovalAnswer, *, on_record: bool) -> Steps[None]:
        wanted = answer.remember
        assert wanted is not None
        answered_at: datetime | None = yield lambda: self._ledger.answered_at(call.request_id)
        # A replay takes the same answer in again; what it remembers still counts from when it was given.
        now = answered_at or self._judge.clock()
        rule = rule_of(call, self.effective(call), self._run, answer, wanted, now)
        self.new_rules.append(rule)
        if not on_record:
            return
        if rule.scope == "user":
            yield lambda: self._ledger.add_user_rule(rule)
        elif self._run.thread_id is not None:
            # The state gets it when the turn is settled; if the turn never is, it must not be lost.
            yield lambda: self._ledger.add_thread_rule(str(self._run.place), rule)

    def _key(self, call: CallRecord) -> str:
        return call_key(call, self.effective(call))

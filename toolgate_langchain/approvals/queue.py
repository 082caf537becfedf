"""The queue of one turn: calls that need a person, surfaced one at a time, in the model's order.

While it is open the queue depends on nothing but the saved turn and the answers so far. A replayed
node therefore asks the same questions in the same order, in this process or another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from toolgate_langchain.approvals.answer import ApprovalAnswer, read_answer
from toolgate_langchain.approvals.asking import request_for, warnings_of
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.carrying import AtOnce, Carrying
from toolgate_langchain.approvals.edits import changed_arguments
from toolgate_langchain.approvals.expiry import until_when
from toolgate_langchain.approvals.identity import why_not
from toolgate_langchain.approvals.judge import FindTool, TurnJudge, call_digest
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, StartStatus
from toolgate_langchain.approvals.refused_before import RefusedBeforeError, noes_behind, refused_before
from toolgate_langchain.approvals.rules import RuleIndex, RuleView, StandingRule
from toolgate_langchain.approvals.same_ledger import check_ledger
from toolgate_langchain.approvals.voiding import void_recorded
from toolgate_langchain.errors import InvalidAnswerError
from toolgate_langchain.policy.context import RunMemory
from toolgate_langchain.policy.decide import ProposedCall, call_key, decide
from toolgate_langchain.policy.decision import Code
from toolgate_langchain.vocabulary import Tier, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import CallRecord, Run, TurnRecord

__all__ = ["MAX_BAD_ANSWERS", "AnswerMode", "ApprovalQueue"]

MAX_BAD_ANSWERS: Final = 3
"""Unusable answers to one request after which it is refused; a broken screen must not loop."""

AnswerMode = Literal["strict", "lenient"]


@dataclass(frozen=True, slots=True)
class _SavedTool:
    """What was saved of a tool with the turn; enough to match rules against."""

    name: str
    origin: str
    fingerprint: str
    tier: Tier | None


class ApprovalQueue:
    """Asks about one saved turn until every call that needs a person has an answer.

    Args:
        judge: The gate's judge.
        run: The run.
        turn: The saved turn; its calls are filled in.
        calls: The calls as they stand in the message.
        find: Gives the agent's tools, as far as this process has seen them.
        mode: Whether an answer must name its request.
        pauses: What `ask` of `ask_all` raises where it suspends the run.
        carrying: Claims each answer before it is taken in.
        expiry: For how long a request can be answered.
    """

    def __init__(
        self,
        judge: TurnJudge,
        run: Run,
        turn: TurnRecord,
        calls: Sequence[ToolCall],
        find: FindTool,
        mode: AnswerMode,
        pauses: tuple[type[BaseException], ...] = (),
        carrying: Carrying | None = None,
        expiry: timedelta | None = None,
    ) -> None:
        self._pauses, self._carrying, self._expiry = pauses, carrying or AtOnce(), expiry
        self._judge, self._run, self._turn, self._find, self._mode = judge, run, turn, find, mode
        self._arguments = {str(call["id"]): call["args"] for call in calls}
        self._answers: dict[str, ApprovalAnswer] = {}
        self._rejected: set[str] = set()
        self.new_rules: list[StandingRule] = []

    def ask_all(self, ask: Callable[[dict[str, Any]], Any]) -> Steps[None]:
        """Ask, one request at a time, and settle the turn.

        Args:
            ask: Shows one request and returns the raw answer; may suspend the run instead.

        Raises:
            AlreadyAnsweredError: If another worker carries the answer that this pass came with.
            LedgerError: If the turn was judged with another ledger.
        """
        yield from check_ledger(self._judge.ledger, self._turn)
        waiting = [call for call in self._turn.calls if call.verdict is Verdict.ASK]
        try:
            for position, call in enumerate(waiting, start=1):
                if not self._cleared(call):
                    yield from self._ask_one(call, position, len(waiting), ask)
            yield from self._taken_back_at_last()
            if waiting:
                yield from self._carrying.settle(self._turn.turn_id)
            yield from self._carrying.still_mine()
            for call in waiting:
                yield from self._conclude(call)
            yield from self._carrying.still_mine()
        except self._pauses:
            raise
        except Exception:
            yield from self._carrying.failed()
            raise
        self._turn.settled = True

    # --- one request --------------------------------------------------------------------------

    def _cleared(self, call: CallRecord) -> bool:
        """Whether an answer to an earlier sibling settled this call as well."""
        if call.exact and self._key(call) in self._rejected:
            _refuse(call, Code.REJECTED, "a person rejected this very call in this turn")
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
        tool, arguments = _saved_tool(call), self._effective(call)
        if (reason := view.denies(tool, arguments)) is not None:
            _refuse(call, Code.STANDING_DENY, reason)
            return True
        if (reason := view.allows(tool, arguments)) is not None:
            call.outcome, call.code, call.reason, call.layer = (
                "released",
                Code.STANDING_RULE,
                reason,
                "standing allows",
            )
            return True
        return False

    def _ask_one(self, call: CallRecord, position: int, of: int, ask: Callable[[dict[str, Any]], Any]) -> Steps[None]:
        request = request_for(call, self._run, self._effective(call), position, of)
        if self._expiry is not None:
            request, over = yield from until_when(self._judge, request, self._expiry)
            if over:
                _refuse(call, Code.EXPIRED, "its time was over before anybody had answered it")
                return
        bad, error = 0, ""
        if (held := (yield from self._left_on_record(call))) is not None:
            try:
                yield from self._take(call, held, request, on_record=True)
                self._answers[call.request_id] = held
                return
            except InvalidAnswerError as problem:
                error = yield from self._void(call, held, problem, on_record=True)
                if call.outcome:
                    return
                yield from self._carrying.give_back(call.request_id)
        while True:
            raw = yield from self._show(replace(request, error=error), ask)
            given = answer = None
            try:
                given = read_answer(raw, request)
                answer = self._for_this(given, request)
                if answer is None:
                    error = yield from self._for_another(given, request)
                    continue
                if error := (yield from self._barred(answer, request)):
                    continue
                yield from self._take(call, answer, request)
            except InvalidAnswerError as problem:
                if answer is not None:
                    # Where it was left in the ledger, the request waits there again.
                    yield partial(self._judge.ledger.send_back, call.request_id, answer)
                if isinstance(problem, RefusedBeforeError) and self._judge.approvers is not None:
                    error = f"That answer cannot be used: {problem}. It still waits."
                    continue  # its giver may have been barred, which costs no try
                if answer is not None:
                    # Without an id, what was sent to a later request would count as the other answer to this one.
                    if given is not None and given.request_id is not None:
                        yield from self._void(call, answer, problem, on_record=False)
                    if call.outcome:
                        return
                    yield from self._carrying.give_back(call.request_id)
                bad += 1
                if bad >= MAX_BAD_ANSWERS:
                    yield from self._carrying.take(call.request_id)
                    _refuse(call, Code.BAD_ANSWERS, f"{bad} unusable answers; the last: {problem}")
                    # Nobody is asked about it any more.
                    yield lambda: self._judge.ledger.withdraw([call.request_id])
                    return
                left = MAX_BAD_ANSWERS - bad
                tries = "try" if left == 1 else "tries"
                error = f"That answer cannot be used: {problem}. {left} more {tries}, then it is denied."
                continue
            self._answers[call.request_id] = answer
            return

    def _void(
        self, call: CallRecord, answer: ApprovalAnswer, why: InvalidAnswerError, *, on_record: bool
    ) -> Steps[str]:
        """Take an answer that cannot be used off the record, where it is on it; what to show with the request."""
        yield from void_recorded(self._judge.ledger, self._carrying, call, answer, why, on_record=on_record)
        return f"The answer on record cannot be used any more: {why}. Another one is needed."

    def _left_on_record(self, call: CallRecord) -> Steps[ApprovalAnswer | None]:
        """The answer of a worker that died when it had recorded it and its run did not have it yet.

        Nobody is asked for it again. What was left in the ledger on purpose waits there until it is carried.
        """
        if self._carrying.coming(call.request_id):
            return None
        ledger, key = self._judge.ledger, call.request_id
        held: ApprovalAnswer | None = yield lambda: ledger.answer_to(key)
        if held is None or (yield lambda: ledger.left_answer(key)) is not None:
            return None
        return replace(held, request_id=key)

    def _show(self, request: ApprovalRequest, ask: Callable[[dict[str, Any]], Any]) -> Steps[Any]:
        """Show a request. Where the run suspends for it, the ledger has it before anybody can see it.

        In a replay that has the answer already nobody is shown anything, and nothing is written.
        """
        try:
            return (yield partial(ask, request.to_interrupt()))
        except self._pauses:
            ledger, now = self._judge.ledger, self._judge.clock()
            ends = request.expires_at
            thread, place = self._run.thread_id, self._run.place
            yield lambda: ledger.ask(request, thread_id=thread, at=now, expires_at=ends, place=place)
            raise

    def _for_this(self, answer: ApprovalAnswer, request: ApprovalRequest) -> ApprovalAnswer | None:
        """The answer if it is meant for this request, `None` if it names another."""
        if answer.request_id is None:
            if self._mode == "strict":
                raise InvalidAnswerError('the answer names no request: add "request_id"')
            # A double click can answer the next question here, so it must not be remembered.
            return replace(answer, request_id=request.request_id, remember=None)
        return answer if answer.request_id == request.request_id else None

    def _barred(self, answer: ApprovalAnswer, request: ApprovalRequest) -> Steps[str]:
        """Why whoever gave an answer may not give it, by the operator's rule; empty where they may."""
        approvers, key, ledger = self._judge.approvers, request.request_id, self._judge.ledger
        if approvers is None:
            return ""
        held = yield lambda: ledger.answer_to(key)
        left = yield lambda: ledger.left_answer(key)
        if held == answer and left is None:
            # Taken in before, and replayed. What its approver may do by now counts at the last step.
            return ""
        told = yield from why_not(approvers, request, answer.by)
        if told:
            yield lambda: ledger.send_back(key, answer)
        return told and f"{told}. It still waits."

    def _for_another(self, answer: ApprovalAnswer, request: ApprovalRequest) -> Steps[str]:
        """An answer to an earlier request of the turn may take it back; anything else changes nothing."""
        earlier = self._answers.get(answer.request_id or "")
        if earlier is not None and answer.type == "reject" and earlier.type != "reject":
            call = next(call for call in self._turn.calls if call.request_id == answer.request_id)
            about = request_for(call, self._run, self._effective(call), 1, 1)
            if told := (yield from self._barred(answer, about)):
                return told
            yield from self._reject(call, answer)
            self._answers[call.request_id] = answer
            yield from self._forget_rules_of(call)
            # Said, not dropped: whoever wanted to forbid it for good can do so when it is asked about again.
            forgot = " Nothing is remembered of that." if answer.remember is not None else ""
            return f"The approval of {call.name} was taken back.{forgot} This request still waits for its own answer."
        already = "was already answered" if earlier is not None else "is not pending"
        if any(call.request_id == answer.request_id and call.code == Code.EXPIRED for call in self._turn.calls):
            already = "has expired"
        return f"Request {str(answer.request_id)[:64]} {already}; this is request {request.request_id}."

    def _taken_back_at_last(self) -> Steps[None]:
        """Hear the noes behind all that was asked: a yes was on record when its worker failed, and is not used yet."""
        for answer in noes_behind(self._carrying, next(reversed(self._answers), None)):
            if call := next((call for call in self._turn.calls if call.request_id == answer.request_id), None):
                yield from self._for_another(answer, request_for(call, self._run, self._effective(call), 1, 1))

    # --- taking an answer in ------------------------------------------------------------------

    def _take(
        self, call: CallRecord, answer: ApprovalAnswer, request: ApprovalRequest, *, on_record: bool = False
    ) -> Steps[None]:
        """Apply an answer to its call.

        Raises:
            InvalidAnswerError: If it cannot be used; nothing has changed then.
        """
        # Whatever an operator offers, a person who is asked can say no.
        if answer.type not in (*request.allowed, "reject"):
            raise InvalidAnswerError(f'"{answer.type}" is not possible here; possible: {", ".join(request.allowed)}')
        self._check_memory(answer, request, call)
        if answer.type != "reject":
            yield from self._check_first(call, answer)
        yield from self._carrying.take(call.request_id, on_record=on_record)
        taken_back = False
        if answer.type == "reject":
            yield from self._reject(call, answer)
        elif answer.type == "respond":
            yield lambda: self._record_answer(call, answer)
            call.outcome, call.message = "responded", answer.message
            call.code, call.reason = Code.RESPONDED, "a person answered in the tool's place"
        else:
            changed = changed_arguments(call, self._effective(call), answer, request, self._find(call.name))
            status = yield lambda: self._record_answer(call, answer)
            held = yield lambda: self._judge.ledger.answer_to(call.request_id)
            # Taken back after it was given: replayed as it was given, so that the same questions follow in
            # the same order and no other answer is lost. What it released is refused when the turn is settled.
            taken_back = status is not AnswerStatus.RECORDED and held is not None and held.type == "reject"
            yield lambda: self._judge.ledger.note_person(self._run.id, call.request_id)
            yield from self._approve(call, answer, changed)
        call.by = answer.by
        if answer.remember is not None:
            yield from self._remember(call, answer, on_record=not taken_back)

    def _check_first(self, call: CallRecord, answer: ApprovalAnswer) -> Steps[None]:
        """Refuse an answer to a request that was answered otherwise before.

        An answer can be usable in one replay and not in the next, as where its validator looks at the
        world. The answers behind it must not move up to a request that they were not given to.
        """
        held = yield lambda: self._judge.ledger.answer_to(call.request_id)
        if held is not None and held.type != "reject" and held != answer:
            raise InvalidAnswerError(f"this request was answered before, with {held.type!r}, and that answer holds")
        told = self._judge.ledger, self._carrying, call.request_id, answer
        if held is None and (yield from refused_before(*told)):
            raise RefusedBeforeError

    def _record_answer(self, call: CallRecord, answer: ApprovalAnswer) -> Any:
        now = self._judge.clock()
        return self._judge.ledger.answer(call.request_id, answer, thread_id=self._run.thread_id, at=now)

    def _check_memory(self, answer: ApprovalAnswer, request: ApprovalRequest, call: CallRecord) -> None:
        wanted = answer.remember
        if wanted is None:
            return
        offered = {(offer.what, offer.scope) for offer in request.remember}
        if answer.type == "reject":
            # A person may forbid more than could be permitted.
            offered |= {("arguments", "run"), ("tool", "run")}
            if self._run.thread_id is not None:
                offered |= {("arguments", "thread"), ("tool", "thread")}
            if self._run.context.caller_id is not None:
                offered |= {("arguments", "user"), ("tool", "user")}
        if call.sensitive:
            # A rule would keep the very arguments, for years and for many eyes.
            offered = {offer for offer in offered if offer[0] != "arguments"}
        if (wanted.what, wanted.scope) not in offered:
            listed = ", ".join(sorted({f"{what} ({scope})" for what, scope in offered})) or "nothing"
            raise InvalidAnswerError(
                f"remembering {wanted.what} ({wanted.scope}) is not offered here; offered: {listed}"
            )

    def _reject(self, call: CallRecord, answer: ApprovalAnswer) -> Steps[None]:
        key = self._key(call)
        self._rejected.add(key)
        call.outcome, call.message, call.by = "rejected", answer.message, answer.by
        call.code, call.reason = Code.REJECTED, "a person rejected it"
        yield lambda: self._record_answer(call, answer)
        yield lambda: self._judge.ledger.note_rejected(self._run.id, key, call.name, call.request_id)

    def _approve(self, call: CallRecord, answer: ApprovalAnswer, changed: dict[str, Any] | None) -> Steps[None]:
        call.outcome, call.code, call.reason = "approved", Code.APPROVED, "a person approved it"
        if changed is None:
            return
        original = self._key(call)
        entry = self._find(call.name)
        if answer.type == "edit":
            call.outcome, call.reason = "edited", "a person replaced its arguments"
            yield lambda: self._judge.ledger.note_replaced(self._run.id, original)
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
                _refuse(call, again.code, again.reason)
                return
        tool = entry if entry is not None else _saved_tool(call)
        call.digest = call_digest(self._run, tool, changed, self._turn.turn_id, call.call_id)

    def _forget_rules_of(self, call: CallRecord) -> Steps[None]:
        """An approval that was taken back leaves no rule behind."""
        gone = [rule for rule in self.new_rules if rule.request_id == call.request_id and rule.effect == "allow"]
        self.new_rules = [rule for rule in self.new_rules if rule not in gone]
        if gone and self._run.thread_id is not None:
            yield lambda: self._judge.ledger.drop_thread_rules(str(self._run.place), gone)

    def _remember(self, call: CallRecord, answer: ApprovalAnswer, *, on_record: bool) -> Steps[None]:
        wanted = answer.remember
        assert wanted is not None
        answered_at: datetime | None = yield lambda: self._judge.ledger.answered_at(call.request_id)
        # A replay takes the same answer in again; what it remembers still counts from when it was given.
        now = answered_at or self._judge.clock()
        # Always from the recorded call, whatever else the answer carried.
        rule = StandingRule(
            tool_name=call.name,
            arguments=None if wanted.what == "tool" else dict(self._effective(call)),
            effect="allow" if answer.type == "approve" else "deny",
            scope=wanted.scope,
            origin=call.origin,
            fingerprint=call.fingerprint,
            tier=call.tier,
            surface=self._run.context.surface.name,
            agent_path=self._run.agent_path,
            run_id=self._run.id if wanted.scope == "run" else None,
            caller=self._run.context.caller_id,
            request_id=call.request_id,
            created_by=answer.by,
            created_at=now,
            expires_at=None if wanted.expires_in is None else now + timedelta(seconds=wanted.expires_in),
        )
        self.new_rules.append(rule)
        if not on_record:
            return
        if rule.scope == "user":
            yield lambda: self._judge.ledger.add_user_rule(rule)
        elif self._run.thread_id is not None:
            # The state gets it when the turn is settled; if the turn never is, it must not be lost.
            yield lambda: self._judge.ledger.add_thread_rule(str(self._run.place), rule)

    def _conclude(self, call: CallRecord) -> Steps[None]:
        """Issue the grant of an approved call, unless the approval was taken back meanwhile."""
        if call.outcome not in ("approved", "edited", "responded"):
            return
        held = yield lambda: self._judge.ledger.answer_to(call.request_id)
        if held is not None and held.type == "reject":
            yield from self._reject(call, held)
            yield from self._forget_rules_of(call)
            return
        ledger = self._judge.ledger
        yield lambda: ledger.grant(call.request_id, call.digest)
        if call.outcome == "responded":
            # The text is the result from here on; a rejection comes too late.
            said = CallStart(call.request_id, call.digest, needs_grant=True, repeatable=True)
            start = yield lambda: ledger.start(said)
            if start is not StartStatus.STARTED:
                # Closed before it was answered, as where the run went another way.
                _refuse(call, Code.WITHDRAWN, f"its request was closed; its grant is {start.value}")
                return
            yield lambda: ledger.end(said.ended(GrantStatus.FINISHED))

    # --- the saved call -----------------------------------------------------------------------

    def _effective(self, call: CallRecord) -> Mapping[str, Any]:
        arguments: Mapping[str, Any] = (
            call.arguments if call.arguments is not None else self._arguments.get(call.call_id, {})
        )
        return arguments

    def _key(self, call: CallRecord) -> str:
        return call_key(call, self._effective(call))


def _refuse(call: CallRecord, code: str, reason: str) -> None:
    call.outcome, call.code, call.reason = "refused", code, reason


def _saved_tool(call: CallRecord) -> _SavedTool:
    return _SavedTool(call.name, call.origin, call.fingerprint, call.tier)

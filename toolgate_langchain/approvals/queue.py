"""The queue of one turn: calls that need a person, surfaced one at a time, in the model's order.

While it is open the queue depends on nothing but the saved turn and the answers so far. A replayed
node therefore asks the same questions in the same order, in this process or another.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from toolgate_langchain.approvals.answer import ApprovalAnswer, read_answer
from toolgate_langchain.approvals.asking import request_for
from toolgate_langchain.approvals.carrying import AtOnce, Carrying
from toolgate_langchain.approvals.expiry import until_when
from toolgate_langchain.approvals.identity import why_not
from toolgate_langchain.approvals.refused_before import RefusedBeforeError, noes_behind
from toolgate_langchain.approvals.same_ledger import check_ledger
from toolgate_langchain.approvals.taken import TakenAnswers
from toolgate_langchain.approvals.voiding import void_recorded
from toolgate_langchain.errors import InvalidAnswerError
from toolgate_langchain.policy.decision import Code
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.judge import FindTool, TurnJudge
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.rules import StandingRule
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import CallRecord, Run, TurnRecord

__all__ = ["MAX_BAD_ANSWERS", "AnswerMode", "ApprovalQueue"]

MAX_BAD_ANSWERS: Final = 3
"""Unusable answers to one request after which it is refused; a broken screen must not loop."""

AnswerMode = Literal["strict", "lenient"]


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
        self._judge, self._run, self._turn, self._mode = judge, run, turn, mode
        self._taken = TakenAnswers(judge, run, turn, calls, find, self._carrying)
        self._answers: dict[str, ApprovalAnswer] = {}

    @property
    def new_rules(self) -> Sequence[StandingRule]:
        """The standing rules that the answers made so far, in order."""
        return self._taken.new_rules

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
                if not self._taken.settles(call):
                    yield from self._ask_one(call, position, len(waiting), ask)
            yield from self._taken_back_at_last()
            if waiting:
                yield from self._carrying.settle(self._turn.turn_id)
            yield from self._carrying.still_mine()
            for call in waiting:
                yield from self._taken.conclude(call)
            yield from self._carrying.still_mine()
        except self._pauses:
            raise
        except Exception:
            yield from self._carrying.failed()
            raise
        self._turn.settled = True

    # --- one request --------------------------------------------------------------------------

    def _ask_one(self, call: CallRecord, position: int, of: int, ask: Callable[[dict[str, Any]], Any]) -> Steps[None]:
        request = request_for(call, self._run, self._taken.effective(call), position, of)
        if self._expiry is not None:
            request, over = yield from until_when(self._judge, request, self._expiry)
            if over:
                call.refuse(Code.EXPIRED, "its time was over before anybody had answered it")
                return
        bad, error = 0, ""
        if (held := (yield from self._left_on_record(call))) is not None:
            try:
                yield from self._taken.take(call, held, request, on_record=True)
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
                yield from self._taken.take(call, answer, request)
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
                    call.refuse(Code.BAD_ANSWERS, f"{bad} unusable answers; the last: {problem}")
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
            about = request_for(call, self._run, self._taken.effective(call), 1, 1)
            if told := (yield from self._barred(answer, about)):
                return told
            yield from self._taken.take_back(call, answer)
            self._answers[call.request_id] = answer
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
                yield from self._for_another(answer, request_for(call, self._run, self._taken.effective(call), 1, 1))

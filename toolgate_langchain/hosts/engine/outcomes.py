"""A call that was started before: what is known of it is told, and where nobody knows, a person is asked.

Nothing is repeated on its own. This is the one question of the last step: there is no step before it any more, and a
call that was started is not judged again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.answer import ApprovalAnswer, read_answer
from toolgate_langchain.approvals.attempts import CallEnd, new_name
from toolgate_langchain.approvals.identity import why_not
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus
from toolgate_langchain.approvals.queue import MAX_BAD_ANSWERS
from toolgate_langchain.approvals.refused_before import RefusedBeforeError, noes_behind, refused_before
from toolgate_langchain.approvals.unknown import OUTCOME_ANSWERS, outcome_request
from toolgate_langchain.errors import AlreadyAnsweredError, InvalidAnswerError
from toolgate_langchain.hosts.engine.parent_run import note_lost
from toolgate_langchain.hosts.engine.refusal import reported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.attempts import CallStart
    from toolgate_langchain.approvals.carrying import Carrying
    from toolgate_langchain.approvals.inbox import LeftAnswer
    from toolgate_langchain.approvals.ledger import Ledger
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.hosts.engine.attempt import Attempt
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["TRY_AGAIN", "Question", "results_of", "started_before"]

TRY_AGAIN: Final = "try again"
"""What `started_before` gives where the call may run once more, and this attempt has the right to."""


@dataclass(frozen=True, slots=True)
class Question:
    """How a host asks a person where a call would run."""

    ask: Callable[[dict[str, Any]], Any]
    """Shows one request and returns the raw answer; may suspend the run instead."""
    pauses: tuple[type[BaseException], ...]
    """What `ask` raises where it suspends the run."""
    carrying: Carrying


def results_of(run: Run) -> str:
    """The scope under which the results of a run's turn are kept."""
    return "/".join((run.id, run.start, *run.agent_path))


def started_before(
    gate: ToolGate,
    attempt: Attempt,
    call: CallStart,
    values: Mapping[str, Any],
    question: Question | None,
    leaving: type[AlreadyAnsweredError],
) -> Steps[ToolMessage | str | None]:
    """What becomes of a call whose right to start was used up before.

    Args:
        gate: The gate.
        attempt: The call.
        call: The start that was refused.
        values: Its effective arguments.
        question: How to ask; `None` where nobody can be asked.
        leaving: The error with which the call is left to whoever is at it.

    Returns:
        Its result, `TRY_AGAIN`, or `None` where its outcome stays unknown.

    Raises:
        AlreadyAnsweredError: If another worker may still be at it. Nothing may be saved then.
    """
    key, ledger = attempt.key, gate.ledger
    if (yield partial(ledger.held, key)):
        name = attempt.call["name"]
        why = f"another worker started the call of {name!r} and may still be at it; nothing was saved here"
        raise note_lost(leaving(f"{why}. If it died, resume the run when its lease is over"))
    if (yield partial(ledger.status, key)) is not GrantStatus.STARTED:
        return (yield from _known_result(ledger, key))
    if question is None or not attempt.run.context.surface.attended:
        return None
    tries: int = yield partial(ledger.tries, key)
    assert attempt.entry is not None
    call_id = str(attempt.call["id"])
    request = outcome_request(key, tries, call.digest, attempt.run, attempt.entry, call_id, values)
    said: ApprovalAnswer | None = yield from _asked(gate, request, attempt.run, question)
    if said is None or said.type == "reject":
        return None
    if said.type == "try_again":
        if (yield partial(ledger.try_again, call, tries, asked=request.request_id)) is not True:
            why = f"request {request.request_id} was already answered: another worker tries the call again"
            raise note_lost(leaving(why))
        return TRY_AGAIN
    result: ToolMessage = reported(call_id, attempt.call["name"], said, request.request_id)
    ended = GrantStatus.FAILED if said.type == "failed" else GrantStatus.FINISHED
    scope = results_of(attempt.run)
    told = CallEnd(key, new_name(), ended, result, scope)
    if (yield partial(ledger.end_unknown, told, tries)) is not True:
        # Its worker came to an end after all, or somebody else carried the same word: what is recorded holds.
        if (yield partial(ledger.status, key)) is GrantStatus.STARTED:
            why = f"request {request.request_id} was already answered: the call was started once more"
            raise note_lost(leaving(why))
        return (yield from _known_result(ledger, key))
    return result


def _known_result(ledger: Ledger, key: str) -> Steps[ToolMessage | None]:
    """What a call gave that came to an end, where that was kept."""
    kept: ToolMessage | None = yield partial(ledger.result, key)
    return kept


def _asked(gate: ToolGate, request: ApprovalRequest, run: Run, question: Question) -> Steps[ApprovalAnswer | None]:
    """What a person says of an unknown outcome; `None` where there was no usable answer."""
    ledger, key, bad, error = gate.ledger, request.request_id, 0, ""
    while bad < MAX_BAD_ANSWERS:
        shown = replace(request, error=error)
        try:
            raw = yield partial(question.ask, shown.to_interrupt())
        except question.pauses:
            now = gate.judge.clock()
            yield partial(ledger.ask, shown, thread_id=run.thread_id, at=now, place=run.place)
            raise
        try:
            given = _read(gate, raw, request)
        except InvalidAnswerError as problem:
            bad += 1
            yield from _send_back(gate, raw, request)
            error = f"That answer cannot be used: {problem}. {MAX_BAD_ANSWERS - bad} more, then it stays unknown."
            continue
        if given.request_id != key:
            error = f"Request {str(given.request_id)[:64]} is not pending; this is request {key}."
            continue
        approvers = gate.judge.approvers
        if approvers is not None and (told := (yield from why_not(approvers, request, given.by))):
            yield partial(ledger.send_back, key, given)
            error = f"{told}. It still waits."
            continue
        held: ApprovalAnswer | None = yield partial(ledger.answer_to, key)
        if held is None and (yield from refused_before(ledger, question.carrying, key, given)):
            error = f"That answer cannot be used: {RefusedBeforeError()}."
            continue
        yield from question.carrying.take(key)
        said: ApprovalAnswer = yield from _first(gate, given, request, run)
        if said.type == "try_again":
            # On record when its worker failed, and not begun: a no that came after it is heard.
            for no in noes_behind(question.carrying, key):
                entitled = approvers is None or not (yield from why_not(approvers, request, no.by))
                if no.request_id == key and entitled:
                    # Recorded, so that no fork that has the older answer alone runs the call.
                    said = yield from _first(gate, no, request, run)
                    break
        return _known(said)
    yield partial(ledger.withdraw, [key])
    return None


def _first(gate: ToolGate, given: ApprovalAnswer, request: ApprovalRequest, run: Run) -> Steps[ApprovalAnswer]:
    """The answer that holds: the first, if whoever gave it may, unless a no comes before it was used.

    One that was left in the ledger is kept there before anybody looks at who gave it.
    """
    ledger, key, approvers = gate.ledger, request.request_id, gate.judge.approvers
    while True:
        status = yield partial(ledger.answer, key, given, thread_id=run.thread_id, at=gate.judge.clock())
        if status is AnswerStatus.WITHDRAWN:
            yield partial(ledger.carried, key)  # what was left is taken back, and the no is in its run
        held: ApprovalAnswer | None = yield partial(ledger.answer_to, key)
        if held is None or held == given:
            return given
        left: LeftAnswer | None = yield partial(ledger.left_answer, key)
        # An approval that somebody left says nothing of what became of a call.
        usable = held.type in (*OUTCOME_ANSWERS, "respond")
        if left is None or left.taken_in:
            return held if usable else replace(held, type="reject")
        entitled = approvers is None or not (yield from why_not(approvers, request, held.by))
        if usable and entitled and given.type != "reject":
            return held
        yield partial(ledger.send_back, key, held)


def _send_back(gate: ToolGate, raw: Any, request: ApprovalRequest) -> Steps[None]:
    """Where an unusable answer was left in the ledger, the request waits there again."""
    try:
        given = read_answer(raw, request)
    except InvalidAnswerError:
        return
    yield partial(gate.ledger.send_back, request.request_id, given)


def _known(answer: ApprovalAnswer) -> ApprovalAnswer:
    """An answer in the words for outcomes: what a screen that has LangChain's alone wrote is what is known of it."""
    return replace(answer, type="done") if answer.type == "respond" else answer


def _read(gate: ToolGate, raw: Any, request: ApprovalRequest) -> ApprovalAnswer:
    """The answer, as it was given.

    Raises:
        InvalidAnswerError: If it is none for this question: above all, an approval does not run a call again.
    """
    given = read_answer(raw, request)
    if given.request_id is None:
        if gate.answers == "strict":
            raise InvalidAnswerError('the answer names no request: add "request_id"')
        given = replace(given, request_id=request.request_id)
    if given.type not in (*OUTCOME_ANSWERS, "respond"):
        raise InvalidAnswerError(f'"{given.type}" is not possible here; possible: {", ".join(OUTCOME_ANSWERS)}')
    if given.remember is not None:
        raise InvalidAnswerError("nothing can be remembered of an outcome")
    return given

"""What becomes of one answer, in the words that every host uses for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from toolgate_langchain.approvals.answer import ApprovalAnswer
from toolgate_langchain.approvals.identity import UNSAID, readable_identity, why_not
from toolgate_langchain.approvals.ledger import AnswerStatus

if TYPE_CHECKING:
    from toolgate_langchain.approvals.identity import Unsaid
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["AnswerResult", "Answered", "barred", "named_by", "not_pending"]

Answered = Literal[
    "accepted",
    "asked_again",
    "not_allowed",
    "already_answered",
    "expired",
    "withdrawn",
    "too_late",
    "not_pending",
    "invalid",
]


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """What became of one answer.

    `accepted`: the run went on. `asked_again`: the answer could not be used and the request waits,
    with what was wrong. `not_allowed`: whoever gave it may not, by the operator's rule, and the request
    goes on waiting. `already_answered`, `too_late`, `not_pending`, `invalid`: nothing changed.
    `withdrawn`: an approval that was not used yet was taken back. `expired`: it came too late, the call
    was denied, and the run went on without it.
    """

    status: Answered
    detail: str = ""
    output: Any = None
    """What the agent returned, where the run went on."""


def named_by(answer: Any, by: str | Unsaid | None) -> Any:
    """An answer that says who gave it, as whoever drives the run knows; a shape that is no object stays as it is.

    Args:
        answer: The answer, in any shape.
        by: Who gave it; `UNSAID` where the answer's own word stands.
    """
    if by is UNSAID:
        return answer
    who = readable_identity(by)
    if isinstance(answer, ApprovalAnswer):
        return replace(answer, by=who)
    if isinstance(answer, Mapping):
        decisions = answer.get("decisions")
        if isinstance(decisions, list):
            return {**answer, "decisions": [named_by(one, who) for one in decisions]}
        return {**answer, "by": who}
    return [named_by(one, who) for one in answer] if isinstance(answer, list) else answer


def barred(gate: ToolGate, answer: ApprovalAnswer, request: ApprovalRequest | None = None) -> Steps[str]:
    """Why whoever gave an answer may not give it, by the operator's rule; empty where they may.

    Args:
        gate: The gate.
        answer: The answer, which names its request.
        request: The request as it is shown; left out, as the ledger has it.
    """
    approvers = gate.judge.approvers
    if approvers is None:
        return ""
    if request is None:
        asked = yield lambda: gate.ledger.asked(str(answer.request_id))
        if asked is None:
            return "nobody may answer a request that is not on record"
        request = asked.request
    return (yield from why_not(approvers, request, answer.by))


def not_pending(gate: ToolGate, answer: ApprovalAnswer, thread: Any) -> Steps[AnswerResult]:
    """What becomes of an answer whose request does not wait: nothing, or an unused approval is taken back.

    Args:
        gate: The gate.
        answer: The answer, which names its request.
        thread: The thread that it was sent to.
    """
    wanted = str(answer.request_id)
    recorded = yield lambda: gate.ledger.answer_to(wanted)
    answered_on = yield lambda: gate.ledger.thread_of(wanted)
    if recorded is None or answered_on != (None if thread is None else str(thread)):
        # An approval is taken back from its own thread only.
        return AnswerResult("not_pending", f"request {wanted} is not pending on this thread")
    if answer.type == "reject" and (told := (yield from barred(gate, answer))):
        return AnswerResult("not_allowed", told)
    status = yield lambda: gate.ledger.answer(wanted, answer)
    if status is AnswerStatus.WITHDRAWN:
        forgot = "; nothing is remembered of that" if answer.remember is not None else ""
        return AnswerResult("withdrawn", f"the approval was taken back before it was used{forgot}")
    if status is AnswerStatus.TOO_LATE:
        return AnswerResult("too_late", "the approval was used already")
    return AnswerResult("already_answered", f"request {wanted} was answered with {recorded.type!r}")

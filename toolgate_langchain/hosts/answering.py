"""What becomes of one answer, in the words that every host uses for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from toolgate_langchain.approvals.ledger import AnswerStatus

if TYPE_CHECKING:
    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["AnswerResult", "Answered", "not_pending"]

Answered = Literal["accepted", "asked_again", "already_answered", "withdrawn", "too_late", "not_pending", "invalid"]


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """What became of one answer.

    `accepted`: the run went on. `asked_again`: the answer could not be used and the request waits,
    with what was wrong. `already_answered`, `too_late`, `not_pending`, `invalid`: nothing changed.
    `withdrawn`: an approval that was not used yet was taken back.
    """

    status: Answered
    detail: str = ""
    output: Any = None
    """What the agent returned, where the run went on."""


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
    status = yield lambda: gate.ledger.answer(wanted, answer)
    if status is AnswerStatus.WITHDRAWN:
        forgot = "; nothing is remembered of that" if answer.remember is not None else ""
        return AnswerResult("withdrawn", f"the approval was taken back before it was used{forgot}")
    if status is AnswerStatus.TOO_LATE:
        return AnswerResult("too_late", "the approval was used already")
    return AnswerResult("already_answered", f"request {wanted} was answered with {recorded.type!r}")

"""Going on with an answer that is on record, where the run that took it was lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from toolgate_langchain.hosts.engine.answering import AnswerResult

if TYPE_CHECKING:
    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.hosts.gated.progress import Progress

__all__ = ["give_back", "take_what_is_on_record"]


def take_what_is_on_record(gate: ToolGate, progress: Progress) -> Steps[None]:
    """Take the answer that the ledger has to the request that waits; nothing where there is none.

    Args:
        gate: The gate.
        progress: The conversation; it is changed.
    """
    request = progress.request
    assert request is not None
    held: ApprovalAnswer | None = yield lambda: gate.ledger.answer_to(request.request_id)
    if held is None:
        return
    claimed = yield lambda: gate.ledger.claim(request.request_id)
    # What the run was resumed with, if anything, was for another request, and has been taken in.
    progress.answer = progress.became_of_the_answer()
    if claimed is not True:
        # So that nobody is asked for what was said.
        told = (
            f"request {request.request_id} was answered, and another worker may be at it; resume when its lease is over"
        )
        progress.answer = progress.answer or AnswerResult("already_answered", told)
        return
    yield from give_back(gate, progress)
    progress.claimed, progress.left = request.request_id, True
    progress.take(replace(held, request_id=request.request_id).to_json())


def give_back(gate: ToolGate, progress: Progress) -> Steps[None]:
    """Give back the claim on the request whose answer was taken."""
    if progress.claimed is not None:
        claimed, progress.claimed = progress.claimed, None
        if progress.left and (progress.request is None or progress.request.request_id != claimed):
            yield lambda: gate.ledger.carried(claimed)
        yield lambda: gate.ledger.release(claimed)

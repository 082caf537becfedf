"""An answer on record that cannot be used any more: it is void, and its request is asked again.

What was usable when it was given need not be when a run goes on with it: the tool takes other arguments by now, the
operator allows other answers, a validator looks at a world that changed. Nobody has to live with such a yes. Left on
record it would fail the run each time it is resumed, and bar every better answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.policy.decision import Code
from toolgate_langchain.policy.sensitive import MASK

if TYPE_CHECKING:
    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.carrying import Carrying
    from toolgate_langchain.approvals.ledger import Ledger
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import CallRecord
    from toolgate_langchain.errors import InvalidAnswerError

__all__ = ["void_recorded"]

_BEGUN = frozenset({GrantStatus.STARTED, GrantStatus.PAUSED, GrantStatus.FINISHED, GrantStatus.FAILED})


def void_recorded(
    ledger: Ledger,
    carrying: Carrying,
    call: CallRecord,
    answer: ApprovalAnswer,
    why: InvalidAnswerError,
    *,
    on_record: bool,
) -> Steps[None]:
    """Void an answer, if it is the one on record; where its call began nobody is asked again, and the call is refused.

    Args:
        ledger: The gate's ledger.
        carrying: Claims it, so that no worker that can use it is at it.
        call: The call. It is refused where it can be neither run with this answer nor asked about again.
        answer: The answer.
        why: What is wrong with it.
        on_record: Whether nobody gave it just now; see `Carrying.take`.

    Raises:
        AlreadyAnsweredError: If another worker carries it.
    """
    key = call.request_id
    held: ApprovalAnswer | None = yield lambda: ledger.answer_to(key)
    if held is None or held.type == "reject" or replace(held, request_id=key) != replace(answer, request_id=key):
        return
    yield from carrying.void(key, on_record=on_record)
    said = MASK if call.sensitive else str(why)
    if (yield lambda: ledger.void_answer(key, held, why=said)) is True:
        return
    status = yield lambda: ledger.status(key)
    call.outcome, call.reason = "refused", f"its answer cannot be used any more: {why}"
    call.code = Code.OUTCOME_UNKNOWN if status in _BEGUN else Code.WITHDRAWN

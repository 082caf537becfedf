"""Until when a request can be answered. The ledger keeps it from the first time that the request is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from toolgate_langchain.approvals.judge import TurnJudge
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.steps import Steps

__all__ = ["until_when"]


def until_when(judge: TurnJudge, request: ApprovalRequest, expiry: timedelta) -> Steps[tuple[ApprovalRequest, bool]]:
    """A request with the time at which it expires, and whether that is over.

    Looked at before anybody is shown it. A late answer is therefore delivered to what is asked next, which it does
    not name, so that it changes nothing.

    Args:
        judge: The gate's judge, for its clock and its ledger.
        request: The request.
        expiry: For how long it can be answered, from when it is first shown.

    Raises:
        LedgerError: If the request was asked well after this time, so that a clock went back.
    """
    now = judge.clock()
    over: bool = yield lambda: judge.ledger.expire(request.request_id, at=now)
    ends: datetime | None = yield lambda: judge.ledger.ends_at(request.request_id)
    return replace(request, expires_at=now + expiry if ends is None else ends), over

"""Answers that wait to be carried into their runs, in SQL."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import BindParameter, and_, bindparam, delete, exists, select, update

from toolgate_langchain.approvals.inbox import LeftAnswer
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus
from toolgate_langchain.approvals.sql import answers, grants
from toolgate_langchain.approvals.sql.tables import ANSWERS, GRANTS, REQUESTS, as_time
from toolgate_langchain.approvals.sql.writing import note_event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.ledger import PendingRequest

__all__ = ["asked", "carried", "close_thread", "leave_answer", "left_answer", "left_answers", "send_back"]

_KEY: BindParameter[str] = bindparam("key")
_WITHDRAWN = exists().where(
    GRANTS.c.request_id == REQUESTS.c.request_id, GRANTS.c.status == GrantStatus.WITHDRAWN.value
)
_SHOWN = select(REQUESTS).where(REQUESTS.c.request_id == _KEY)
_ASKED = select(REQUESTS).where(REQUESTS.c.request_id == _KEY).with_for_update()
_HELD = select(ANSWERS.c.type).where(ANSWERS.c.request_id == _KEY)
_ALL_LEFT = (
    select(
        ANSWERS.c.request_id,
        REQUESTS.c.thread_id,
        REQUESTS.c.shown,
        ANSWERS.c.answer,
        ANSWERS.c.answered_at,
        ANSWERS.c.taken_in,
        # A no withdraws the grant itself, and is carried all the same.
        and_(ANSWERS.c.type != "reject", _WITHDRAWN).label("superseded"),
    )
    .join(REQUESTS, REQUESTS.c.request_id == ANSWERS.c.request_id)
    .where(ANSWERS.c.to_carry)
)
_LEFT = _ALL_LEFT.order_by(ANSWERS.c.answered_at, ANSWERS.c.request_id).limit(bindparam("limit"))
_LEFT_TO = _ALL_LEFT.where(ANSWERS.c.request_id == _KEY)
_CARRIED = update(ANSWERS).where(ANSWERS.c.request_id == _KEY, ANSWERS.c.to_carry).values(to_carry=False)
_SENT_BACK = delete(ANSWERS).where(
    ANSWERS.c.request_id == _KEY, ANSWERS.c.to_carry, ANSWERS.c.answer == bindparam("text")
)
_OPEN_AGAIN = update(REQUESTS).where(REQUESTS.c.request_id == _KEY, ~_WITHDRAWN).values(open=True)
_OF_THREAD = select(REQUESTS.c.request_id).where(
    REQUESTS.c.place == bindparam("thread"),
    REQUESTS.c.open | exists().where(ANSWERS.c.request_id == REQUESTS.c.request_id, ANSWERS.c.to_carry),
)


def asked(connection: Connection, request_id: str) -> PendingRequest | None:
    """See `Inbox.asked`."""
    row = connection.execute(_SHOWN, {"key": request_id}).one_or_none()
    return None if row is None else answers.as_pending(row)


def leave_answer(
    connection: Connection, request_id: str, given: ApprovalAnswer, *, digest: str, answered_at: int, attempt: str
) -> AnswerStatus:
    """See `Inbox.leave_answer`. `attempt` is the same in all tries of one call of it, and in no other."""
    # Locked, so that a run that goes another way is either seen here or sees the answer.
    row = connection.execute(_ASKED, {"key": request_id}).one_or_none()
    if given.request_id not in (None, request_id):
        return AnswerStatus.NOT_PENDING
    given = replace(given, request_id=request_id)
    if row is None or json.loads(row.shown)["toolgate"]["digest"] != digest:
        return AnswerStatus.NOT_PENDING
    if connection.execute(_HELD, {"key": request_id}).scalar() is None:
        if not row.open:
            return AnswerStatus.NOT_PENDING
        if row.expires_at is not None and answered_at >= row.expires_at:
            return AnswerStatus.EXPIRED
    return answers.answer(
        connection,
        request_id,
        answers.written(given),
        given,
        thread_id=row.thread_id,
        answered_at=answered_at,
        attempt=attempt,
        at=answered_at,
        to_carry=True,
    )


def left_answers(connection: Connection, *, limit: int) -> Sequence[LeftAnswer]:
    """See `Inbox.left_answers`."""
    return [_left(row) for row in connection.execute(_LEFT, {"limit": limit})]


def left_answer(connection: Connection, request_id: str) -> LeftAnswer | None:
    """See `Inbox.left_answer`."""
    row = connection.execute(_LEFT_TO, {"key": request_id}).one_or_none()
    return None if row is None else _left(row)


def _left(row: Any) -> LeftAnswer:
    return LeftAnswer(
        row.request_id,
        row.thread_id,
        json.loads(row.shown)["action_requests"][0]["name"],
        answers.read(row.answer),
        as_time(row.answered_at),
        row.taken_in,
        bool(row.superseded),
    )


def carried(connection: Connection, request_id: str, *, at: int) -> None:
    """See `Inbox.carried`."""
    if connection.execute(_CARRIED, {"key": request_id}).rowcount == 1:
        note_event(connection, "carried", at, request_id=request_id)


def send_back(connection: Connection, request_id: str, given: ApprovalAnswer, *, at: int) -> None:
    """See `Inbox.send_back`."""
    if connection.execute(_SENT_BACK, {"key": request_id, "text": answers.written(given)}).rowcount == 1:
        connection.execute(_OPEN_AGAIN, {"key": request_id})
        note_event(connection, "sent_back", at, request_id=request_id, answer=given.type, by=given.by)


def close_thread(connection: Connection, thread_id: str, *, at: int) -> None:
    """See `Inbox.close_thread`."""
    waiting = connection.execute(_OF_THREAD, {"thread": thread_id}).scalars().all()
    grants.withdraw(connection, waiting, at=at)

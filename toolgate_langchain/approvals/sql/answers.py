"""Requests and answers in SQL: the first answer stands, and only a rejection may still take it back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter
from sqlalchemy import and_, bindparam, delete, exists, or_, select, update

from toolgate_langchain.approvals.answer import ApprovalAnswer
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, PendingRequest
from toolgate_langchain.approvals.request import ApprovalRequest
from toolgate_langchain.approvals.sql.tables import ANSWERS, GRANTS, REQUESTS, RULES, as_time
from toolgate_langchain.approvals.sql.writing import insert_once, insert_or_replace, note_event
from toolgate_langchain.approvals.steady import check_after
from toolgate_langchain.approvals.unknown import FINAL
from toolgate_langchain.canonical import canonical_json, check_plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

__all__ = ["answer", "answer_to", "answered_at", "ask", "pending", "read", "taken_back", "thread_of", "written"]

_ANSWER: Final = TypeAdapter(ApprovalAnswer)

_LOCKED = select(ANSWERS).where(ANSWERS.c.request_id == bindparam("key")).with_for_update()
_ASKED_AT = select(REQUESTS.c.asked_at).where(REQUESTS.c.request_id == bindparam("key"))
_HELD = select(ANSWERS.c.answer).where(ANSWERS.c.request_id == bindparam("key"))
_WHEN = select(ANSWERS.c.answered_at).where(ANSWERS.c.request_id == bindparam("key"))
_WHERE = select(ANSWERS.c.thread_id).where(ANSWERS.c.request_id == bindparam("key"))
_TAKEN_BACK = select(ANSWERS.c.request_id).where(ANSWERS.c.thread_id == bindparam("thread"), ANSWERS.c.taken_back)
_CLOSE = update(REQUESTS).where(REQUESTS.c.request_id == bindparam("key"), REQUESTS.c.open).values(open=False)
_GRANT = select(GRANTS.c.status).where(GRANTS.c.request_id == bindparam("key")).with_for_update()
_WITHDRAW = update(GRANTS).where(GRANTS.c.request_id == bindparam("key")).values(status=GrantStatus.WITHDRAWN.value)
_REPLACE = (
    update(ANSWERS)
    .where(ANSWERS.c.request_id == bindparam("key"))
    .values(
        type="reject",
        answer=bindparam("text"),
        approver=bindparam("by"),
        attempt=bindparam("mine"),
        taken_back=True,
    )
)
_TAKEN_IN = update(ANSWERS).where(ANSWERS.c.request_id == bindparam("key")).values(taken_in=True)
_FORGET = delete(RULES).where(RULES.c.request_id == bindparam("key"))
_ANSWERED = exists().where(ANSWERS.c.request_id == bindparam("key"))
_WITHDRAWN = exists().where(GRANTS.c.request_id == bindparam("key"), GRANTS.c.status == GrantStatus.WITHDRAWN.value)
_CLOSED = select(_ANSWERED | _WITHDRAWN)
_PENDING = (
    select(REQUESTS.c.shown, REQUESTS.c.thread_id, REQUESTS.c.place, REQUESTS.c.asked_at, REQUESTS.c.expires_at)
    # Asked and answered at the same moment, a request can be left open; its answer still counts.
    .where(and_(REQUESTS.c.open, ~exists().where(ANSWERS.c.request_id == REQUESTS.c.request_id)))
    .where(or_(REQUESTS.c.expires_at.is_(None), REQUESTS.c.expires_at > bindparam("now")))
    .order_by(REQUESTS.c.asked_at, REQUESTS.c.request_id)
    .limit(bindparam("limit"))
)


def written(answer: ApprovalAnswer) -> str:
    """An answer as text, from which an equal one can be read.

    Raises:
        NotPlainJsonError: If it holds what JSON or a database cannot carry exactly.
    """
    plain = _ANSWER.dump_python(answer)
    check_plain(plain, where="answer")
    return canonical_json(plain)


def read(text: str) -> ApprovalAnswer:
    """The answer that was written."""
    return _ANSWER.validate_json(text)


def ask(
    connection: Connection,
    request: ApprovalRequest,
    *,
    thread_id: str | None,
    at: int,
    expires_at: int | None,
    place: str | None,
    now: int,
) -> None:
    """See `Ledger.ask`. `now` is the ledger's time, which its record goes by."""
    key = request.request_id
    closed = connection.execute(_CLOSED, {"key": key}).scalar_one()
    shown = canonical_json(request.to_interrupt())
    where = {"request_id": key, "thread_id": thread_id, "place": place}
    row = {**where, "shown": shown, "asked_at": at, "expires_at": expires_at}
    if insert_once(connection, REQUESTS, **row, open=not closed):
        note_event(connection, "asked", now, request_id=key, thread_id=thread_id, digest=request.digest)
    else:
        # Asked once more with what was wrong with the last answer.
        insert_or_replace(connection, REQUESTS, ("shown",), **row, open=not closed)


def pending(connection: Connection, *, limit: int, at: int) -> Sequence[PendingRequest]:
    """See `Ledger.pending`."""
    return [as_pending(row) for row in connection.execute(_PENDING, {"limit": limit, "now": at})]


def as_pending(row: Any) -> PendingRequest:
    """A request from its row."""
    return PendingRequest(
        ApprovalRequest.from_interrupt(json.loads(row.shown)),
        row.thread_id,
        as_time(row.asked_at),
        None if row.expires_at is None else as_time(row.expires_at),
        None if row.place == row.thread_id else row.place,
    )


def answer(
    connection: Connection,
    request_id: str,
    text: str,
    given: ApprovalAnswer,
    *,
    thread_id: str | None,
    answered_at: int | None,
    attempt: str,
    at: int,
    to_carry: bool = False,
) -> AnswerStatus:
    """See `Ledger.answer`. `attempt` is the same in all tries of one call of it, and in no other."""
    asked = None if answered_at is None else connection.execute(_ASKED_AT, {"key": request_id}).scalar()
    if answered_at is not None and asked is not None:
        check_after(as_time(answered_at), as_time(asked), request_id)
    status = _answer(connection, request_id, text, given, thread_id, answered_at, attempt, to_carry=to_carry)
    if status is None:
        row = connection.execute(_LOCKED, {"key": request_id}).one()
        return AnswerStatus.WITHDRAWN if row.taken_back else AnswerStatus.RECORDED
    if status is not AnswerStatus.REPEATED:
        # A replay takes the same answer in again and again; that is no event.
        told = {"answer": given.type, "by": given.by, "status": status.value}
        note_event(connection, "answered", at, request_id=request_id, thread_id=thread_id, **told)
    return status


def _answer(
    connection: Connection,
    request_id: str,
    text: str,
    given: ApprovalAnswer,
    thread_id: str | None,
    answered_at: int | None,
    attempt: str,
    *,
    to_carry: bool,
) -> AnswerStatus | None:
    """What became of an answer; `None` where an earlier try of this very attempt recorded it."""
    if insert_once(
        connection,
        ANSWERS,
        request_id=request_id,
        type=given.type,
        answer=text,
        approver=given.by,
        thread_id=thread_id,
        answered_at=answered_at,
        taken_back=False,
        to_carry=to_carry,
        attempt=attempt,
    ):
        connection.execute(_CLOSE, {"key": request_id})
        return AnswerStatus.RECORDED
    row = connection.execute(_LOCKED, {"key": request_id}).one()
    if row.attempt == attempt:
        return None
    if given.type != "reject" or row.type in FINAL:
        if row.to_carry and not to_carry and row.answer == text:
            connection.execute(_TAKEN_IN, {"key": request_id})
        return AnswerStatus.REPEATED
    grant = connection.execute(_GRANT, {"key": request_id}).scalar()
    if grant not in (None, GrantStatus.ISSUED.value, GrantStatus.WITHDRAWN.value):
        return AnswerStatus.TOO_LATE
    connection.execute(_WITHDRAW, {"key": request_id})
    connection.execute(_REPLACE, {"key": request_id, "text": text, "by": given.by, "mine": attempt})
    connection.execute(_FORGET, {"key": request_id})
    if row.to_carry and not to_carry:
        connection.execute(_TAKEN_IN, {"key": request_id})
    return AnswerStatus.WITHDRAWN


def answer_to(connection: Connection, request_id: str) -> ApprovalAnswer | None:
    """See `Ledger.answer_to`."""
    text = connection.execute(_HELD, {"key": request_id}).scalar()
    return None if text is None else read(text)


def answered_at(connection: Connection, request_id: str) -> datetime | None:
    """See `Ledger.answered_at`."""
    at = connection.execute(_WHEN, {"key": request_id}).scalar()
    return None if at is None else as_time(at)


def thread_of(connection: Connection, request_id: str) -> str | None:
    """See `Ledger.thread_of`."""
    return connection.execute(_WHERE, {"key": request_id}).scalar()


def taken_back(connection: Connection, thread_id: str) -> frozenset[str]:
    """See `Ledger.taken_back`."""
    return frozenset(connection.execute(_TAKEN_BACK, {"thread": thread_id}).scalars())

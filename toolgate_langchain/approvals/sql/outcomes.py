"""What became of calls, in SQL: who is at one, how often it was started, what it gave; and requests that expire."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from langchain_core.messages import ToolMessage
from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text, bindparam, delete, insert, select

from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus
from toolgate_langchain.approvals.sql import grants
from toolgate_langchain.approvals.sql.tables import ANSWERS, GRANTS, METADATA, REQUESTS, as_time
from toolgate_langchain.approvals.sql.writing import insert_once, insert_or_replace, note_event
from toolgate_langchain.canonical import canonical_json, check_plain
from toolgate_langchain.errors import LedgerError, NotPlainJsonError

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

__all__ = [
    "ALLOWED_SKEW",
    "end",
    "ends_at",
    "expire",
    "forget_results",
    "held",
    "identity",
    "make_identity",
    "result",
    "start",
    "tries",
    "try_again",
    "written",
]

ALLOWED_SKEW: Final = 60_000_000
"""Microseconds by which two clocks, or one clock at two moments, may disagree: a minute. A clock that is kept by NTP is
off by far less, and no time limit of a ledger is about less."""

TRIES: Final = Table(
    "toolgate_tries",
    METADATA,
    Column("request_id", Text, primary_key=True),
    Column("tries", Integer, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("attempt", Text, nullable=False),
)
"""How often a call was started, and until when the worker that did so last has it to itself."""

RESULTS: Final = Table(
    "toolgate_results",
    METADATA,
    Column("request_id", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("result", Text, nullable=False),
)
"""What calls gave whose turn is not over. The record has only its digest and its size."""

Index("toolgate_results_scope", RESULTS.c.scope)

IDENTITY: Final = Table("toolgate_identity", METADATA, Column("id", Text, primary_key=True))
"""What tells this ledger from others: one row."""

_IDENTITY = select(IDENTITY.c.id)
_TRIES = select(TRIES).where(TRIES.c.request_id == bindparam("key")).with_for_update()
_COUNT = select(TRIES.c.tries).where(TRIES.c.request_id == bindparam("key"))
_HELD = (
    select(TRIES.c.until, TRIES.c.attempt)
    .join(GRANTS, GRANTS.c.request_id == TRIES.c.request_id)
    .where(TRIES.c.request_id == bindparam("key"), GRANTS.c.status == GrantStatus.STARTED.value)
)
_GRANT = select(GRANTS).where(GRANTS.c.request_id == bindparam("key")).with_for_update()
_RESULT = select(RESULTS.c.result).where(RESULTS.c.request_id == bindparam("key"))
_FORGET = delete(RESULTS).where(RESULTS.c.scope == bindparam("whose"))
_ENDS = select(REQUESTS.c.expires_at).where(REQUESTS.c.request_id == bindparam("key"))
_ASKED = select(REQUESTS).where(REQUESTS.c.request_id == bindparam("key")).with_for_update()
_ANSWERED = select(ANSWERS.c.request_id).where(ANSWERS.c.request_id == bindparam("key")).with_for_update()
_STATUS = select(GRANTS.c.status).where(GRANTS.c.request_id == bindparam("key"))


def make_identity(connection: Connection) -> None:
    """Give a new ledger its identity."""
    connection.execute(insert(IDENTITY).values(id=uuid4().hex))


def identity(connection: Connection) -> str:
    """See `Outcomes.identity`."""
    found: str = connection.execute(_IDENTITY).scalar_one()
    return found


# --- calls ------------------------------------------------------------------------------------


def start(
    connection: Connection, /, request_id: str, bound: str, *, attempt: str, until: int, **options: Any
) -> StartStatus:
    """See `Ledger.start`. `attempt` is the same in all tries of one call of it, and in no other.

    Args:
        connection: A connection in a transaction.
        request_id: The request, or the id that stands in for it.
        bound: The digest of the very call.
        attempt: What tells this attempt from others.
        until: Until when whoever starts it has it to itself.
        **options: As for `grants.start`.
    """
    status = grants.start(connection, request_id, bound, attempt=attempt, **options)
    if status in (StartStatus.STARTED, StartStatus.REENTERED):
        _began(connection, request_id, attempt, until)
    return status


def _began(connection: Connection, request_id: str, attempt: str, until: int) -> None:
    row = {"request_id": request_id, "tries": 1, "until": until, "attempt": attempt}
    if insert_once(connection, TRIES, **row):
        return
    found = connection.execute(_TRIES, {"key": request_id}).one()
    # Its own try is here already where only the word of its commit was lost.
    if found.attempt != attempt:
        row["tries"] = found.tries + 1
        insert_or_replace(connection, TRIES, ("tries", "until", "attempt"), **row)


def end(
    connection: Connection,
    /,
    request_id: str,
    status: GrantStatus,
    *,
    result: ToolMessage | None,
    scope: str,
    **options: Any,
) -> None:
    """See `Ledger.end`.

    Args:
        connection: A connection in a transaction.
        request_id: The request, or the id that stands in for it.
        status: How it ended.
        result: What it gave.
        scope: The run that the turn is of.
        **options: As for `grants.end`.
    """
    ended = grants.end(connection, request_id, status, **options)
    text = None if result is None else written(result)
    # Of two that say what a call gave the first counts: the other is a worker that was taken for dead.
    if ended and text is not None:
        insert_or_replace(connection, RESULTS, ("scope", "result"), request_id=request_id, scope=scope, result=text)


def written(result: ToolMessage) -> str | None:
    """A result as text, without what is not for the model; `None` where a database cannot carry it exactly."""
    try:
        plain = result.model_copy(update={"artifact": None}).model_dump(mode="json")
        check_plain(plain)
    except (NotPlainJsonError, ValueError):
        return None
    return canonical_json(plain)


def held(connection: Connection, request_id: str, *, at: int, over: str) -> bool:
    """See `Outcomes.held`. `over` is an attempt of which the caller knows that it is over."""
    found = connection.execute(_HELD, {"key": request_id}).one_or_none()
    return found is not None and found.until > at and found.attempt != over


def tries(connection: Connection, request_id: str) -> int:
    """See `Outcomes.tries`."""
    return connection.execute(_COUNT, {"key": request_id}).scalar() or 0


def try_again(
    connection: Connection,
    request_id: str,
    bound: str,
    counted: int,
    *,
    attempt: str,
    at: int,
    until: int,
    over: str,
) -> bool:
    """See `Outcomes.try_again`. `attempt` is the same in all tries of one call of it, and in no other."""
    grant = connection.execute(_GRANT, {"key": request_id}).one_or_none()
    found = connection.execute(_TRIES, {"key": request_id}).one_or_none()
    if grant is None or found is None or grant.status != GrantStatus.STARTED.value or grant.digest != bound:
        return False
    if found.attempt == attempt:
        return True
    if found.tries != counted or (found.until > at and found.attempt != over):
        return False
    _began(connection, request_id, attempt, until)
    note_event(connection, "start_again", at, request_id=request_id, digest=bound, tries=counted + 1)
    return True


def result(connection: Connection, request_id: str) -> ToolMessage | None:
    """See `Outcomes.result`."""
    text = connection.execute(_RESULT, {"key": request_id}).scalar()
    return None if text is None else ToolMessage.model_validate(json.loads(text))


def forget_results(connection: Connection, scope: str) -> None:
    """See `Outcomes.forget_results`."""
    connection.execute(_FORGET, {"whose": scope})


# --- requests whose time is over ----------------------------------------------------------------


def ends_at(connection: Connection, request_id: str) -> datetime | None:
    """See `Outcomes.ends_at`."""
    ends = connection.execute(_ENDS, {"key": request_id}).scalar()
    return None if ends is None else as_time(ends)


def expire(connection: Connection, request_id: str, *, at: int) -> bool:
    """See `Outcomes.expire`."""
    asked = connection.execute(_ASKED, {"key": request_id}).one_or_none()
    if asked is None or asked.expires_at is None:
        return False
    if asked.asked_at - at > ALLOWED_SKEW:
        raise LedgerError(
            f"the clock says {as_time(at).isoformat()}, and request {request_id} was asked at "
            f"{as_time(asked.asked_at).isoformat()}: a clock went back, so nobody can tell whether the request's time "
            "is over; nothing is released until the clock is right"
        )
    if connection.execute(_ANSWERED, {"key": request_id}).one_or_none() is not None:
        return False
    # Closed before it stays closed, whatever a clock says by now.
    if connection.execute(_STATUS, {"key": request_id}).scalar() == GrantStatus.WITHDRAWN.value:
        return True
    if at < asked.expires_at:
        return False
    grants.withdraw(connection, [request_id], at=at)
    note_event(connection, "expired", at, request_id=request_id, thread_id=asked.thread_id)
    return True

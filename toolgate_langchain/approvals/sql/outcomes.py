"""What became of calls, in SQL: who is at one, how often it was started, what it gave; and requests that expire."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from langchain_core.messages import ToolMessage
from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text, bindparam, delete, insert, select, update

from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus
from toolgate_langchain.approvals.sql import grants
from toolgate_langchain.approvals.sql.clock import check_clock
from toolgate_langchain.approvals.sql.noting import note_entry
from toolgate_langchain.approvals.sql.tables import ANSWERS, GRANTS, METADATA, REQUESTS, as_time
from toolgate_langchain.approvals.sql.writing import insert_once, insert_or_replace, note_event
from toolgate_langchain.approvals.steady import check_after
from toolgate_langchain.canonical import canonical_json, check_plain
from toolgate_langchain.errors import NotPlainJsonError

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from toolgate_langchain.approvals.attempts import CallEnd, CallStart
    from toolgate_langchain.approvals.recording.entries import Entry

__all__ = [
    "end",
    "end_unknown",
    "ends_at",
    "expire",
    "forget_results",
    "held",
    "identity",
    "let_go",
    "make_identity",
    "result",
    "start",
    "tries",
    "try_again",
    "written",
]

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
_LET_GO = (
    update(TRIES)
    .where(TRIES.c.request_id == bindparam("key"), TRIES.c.attempt == bindparam("mine"), TRIES.c.until > 0)
    .values(until=0)
)
_COUNT = select(TRIES.c.tries).where(TRIES.c.request_id == bindparam("key"))
_HELD = (
    select(TRIES.c.until, TRIES.c.attempt)
    .join(GRANTS, GRANTS.c.request_id == TRIES.c.request_id)
    .where(TRIES.c.request_id == bindparam("key"), GRANTS.c.status == GrantStatus.STARTED.value)
)
_GRANT = select(GRANTS).where(GRANTS.c.request_id == bindparam("key")).with_for_update()
_HAND_OVER = (
    update(GRANTS)
    .where(GRANTS.c.request_id == bindparam("key"))
    .values(attempt=bindparam("mine"), status=bindparam("becomes"))
)
_SAID = select(ANSWERS.c.type).where(ANSWERS.c.request_id == bindparam("key")).with_for_update()
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


def start(connection: Connection, call: CallStart, *, at: int, until: int) -> StartStatus:
    """See `Ledger.start`. `until` is when whoever starts it has it to itself no more."""
    if call.needs_grant:
        check_clock(connection, at)
    status = grants.start(connection, call, at=at)
    if status in (StartStatus.STARTED, StartStatus.REENTERED):
        _began(connection, call.request_id, call.attempt, until)
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


def end(connection: Connection, call: CallEnd, *, at: int) -> bool:
    """See `Ledger.end`."""
    ended = grants.end(connection, call, at=at)
    if ended:
        _keep(connection, call)
    return ended


def _keep(connection: Connection, call: CallEnd) -> None:
    """Keep what a call gave, where a database can carry it."""
    text = None if call.result is None else written(call.result)
    if text is not None:
        row = {"request_id": call.request_id, "scope": call.scope, "result": text}
        insert_or_replace(connection, RESULTS, ("scope", "result"), **row)


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


def let_go(connection: Connection, call: CallStart, entry: Entry | None, *, at: int) -> None:
    """See `Outcomes.let_go`."""
    key = call.request_id
    grant = connection.execute(_GRANT, {"key": key}).one_or_none()
    if grant is None or (grant.status, grant.attempt) != (GrantStatus.STARTED.value, call.attempt):
        return
    # Nothing changes where only the word of an earlier try of this was lost.
    if connection.execute(_LET_GO, {"key": key, "mine": call.attempt}).rowcount == 1:
        note_event(connection, "call_cut_off", at, request_id=key)
        if entry is not None:
            note_entry(connection, entry, at)


def tries(connection: Connection, request_id: str) -> int:
    """See `Outcomes.tries`."""
    return connection.execute(_COUNT, {"key": request_id}).scalar() or 0


def try_again(
    connection: Connection, call: CallStart, counted: int, asked: str, *, at: int, until: int, over: str
) -> bool:
    """See `Outcomes.try_again`."""
    # Under a lock, so that a no is either seen here or finds that the call is begun.
    if connection.execute(_SAID, {"key": asked}).scalar() not in (None, "try_again"):
        return False
    key = call.request_id
    grant = connection.execute(_GRANT, {"key": key}).one_or_none()
    found = connection.execute(_TRIES, {"key": key}).one_or_none()
    if grant is None or found is None or grant.status != GrantStatus.STARTED.value or grant.digest != call.digest:
        return False
    if found.attempt == call.attempt:
        return True
    if found.tries != counted or (found.until > at and found.attempt != over):
        return False
    begun = {"request_id": asked, "digest": call.digest, "status": GrantStatus.STARTED.value, "attempt": call.attempt}
    if not insert_once(connection, GRANTS, **begun):
        return False
    connection.execute(_HAND_OVER, {"key": key, "mine": call.attempt, "becomes": GrantStatus.STARTED.value})
    _began(connection, key, call.attempt, until)
    note_event(connection, "start_again", at, request_id=key, digest=call.digest, tries=counted + 1)
    return True


def end_unknown(connection: Connection, call: CallEnd, counted: int, *, at: int) -> bool:
    """See `Outcomes.end_unknown`."""
    key = call.request_id
    grant = connection.execute(_GRANT, {"key": key}).one_or_none()
    if grant is None or grant.attempt == call.attempt:
        return grant is not None
    if grant.status != GrantStatus.STARTED.value or tries(connection, key) != counted:
        return False
    connection.execute(_HAND_OVER, {"key": key, "mine": call.attempt, "becomes": call.status.value})
    note_event(connection, f"call_{call.status.value}", at, request_id=key)
    _keep(connection, call)
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
    check_after(as_time(at), as_time(asked.asked_at), request_id)
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

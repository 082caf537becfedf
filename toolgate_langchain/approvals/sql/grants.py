"""Grants and claims in SQL: whose compare-and-set changes the row, has it.

The fast way into a call is one statement that changes the row of an issued grant. Whoever changes no row locks the
row and looks at why; from then on the row stands still, so that what is read is what is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, or_, select, update

from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus
from toolgate_langchain.approvals.sql.noting import entry_there, note_entry
from toolgate_langchain.approvals.sql.tables import ANSWERS, CLAIMS, GRANTS, REQUESTS
from toolgate_langchain.approvals.sql.writing import insert_once, note_event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from toolgate_langchain.approvals.recording.entries import Entry

__all__ = ["claim", "end", "grant", "release", "start", "status", "withdraw"]

_ANSWER_TYPE = select(ANSWERS.c.type).where(ANSWERS.c.request_id == bindparam("key")).with_for_update()
_LOCKED = select(GRANTS).where(GRANTS.c.request_id == bindparam("key")).with_for_update()
_STATUS = select(GRANTS.c.status).where(GRANTS.c.request_id == bindparam("key"))
_MOVE = (
    update(GRANTS)
    .where(GRANTS.c.request_id == bindparam("key"), GRANTS.c.status == bindparam("was"))
    .values(status=bindparam("becomes"))
)
_TAKE = (
    update(GRANTS)
    .where(
        GRANTS.c.request_id == bindparam("key"),
        GRANTS.c.status == bindparam("was"),
        GRANTS.c.digest == bindparam("bound"),
    )
    .values(status=GrantStatus.STARTED.value, attempt=bindparam("mine"))
)
_CLOSE = update(REQUESTS).where(REQUESTS.c.request_id == bindparam("key"), REQUESTS.c.open).values(open=False)
_OVERTAKE = (
    update(CLAIMS)
    .where(
        CLAIMS.c.request_id == bindparam("key"),
        # Its own holder is here again only where the word of its first try was lost.
        or_(CLAIMS.c.until <= bindparam("now"), CLAIMS.c.holder == bindparam("mine")),
    )
    .values(holder=bindparam("mine"), until=bindparam("ends"))
)
_GIVE_BACK = delete(CLAIMS).where(CLAIMS.c.request_id == bindparam("key"), CLAIMS.c.holder == bindparam("mine"))


def grant(connection: Connection, request_id: str, digest: str, *, at: int) -> None:
    """See `Ledger.grant`."""
    # Under a lock, so that a rejection is either seen here or finds this grant.
    answered = connection.execute(_ANSWER_TYPE, {"key": request_id}).scalar()
    status = GrantStatus.WITHDRAWN if answered == "reject" else GrantStatus.ISSUED
    if insert_once(connection, GRANTS, request_id=request_id, digest=digest, status=status.value, attempt=""):
        note_event(connection, f"grant_{status.value}", at, request_id=request_id, digest=digest)


def start(
    connection: Connection,
    request_id: str,
    digest: str,
    *,
    needs_grant: bool,
    repeatable: bool,
    attempt: str,
    at: int,
    entry: Entry | None = None,
) -> StartStatus:
    """See `RecordLedger.start`. `attempt` is the same in all tries of one call of it, and in no other."""
    outcome = _start(connection, request_id, digest, needs_grant=needs_grant, repeatable=repeatable, attempt=attempt)
    if outcome is None:
        return StartStatus.STARTED
    if entry is not None and outcome is StartStatus.STARTED:
        note_entry(connection, entry, at)
    note_event(connection, f"start_{outcome.value}", at, request_id=request_id, digest=digest)
    return outcome


def _start(
    connection: Connection, request_id: str, digest: str, *, needs_grant: bool, repeatable: bool, attempt: str
) -> StartStatus | None:
    """Whether the call may start; `None` where an earlier try of this very attempt started it."""
    if not needs_grant and insert_once(
        connection, GRANTS, request_id=request_id, digest=digest, status=GrantStatus.STARTED.value, attempt=attempt
    ):
        return StartStatus.STARTED
    if _take(connection, request_id, digest, GrantStatus.ISSUED, attempt):
        return StartStatus.STARTED
    row = connection.execute(_LOCKED, {"key": request_id}).one_or_none()
    if row is None:
        return StartStatus.MISSING
    if row.attempt == attempt:
        return None
    was = GrantStatus(row.status)
    # Before anything else: what was closed before it was answered has no digest.
    if was is GrantStatus.WITHDRAWN:
        return StartStatus.WITHDRAWN
    if row.digest != digest:
        return StartStatus.MISMATCH
    match was:
        case GrantStatus.PAUSED:
            outcome = StartStatus.REENTERED
        case GrantStatus.ISSUED:
            # Issued between the two statements.
            outcome = StartStatus.STARTED
        case _ if repeatable:
            outcome = StartStatus.STARTED
        case _:
            return StartStatus.USED
    return outcome if _take(connection, request_id, digest, was, attempt) else StartStatus.USED


def _take(connection: Connection, request_id: str, digest: str, was: GrantStatus, attempt: str) -> bool:
    values = {"key": request_id, "bound": digest, "was": was.value, "mine": attempt}
    return connection.execute(_TAKE, values).rowcount == 1


def _move(connection: Connection, request_id: str, was: GrantStatus, becomes: GrantStatus) -> bool:
    values = {"key": request_id, "was": was.value, "becomes": becomes.value}
    return connection.execute(_MOVE, values).rowcount == 1


def end(connection: Connection, request_id: str, status: GrantStatus, *, at: int, entry: Entry | None = None) -> bool:
    """See `RecordLedger.end`. Whether this ended it: it had not ended before."""
    ended = _move(connection, request_id, GrantStatus.STARTED, status)
    if ended:
        note_event(connection, f"call_{status.value}", at, request_id=request_id)
    # Also of a call whose worker came to its end after somebody else had said what became of it. What stands there
    # already is written again where only the word of its commit was lost.
    if entry is not None and (ended or not entry_there(connection, entry)):
        note_entry(connection, entry, at)
    return ended


def status(connection: Connection, request_id: str) -> GrantStatus | None:
    """See `Ledger.status`."""
    found = connection.execute(_STATUS, {"key": request_id}).scalar()
    return None if found is None else GrantStatus(found)


def withdraw(connection: Connection, request_ids: Sequence[str], *, at: int) -> None:
    """See `Ledger.withdraw`."""
    # In one order for everybody, so that two who withdraw the same do not wait for each other.
    for request_id in sorted(set(request_ids)):
        withdrawn = GrantStatus.WITHDRAWN.value
        changed = insert_once(connection, GRANTS, request_id=request_id, digest="", status=withdrawn, attempt="")
        changed = changed or _move(connection, request_id, GrantStatus.ISSUED, GrantStatus.WITHDRAWN)
        # It started and will not go on; a replay must not enter it again.
        changed = changed or _move(connection, request_id, GrantStatus.PAUSED, GrantStatus.FAILED)
        connection.execute(_CLOSE, {"key": request_id})
        if changed:
            note_event(connection, "grant_withdrawn", at, request_id=request_id)


def claim(connection: Connection, request_id: str, *, holder: str, at: int, until: int) -> bool:
    """See `Ledger.claim`. A claim whose time is over is anybody's."""
    if insert_once(connection, CLAIMS, request_id=request_id, holder=holder, until=until):
        return True
    values = {"key": request_id, "mine": holder, "now": at, "ends": until}
    return connection.execute(_OVERTAKE, values).rowcount == 1


def release(connection: Connection, request_id: str, *, holder: str) -> None:
    """See `Ledger.release`. Whoever lost a claim by being late does not give back its successor's."""
    connection.execute(_GIVE_BACK, {"key": request_id, "mine": holder})

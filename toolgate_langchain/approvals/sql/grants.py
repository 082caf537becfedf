"""Grants in SQL: whose compare-and-set changes the row, has it.

The fast way into a call is one statement that changes the row of an issued grant. Whoever changes no row locks the
row and looks at why; from then on the row stands still, so that what is read is what is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select, update

from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus
from toolgate_langchain.approvals.sql.clock import check_clock
from toolgate_langchain.approvals.sql.noting import entry_there, note_entry
from toolgate_langchain.approvals.sql.tables import ANSWERS, GRANTS, REQUESTS
from toolgate_langchain.approvals.sql.writing import insert_once, note_event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from toolgate_langchain.approvals.attempts import CallEnd, CallStart

__all__ = ["end", "grant", "start", "status", "withdraw"]

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
_END = (
    update(GRANTS)
    .where(
        GRANTS.c.request_id == bindparam("key"),
        GRANTS.c.status == GrantStatus.STARTED.value,
        GRANTS.c.attempt == bindparam("mine"),
    )
    .values(status=bindparam("becomes"))
)


def grant(connection: Connection, request_id: str, digest: str, *, at: int) -> None:
    """See `Ledger.grant`."""
    # A worker that heard nothing since must not grant at noon what was said in the afternoon.
    check_clock(connection, at)
    # Under a lock, so that a rejection is either seen here or finds this grant.
    answered = connection.execute(_ANSWER_TYPE, {"key": request_id}).scalar()
    status = GrantStatus.WITHDRAWN if answered == "reject" else GrantStatus.ISSUED
    if insert_once(connection, GRANTS, request_id=request_id, digest=digest, status=status.value, attempt=""):
        note_event(connection, f"grant_{status.value}", at, request_id=request_id, digest=digest)


def start(connection: Connection, call: CallStart, *, at: int) -> StartStatus:
    """See `Ledger.start`."""
    outcome = _start(connection, call)
    if outcome is None:
        return StartStatus.STARTED
    if call.entry is not None and outcome is StartStatus.STARTED:
        note_entry(connection, call.entry, at)
    note_event(connection, f"start_{outcome.value}", at, request_id=call.request_id, digest=call.digest)
    return outcome


def _start(connection: Connection, call: CallStart) -> StartStatus | None:
    """Whether the call may start; `None` where an earlier try of this very attempt started it."""
    key, bound, attempt = call.request_id, call.digest, call.attempt
    if not call.needs_grant and insert_once(
        connection, GRANTS, request_id=key, digest=bound, status=GrantStatus.STARTED.value, attempt=attempt
    ):
        return StartStatus.STARTED
    if _take(connection, call, GrantStatus.ISSUED):
        return StartStatus.STARTED
    row = connection.execute(_LOCKED, {"key": key}).one_or_none()
    if row is None:
        return StartStatus.MISSING
    if row.attempt == attempt:
        return None
    was = GrantStatus(row.status)
    # Before anything else: what was closed before it was answered has no digest.
    if was is GrantStatus.WITHDRAWN:
        return StartStatus.WITHDRAWN
    if row.digest != bound:
        return StartStatus.MISMATCH
    match was:
        case GrantStatus.PAUSED:
            outcome = StartStatus.REENTERED
        case GrantStatus.ISSUED:
            # Issued between the two statements.
            outcome = StartStatus.STARTED
        case _ if call.repeatable:
            outcome = StartStatus.STARTED
        case _:
            return StartStatus.USED
    return outcome if _take(connection, call, was) else StartStatus.USED


def _take(connection: Connection, call: CallStart, was: GrantStatus) -> bool:
    values = {"key": call.request_id, "bound": call.digest, "was": was.value, "mine": call.attempt}
    return connection.execute(_TAKE, values).rowcount == 1


def _move(connection: Connection, request_id: str, was: GrantStatus, becomes: GrantStatus) -> bool:
    values = {"key": request_id, "was": was.value, "becomes": becomes.value}
    return connection.execute(_MOVE, values).rowcount == 1


def end(connection: Connection, call: CallEnd, *, at: int) -> bool:
    """See `Ledger.end`."""
    values = {"key": call.request_id, "mine": call.attempt, "becomes": call.status.value}
    if ended := connection.execute(_END, values).rowcount == 1:
        note_event(connection, f"call_{call.status.value}", at, request_id=call.request_id)
    row = None if ended else connection.execute(_LOCKED, {"key": call.request_id}).one_or_none()
    # It ended before where only the word of its commit was lost.
    mine = ended or (row is not None and (row.attempt, row.status) == (call.attempt, call.status.value))
    entry = call.entry
    if not mine:
        late = {"status": call.status.value, "attempt": call.attempt}
        note_event(connection, "call_late", at, request_id=call.request_id, once=f"late:{call.attempt}", **late)
        entry = entry and entry.late()
    if entry is not None and (ended or not entry_there(connection, entry)):
        note_entry(connection, entry, at)
    return mine


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

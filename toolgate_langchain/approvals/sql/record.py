"""The switch that stops all releases, and the record of what happened, in SQL."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, or_, select

from toolgate_langchain.approvals.recording.event import LedgerEvent
from toolgate_langchain.approvals.sql.tables import EVENTS, SWITCH, as_time
from toolgate_langchain.approvals.sql.writing import insert_or_replace, note_event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

__all__ = ["SWITCH_OF_ALL", "LedgerEvent", "events", "stopped", "throw"]

SWITCH_OF_ALL: Final = "all"
"""The name of the switch for everything."""

_STOPPED = select(SWITCH.c.stopped).where(SWITCH.c.name == SWITCH_OF_ALL)
_EVENTS = select(EVENTS).where(EVENTS.c.id > bindparam("after")).order_by(EVENTS.c.id).limit(bindparam("limit"))
_THE_REQUEST = EVENTS.c.request_id == bindparam("request_id")
_OF_REQUEST = _EVENTS.where(_THE_REQUEST)
_SAME_THREAD = EVENTS.c.thread_id == bindparam("thread_id")
_THE_THREAD = or_(_SAME_THREAD, EVENTS.c.request_id.in_(select(EVENTS.c.request_id).where(_SAME_THREAD)))
_SINCE = EVENTS.c.at >= bindparam("since")


def stopped(connection: Connection) -> bool:
    """See `Ledger.stopped`."""
    # Whatever is not plainly off counts as on.
    return connection.execute(_STOPPED).scalar() not in (None, False)


def throw(connection: Connection, *, stop: bool, at: int) -> None:
    """Throw the switch."""
    insert_or_replace(connection, SWITCH, ("stopped",), name=SWITCH_OF_ALL, stopped=stop)
    note_event(connection, "stopped" if stop else "resumed", at)


def events(
    connection: Connection, *, only: Mapping[str, str | None], since: int | None, after: int, limit: int
) -> Sequence[LedgerEvent]:
    """Events after a place in the record, in order; see `SqlLedger.events`."""
    given: dict[str, Any] = {"since": since, **only}
    wanted = {name: value for name, value in given.items() if value is not None}
    statement = _EVENTS
    for name, condition in (("request_id", _THE_REQUEST), ("thread_id", _THE_THREAD), ("since", _SINCE)):
        if name in wanted:
            statement = statement.where(condition)
    found = connection.execute(statement, {"after": after, "limit": limit, **wanted})
    return [
        LedgerEvent(row.id, as_time(row.at), row.kind, row.request_id, row.thread_id, json.loads(row.detail))
        for row in found
    ]

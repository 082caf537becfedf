"""The switch that stops all releases, and the record of what happened, in SQL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, select

from toolgate_langchain.approvals.sql.tables import EVENTS, SWITCH, as_time
from toolgate_langchain.approvals.sql.writing import insert_or_replace, note_event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

__all__ = ["LedgerEvent", "events", "stopped", "throw"]

_ALL: Final = "all"
"""The name of the switch for everything."""

_STOPPED = select(SWITCH.c.stopped).where(SWITCH.c.name == _ALL)
_EVENTS = select(EVENTS).where(EVENTS.c.id > bindparam("after")).order_by(EVENTS.c.id).limit(bindparam("limit"))
_OF_REQUEST = _EVENTS.where(EVENTS.c.request_id == bindparam("about"))


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """One thing that happened in a ledger, written in the transaction in which it happened."""

    number: int
    """Its place in the record. Later is greater; there are gaps."""
    at: datetime
    kind: str
    """`asked`, `answered`, `grant_...`, `start_...`, `call_...`, `rule_kept`, `stopped` or `resumed`."""
    request_id: str | None
    thread_id: str | None
    detail: Mapping[str, Any]
    """What else is known of it, in plain JSON; never the arguments of a call."""


def stopped(connection: Connection) -> bool:
    """See `Ledger.stopped`."""
    # Whatever is not plainly off counts as on.
    return connection.execute(_STOPPED).scalar() not in (None, False)


def throw(connection: Connection, *, stop: bool, at: int) -> None:
    """Throw the switch."""
    insert_or_replace(connection, SWITCH, ("stopped",), name=_ALL, stopped=stop)
    note_event(connection, "stopped" if stop else "resumed", at)


def events(connection: Connection, *, request_id: str | None, after: int, limit: int) -> Sequence[LedgerEvent]:
    """Events after a place in the record, in order."""
    values: dict[str, Any] = {"after": after, "limit": limit}
    found = (
        connection.execute(_EVENTS, values)
        if request_id is None
        else connection.execute(_OF_REQUEST, {**values, "about": request_id})
    )
    return [
        LedgerEvent(row.id, as_time(row.at), row.kind, row.request_id, row.thread_id, json.loads(row.detail))
        for row in found
    ]

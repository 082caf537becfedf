"""The record of decisions in SQL: entries beside the events of a ledger, in its one order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from sqlalchemy import bindparam, exists, select

from toolgate_langchain.approvals.sql.tables import EVENTS, micros
from toolgate_langchain.approvals.sql.writing import note_event
from toolgate_langchain.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from toolgate_langchain.approvals.ledger import Maybe
    from toolgate_langchain.approvals.recording.entries import Entry
    from toolgate_langchain.approvals.sql.calling import Caller
    from toolgate_langchain.approvals.sql.database import Database

__all__ = ["RecordInSql", "entry_there", "note_entry"]

_THERE: Final = select(
    exists().where(
        EVENTS.c.request_id == bindparam("key"),
        EVENTS.c.kind == bindparam("kind"),
        EVENTS.c.detail.contains(bindparam("mark"), autoescape=False),
    )
)
_SAME: Final = select(
    exists().where(
        EVENTS.c.request_id == bindparam("key"),
        EVENTS.c.kind == bindparam("kind"),
        EVENTS.c.detail == bindparam("text"),
    )
)


def note_entry(connection: Connection, entry: Entry, at: int, *, mark: str = "") -> None:
    """Add an entry to the record, in the transaction of what it is about.

    Args:
        connection: The transaction.
        entry: The entry.
        at: The ledger's time.
        mark: What tells this entry from another that says the same.
    """
    detail = {**entry.detail, "mark": mark} if mark else entry.detail
    request, thread = entry.request_id, entry.thread_id
    note_event(connection, entry.kind, at, request_id=request, thread_id=thread, once=entry.once, **detail)


def entry_there(connection: Connection, entry: Entry) -> bool:
    """Whether the very same entry is in the record."""
    same = {"key": entry.request_id, "kind": entry.kind, "text": canonical_json(dict(entry.detail))}
    return bool(connection.execute(_SAME, same).scalar())


def _note(connection: Connection, entries: Sequence[Entry], at: int, mark: str, tries: list[None]) -> None:
    tries.append(None)
    first = entries[0]
    # The word of a commit can be lost; whoever tries again must not write the same twice.
    looked_for = {"key": first.request_id, "kind": first.kind, "mark": mark}
    if len(tries) > 1 and connection.execute(_THERE, looked_for).scalar():
        return
    for entry in entries:
        note_entry(connection, entry, at, mark=mark)


class RecordInSql:
    """The part of a `SqlLedger` that keeps the record."""

    keeps_record: Final = True

    _database: Database
    _caller: Caller
    _clock: Callable[[], datetime]

    def note(self, entries: Sequence[Entry]) -> Maybe[None]:
        """See `RecordLedger.note`."""
        if not entries:
            return None
        write = partial(
            self._database.write, _note, tuple(entries), at=micros(self._clock()), mark=uuid4().hex, tries=[]
        )
        return self._caller.call(write)

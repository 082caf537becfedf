"""What was read in a conversation, in SQL: notes that are written once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, select

from toolgate_langchain.approvals.sql.tables import NOTES
from toolgate_langchain.approvals.sql.writing import insert_once

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from toolgate_langchain.approvals.ledger import Maybe

__all__ = ["ReadNotesInSql"]

_READ: Final = "read"
"""The kind. Run: the conversation. Subject: the note's key."""

_ALL = select(NOTES.c.subject, NOTES.c.value).where(
    NOTES.c.run_id == bindparam("conversation"), NOTES.c.kind == bindparam("kind")
)


class ReadNotesInSql:
    """The part of `SqlLedger` that keeps what was read; see `ReadNotes`."""

    def _read(self, work: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _write(self, work: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def note_read(self, conversation: str, notes: Mapping[str, str]) -> Maybe[None]:
        """See `ReadNotes.note_read`."""
        noted: Maybe[None] = self._write(_note, conversation, dict(notes))
        return noted

    def read_notes(self, conversation: str) -> Maybe[Mapping[str, str]]:
        """See `ReadNotes.read_notes`."""
        notes: Maybe[Mapping[str, str]] = self._read(_notes, conversation)
        return notes


def _note(connection: Connection, conversation: str, notes: Mapping[str, str]) -> None:
    # In the order of their keys, so that two workers which note the same do not wait for each other in a circle.
    for key in sorted(notes):
        insert_once(connection, NOTES, run_id=conversation, kind=_READ, subject=key, detail="", value=notes[key])


def _notes(connection: Connection, conversation: str) -> dict[str, str]:
    rows = connection.execute(_ALL, {"conversation": conversation, "kind": _READ})
    return {row.subject: row.value for row in rows}

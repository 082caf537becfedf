"""The memory of runs in SQL: notes that are written once, so that a replay of whatever noted them counts once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, select, update

from toolgate_langchain.approvals.sql.tables import NOTES
from toolgate_langchain.approvals.sql.writing import insert_once, insert_or_replace
from toolgate_langchain.policy.context import RunMemory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = [
    "NOTES_OF_MEMORY",
    "change",
    "memory",
    "note_auto_approved",
    "note_change",
    "note_person",
    "note_rejected",
    "note_replaced",
    "remembered",
]

_REJECTED: Final = "rejected"
"""Subject: the request. Value: the key of the call."""
_OF_TOOL: Final = "rejected_of_tool"
"""Subject: the tool's name. Detail: the request."""
_REPLACED: Final = "replaced"
"""Subject: the key of the call."""
_COUNTED: Final = "counted"
"""Subject: the turn. Value: whether it counts still, or a person approved something since."""
_APPROVED: Final = "approved"
"""Subject: the request."""
_CHANGE: Final = "change"
"""Subject: the tool's name. Value: the change."""

_COUNTS: Final = "yes"

NOTES_OF_MEMORY: Final = (_REJECTED, _OF_TOOL, _REPLACED, _COUNTED)
"""The kinds of notes that the memory of a run consists of."""

_MEMORY = select(NOTES.c.kind, NOTES.c.subject, NOTES.c.value).where(
    NOTES.c.run_id == bindparam("run"), NOTES.c.kind.in_(NOTES_OF_MEMORY)
)
_LAST_CHANGE = select(NOTES.c.value).where(
    NOTES.c.run_id == bindparam("run"), NOTES.c.kind == _CHANGE, NOTES.c.subject == bindparam("about")
)
_START_AGAIN = update(NOTES).where(NOTES.c.run_id == bindparam("run"), NOTES.c.kind == _COUNTED).values(value="")


def _note(connection: Connection, run_id: str, kind: str, subject: str, detail: str = "", value: str = "") -> bool:
    return insert_once(connection, NOTES, run_id=run_id, kind=kind, subject=subject, detail=detail, value=value)


def _set(connection: Connection, run_id: str, kind: str, subject: str, value: str) -> None:
    insert_or_replace(connection, NOTES, ("value",), run_id=run_id, kind=kind, subject=subject, detail="", value=value)


def memory(connection: Connection, run_id: str) -> RunMemory:
    """See `Ledger.memory`."""
    return remembered(tuple(row) for row in connection.execute(_MEMORY, {"run": run_id}))


def remembered(notes: Iterable[tuple[str, str, str]]) -> RunMemory:
    """The memory of a run from its notes: the kind, the subject and the value of each."""
    rows = list(notes)
    return RunMemory(
        rejected=frozenset(value for kind, _, value in rows if kind == _REJECTED),
        replaced=frozenset(subject for kind, subject, _ in rows if kind == _REPLACED),
        rejections=dict(Counter(subject for kind, subject, _ in rows if kind == _OF_TOOL)),
        auto_approved_turns=sum(1 for kind, _, value in rows if kind == _COUNTED and value == _COUNTS),
    )


def note_rejected(connection: Connection, run_id: str, key: str, tool_name: str, request_id: str) -> None:
    """See `Ledger.note_rejected`."""
    _set(connection, run_id, _REJECTED, request_id, key)
    _note(connection, run_id, _OF_TOOL, tool_name, request_id)


def note_replaced(connection: Connection, run_id: str, key: str) -> None:
    """See `Ledger.note_replaced`."""
    _note(connection, run_id, _REPLACED, key)


def note_auto_approved(connection: Connection, run_id: str, turn_id: str) -> None:
    """See `Ledger.note_auto_approved`."""
    _note(connection, run_id, _COUNTED, turn_id, value=_COUNTS)


def note_person(connection: Connection, run_id: str, request_id: str) -> None:
    """See `Ledger.note_person`."""
    # A replayed answer must not start the count again a second time.
    if _note(connection, run_id, _APPROVED, request_id):
        connection.execute(_START_AGAIN, {"run": run_id})


def note_change(connection: Connection, run_id: str, tool_name: str, change: str) -> None:
    """See `Ledger.note_change`."""
    _set(connection, run_id, _CHANGE, tool_name, change)


def change(connection: Connection, run_id: str, tool_name: str) -> str | None:
    """See `Ledger.change`."""
    return connection.execute(_LAST_CHANGE, {"run": run_id, "about": tool_name}).scalar()

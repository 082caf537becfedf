"""The end of a standing rule in SQL: what was revoked stays so, whatever a replay or an old state brings back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import BigInteger, Column, Index, Table, Text, bindparam, delete, select

from toolgate_langchain.approvals.sql.answers import read
from toolgate_langchain.approvals.sql.tables import ANSWERS, METADATA, RULES
from toolgate_langchain.approvals.sql.writing import insert_once, note_event

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy import Connection

__all__ = ["REVOKED", "held_answer", "is_revoked", "replaced", "revoke"]

REVOKED: Final = Table(
    "toolgate_revoked",
    METADATA,
    Column("request_id", Text, primary_key=True),
    Column("thread", Text),
    Column("instead", Text, nullable=False),
    Column("revoked_by", Text),
    Column("revoked_at", BigInteger, nullable=False),
)
"""Requests whose rule is not made again. `instead` is the request whose answer made the same rule in its place; empty
where nothing took its place. `thread` is the one whose state may hold the rule: empty where it is not known, and null
where no state can."""

Index("toolgate_revoked_thread", REVOKED.c.thread)

_FOUND = select(REVOKED.c.instead).where(REVOKED.c.request_id == bindparam("key"))
_HELD = (
    select(ANSWERS.c.type, ANSWERS.c.answer, ANSWERS.c.thread_id)
    .where(ANSWERS.c.request_id == bindparam("key"))
    .with_for_update()
)
_RULES = delete(RULES).where(RULES.c.request_id == bindparam("key"))


def held_answer(connection: Connection, request_id: str) -> Any | None:
    """The answer that holds for a request: its type, text and thread. Until the transaction ends nobody changes it.

    Whoever makes a rule, takes an approval back or revokes waits here for the others of the same request.
    """
    return connection.execute(_HELD, {"key": request_id}).one_or_none()


def is_revoked(connection: Connection, request_id: str) -> bool:
    """Whether the rule of a request is not to be made, or not again."""
    return connection.execute(_FOUND, {"key": request_id}).one_or_none() is not None


def replaced(connection: Connection, request_id: str, instead: str, *, at: int) -> None:
    """Say that a rule lives on in the same one of another answer."""
    insert_once(
        connection, REVOKED, request_id=request_id, thread=None, instead=instead, revoked_by=None, revoked_at=at
    )


def revoke(connection: Connection, request_id: str, *, by: str | None, at: int, seen: bool) -> bool:
    """See `RuleLedger.revoke`."""
    while (instead := connection.execute(_FOUND, {"key": request_id}).scalar()) is not None:
        if not instead:
            return True
        request_id = instead
    held = held_answer(connection, request_id)
    thread = None if held is None else held.thread_id
    if not seen and (held is None or read(held.answer).remember is None):
        return False
    connection.execute(_RULES, {"key": request_id})
    row = {"request_id": request_id, "thread": thread or "", "instead": ""}
    if not insert_once(connection, REVOKED, **row, revoked_by=by, revoked_at=at):
        # While this waited, somebody revoked it too, or the same rule was made anew.
        return revoke(connection, request_id, by=by, at=at, seen=seen)
    note_event(connection, "rule_revoked", at, request_id=request_id, thread_id=thread, by=by)
    return True

"""What both databases say in dialects of their own: insert once, insert or replace, and the record of what happened."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert
from sqlalchemy.dialects import postgresql, sqlite

from toolgate_langchain.approvals.sql.tables import EVENTS
from toolgate_langchain.canonical import canonical_json

if TYPE_CHECKING:
    from sqlalchemy import Connection, Insert, Table

__all__ = ["insert_once", "insert_or_replace", "note_event"]

_INSERT_EVENT = insert(EVENTS)
_INSERT_EVENT_ONCE = {
    "sqlite": sqlite.insert(EVENTS).on_conflict_do_nothing(),
    "postgresql": postgresql.insert(EVENTS).on_conflict_do_nothing(),
}


@lru_cache(maxsize=64)
def _insert(dialect: str, table: Table, replaced: tuple[str, ...]) -> Insert:
    key = list(table.primary_key.columns)
    made = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    if not replaced:
        made = made.execution_options(preserve_rowcount=True)
        return made.on_conflict_do_nothing(index_elements=key)
    return made.on_conflict_do_update(index_elements=key, set_={name: made.excluded[name] for name in replaced})


def insert_once(connection: Connection, table: Table, **row: Any) -> bool:
    """Insert a row unless one of this key is there. `True` for whoever inserted it, which of many is exactly one.

    Where another transaction is inserting the same key, this waits until it is over.
    """
    return connection.execute(_insert(connection.dialect.name, table, ()), row).rowcount == 1


def insert_or_replace(connection: Connection, table: Table, replaced: tuple[str, ...], **row: Any) -> None:
    """Insert a row; where one of this key is there, replace some of its columns."""
    connection.execute(_insert(connection.dialect.name, table, replaced), row)


def note_event(
    connection: Connection,
    kind: str,
    at: int,
    *,
    request_id: str | None = None,
    thread_id: str | None = None,
    once: str = "",
    **detail: Any,
) -> None:
    """Add to the record, in the transaction of what happened: either both are there or neither is.

    Args:
        connection: The transaction.
        kind: What happened.
        at: When.
        request_id: The request that it is about.
        thread_id: The thread that it is about.
        once: What is the same for what a replay would tell again; what is there already is not written a second time.
        **detail: What else is known of it.
    """
    row = {
        "at": at,
        "kind": kind,
        "request_id": request_id,
        "thread_id": thread_id,
        "detail": canonical_json(detail),
        "once": once or None,
    }
    connection.execute(_INSERT_EVENT_ONCE[connection.dialect.name] if once else _INSERT_EVENT, row)

"""Ledgers that tests make, in any of their processes, do not wait for the disk, and write out each statement once.

The machine's power is not what is tested: what a process wrote is there when it dies, also where it waited for nothing.

A ledger speaks some thirty statements, and to write them out takes longer than to run them. SQLAlchemy keeps what it
wrote for one engine, and each ledger has an engine of its own. What is written depends on the kind of database and on
its driver alone, and tests have one of each.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.pool import Pool

__all__ = ["without_the_disk"]


def without_the_disk(connection: Any, *_: object) -> None:
    """Have a connection not wait for the disk, if it is one of SQLite."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


# Whenever one is taken from its pool: when it is made, the ledger has it wait for the disk, and has the last word.
event.listen(Pool, "checkout", without_the_disk)


class _Written(dict[Any, Any]):
    """Statements that were written out, by the kind of database where SQLAlchemy names the one engine's own."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((type(key[0]), *key[1:]), default)

    def __setitem__(self, key: Any, written: Any) -> None:
        super().__setitem__((type(key[0]), *key[1:]), written)


_WRITTEN = _Written()


@event.listens_for(Engine, "engine_connect")
def _with_what_is_written(connection: Connection) -> None:
    connection.execution_options(compiled_cache=_WRITTEN)

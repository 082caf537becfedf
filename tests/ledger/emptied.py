"""Ledgers' databases with nothing in them, made once: to make the tables takes longer than most tests.

Tests of how a database becomes a ledger take the empty ones of `databases.py`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.ledger.databases import Postgres
from tests.ledger.left_open import RESERVES, Reserve, search_path
from toolgate_langchain import SqlLedger


class EmptyLedgers:
    """Ledgers' databases in which nobody ever said anything.

    Args:
        folder: Where the pattern of the files lies.
        beside: Makes the tables that others keep in the same schema of PostgreSQL, such as a checkpointer's.
    """

    def __init__(self, folder: Path, beside: Callable[[Postgres, str], None] = lambda *_: None) -> None:
        self._pattern, self._beside, self._kind = folder / "empty.db", beside, folder.name.rstrip("0123456789")
        self._free: dict[Postgres, list[_Schema]] = {}
        self._numbers = count(1)

    def file(self, folder: Path) -> str:
        """The URL of a file of SQLite in a folder."""
        if not self._pattern.exists():
            _make(f"sqlite:///{self._pattern}")
        return f"sqlite:///{shutil.copyfile(self._pattern, folder / 'ledger.db')}?timeout=0.2"

    @contextmanager
    def schema(self, server: Postgres) -> Iterator[str]:
        """The name of a schema of PostgreSQL, which is emptied afterwards and is then another test's."""
        free = self._free.setdefault(server, [])
        schema = free.pop() if free else _Schema(server, f"empty_{self._kind}{next(self._numbers)}", self._beside)
        yield schema.name
        if schema.empty():
            free.append(schema)
        else:
            schema.close()

    def close(self) -> None:
        """Close the connections that were left open."""
        for free in self._free.values():
            while free:
                free.pop().close()


class _Schema:
    """One schema, and the connections to it that tests left open."""

    def __init__(self, server: Postgres, name: str, beside: Callable[[Postgres, str], None]) -> None:
        self._server, self.name = server, name
        RESERVES[search_path(name)] = self._reserve = Reserve()
        server.execute(f"CREATE SCHEMA {name}")
        _make(server.url(name))
        beside(server, name)
        tables = [table for (table,) in server.execute(_NAMES.format("tables", "table", name))]
        sequences = [sequence for (sequence,) in server.execute(_NAMES.format("sequences", "sequence", name))]
        statements = ["BEGIN", "SET LOCAL lock_timeout = '5s'", f"SET LOCAL search_path = {name}"]
        # The triggers, by which events are only added and rules get their stamps, look away here.
        statements.append("SET LOCAL session_replication_role = replica")
        for table in tables:
            statements.append(f"DELETE FROM {table}")
            if server.execute(f"SELECT 1 FROM {name}.{table}"):
                # What every ledger holds from the start: its version, its identity.
                server.execute(f"CREATE TABLE {name}.first_{table} AS TABLE {name}.{table}")
                statements.append(f"INSERT INTO {table} TABLE first_{table}")
        statements += [f"ALTER SEQUENCE {sequence} RESTART" for sequence in sequences]
        self._statement = "; ".join([*statements, "COMMIT"])
        self._shape = self._look()

    def empty(self) -> bool:
        """Take out all that was put in. Whether all is then as it was; a test may have changed the tables."""
        if self._look() != self._shape:
            return False
        self._server.execute(self._statement)
        return True

    def close(self) -> None:
        """Close the connections that were left open."""
        self._reserve.close()

    def _look(self) -> list[tuple[str]]:
        return self._server.execute(_SHAPE.format(self.name))


_SHAPE = """
    SELECT relname || ' ' || COALESCE(attname, '') FROM pg_class LEFT JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = '{0}'::regnamespace AND relkind IN ('r', 'i') AND COALESCE(attnum, 1) > 0
    UNION ALL SELECT conname FROM pg_constraint WHERE connamespace = '{0}'::regnamespace
    UNION ALL SELECT tgname FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid
    WHERE relnamespace = '{0}'::regnamespace
    ORDER BY 1"""
_NAMES = "SELECT {1}_name FROM information_schema.{0} WHERE {1}_schema = '{2}'"


def _make(url: str) -> None:
    ledger = SqlLedger(url)
    assert not ledger.stopped()
    ledger.close()

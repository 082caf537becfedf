"""From a URL to a database: which ones there are, how each is set up, and how it is named without its password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import URL, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from toolgate_langchain.errors import ConfigurationError, needs_extra

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.pool import ConnectionPoolEntry

__all__ = ["READS", "THREADS", "make_engine", "read_url", "shown_url"]

THREADS: Final = 8
"""Connections, and threads for asynchronous callers, of one ledger: as many of each, so that none waits for one."""

READS: Final = "toolgate_reads"
"""The execution option of connections that only read."""

_DRIVERS: Final = {
    "sqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}

_KNOWN: Final = '"sqlite:///ledger.db" or "postgresql://user:password@host/database"'

_CONNECT_TIMEOUT: Final = 5
"""Seconds until a server that does not reply counts as away; libpq alone would wait for minutes."""

_PATIENCE: Final = {"lock_timeout": "5s", "idle_in_transaction_session_timeout": "30s"}
"""How long one worker waits for a row that another holds, as SQLite's driver waits for its file, and how long one that
hangs in the middle of a transaction holds any. A transaction of a ledger takes milliseconds."""

_UNACKNOWLEDGED: Final = 10_000
"""Milliseconds until a connection counts as lost whose data nobody acknowledges."""


def read_url(url: str | URL) -> URL:
    """Read the URL of a ledger's database.

    Raises:
        ConfigurationError: If it is no such URL. The message holds nothing of it but its scheme.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # Not chained: what cannot be read may hold a password in any place.
        raise ConfigurationError(f"this is no URL of a database: a ledger takes {_KNOWN}") from None
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise ConfigurationError(f"{parsed.drivername!r} is no database that a ledger knows: it takes {_KNOWN}")
    if "@" in (parsed.host or ""):
        # Part of a password would be looked up as a host, and told in the error.
        raise ConfigurationError('the URL has more than one "@": write one inside a password as "%40"')
    if driver.startswith("sqlite") and (parsed.database or ":memory:") == ":memory:":
        raise ConfigurationError("a SQLite ledger is a file: use InMemoryLedger() for what may end with the process")
    return parsed.set(drivername=driver)


def shown_url(url: URL) -> str:
    """The database as it may stand in an error or a log: no user, no password, no options."""
    place = "" if url.host is None else url.host if url.port is None else f"{url.host}:{url.port}"
    return f"{url.get_backend_name()}://{place}/{url.database or ''}"


def make_engine(url: URL) -> Engine:
    """The connections to a database. Nothing is connected yet.

    Raises:
        MissingExtraError: If the database's driver is not installed; the message names the extra.
    """
    options: dict[str, Any] = {
        # Statements carry what people wrote; it must not turn up in an error's text.
        "hide_parameters": True,
        "pool_size": THREADS,
        "max_overflow": THREADS,
        "pool_timeout": 30,
    }
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, **options)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    given = url.query
    bounds = {"connect_timeout": _CONNECT_TIMEOUT, "tcp_user_timeout": _UNACKNOWLEDGED}
    with needs_extra("A ledger in PostgreSQL", "postgresql"):
        engine = create_engine(
            url,
            # Row by row, what a statement waited for is what it then sees; see `grants` and `answers`.
            isolation_level="READ COMMITTED",
            connect_args={name: value for name, value in bounds.items() if name not in given},
            **options,
        )
    event.listen(engine, "connect", _prepare_postgresql)
    return engine


def _prepare_postgresql(connection: Any, _: ConnectionPoolEntry) -> None:
    with connection.cursor() as cursor:
        for setting, bound in _PATIENCE.items():
            # Unless whoever runs the database set something else.
            cursor.execute(
                "SELECT set_config(%s, %s, false) WHERE current_setting(%s) = '0'", (setting, bound, setting)
            )
    connection.commit()


def _prepare_sqlite(connection: Any, _: ConnectionPoolEntry) -> None:
    # The driver must not begin transactions by itself: it would begin them without the right to write.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    # Also after a power cut, what was committed is there: a grant that was used up stays used up.
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: Connection) -> None:
    if not connection.get_execution_options().get(READS):
        # With the right to write from the start, so that nothing that was read is old when it is written.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

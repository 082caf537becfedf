"""One database and its transactions: opened when first used, tried again where that helps, as a whole or not at all."""

from __future__ import annotations

import os
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from toolgate_langchain.approvals.sql.connecting import READS, make_engine, read_url, shown_url
from toolgate_langchain.approvals.sql.retrying import make_retrying
from toolgate_langchain.approvals.sql.schema import migrate
from toolgate_langchain.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import URL, Connection

__all__ = ["Database"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Database:
    """The database behind a ledger. Synchronous, and safe to use from several threads.

    Args:
        url: As for `SqlLedger`.
        sleep: Waits between two tries, for some seconds.
        create: Whether a ledger is made where there is none.
        look: Looks at the ledger when it is opened, in the same transaction; what it raises keeps it closed.

    Raises:
        ConfigurationError: If the URL is not one of a database that is known here.
        MissingExtraError: If the database's driver is not installed.
    """

    def __init__(
        self,
        url: str | URL,
        sleep: Callable[[float], None],
        *,
        create: bool = True,
        look: Callable[[Connection], None] = lambda _: None,
    ) -> None:
        self._create, self._look = create, look
        parsed = read_url(url)
        self.shown = shown_url(parsed)
        self._engine = make_engine(parsed)
        only = {READS: True} if self._engine.dialect.name == "sqlite" else {"isolation_level": "AUTOCOMMIT"}
        self._reading = self._engine.execution_options(**only)
        self._retrying = make_retrying(self.shown, sleep)
        self._prepared = False
        self._process = os.getpid()
        self._locks()

    def _locks(self) -> None:
        self._preparing = threading.Lock()
        # SQLite lets one write at a time; in here they queue up, where a file lock would be polled for.
        self._writing = threading.Lock() if self._engine.dialect.name == "sqlite" else nullcontext()

    def prepare(self) -> None:
        """Connect, and create or migrate the tables, unless that was done."""
        if os.getpid() != self._process:
            # A process that was forked off must not speak on its parent's connections.
            self._engine.dispose(close=False)
            self._process = os.getpid()
            self._locks()
        if not self._prepared:
            with self._preparing:
                if not self._prepared:
                    self._try(lambda: self._transaction(self._open))
                    self._prepared = True

    def _open(self, connection: Connection) -> None:
        migrate(connection, create=self._create)
        self._look(connection)

    def read(self, work: Callable[Concatenate[Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run a piece of work that only reads, with a single statement.

        Raises:
            LedgerError: If the database cannot be read.
        """
        self.prepare()

        def once() -> _T:
            with self._reading.connect() as connection:
                return work(connection, *args, **kwargs)

        return self._try(once)

    def write(self, work: Callable[Concatenate[Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run a piece of work in one transaction, which may be tried several times.

        The word that a transaction was committed can be lost. So the work must give the same where it finds its
        own first try already done.

        Raises:
            LedgerError: If the database cannot be written.
        """
        self.prepare()
        return self._try(lambda: self._transaction(work, *args, **kwargs))

    def close(self) -> None:
        """Give the connections back. The next use opens new ones."""
        self._engine.dispose()

    def _transaction(self, work: Callable[Concatenate[Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._writing, self._engine.begin() as connection:
            return work(connection, *args, **kwargs)

    def _try(self, once: Callable[[], _T]) -> _T:
        try:
            return self._retrying(once)
        except SQLAlchemyError as error:
            why = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            raise LedgerError(
                f"the ledger {self.shown} cannot be used, so nothing is released: {type(why).__name__}: {why}"
            ) from error

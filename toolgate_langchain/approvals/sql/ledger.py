"""A ledger in SQLite or PostgreSQL, for approvals that outlive the process and workers that share them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar
from uuid import uuid4

from toolgate_langchain.approvals.settings import check_lease
from toolgate_langchain.approvals.sql import answers, grants, record, runs
from toolgate_langchain.approvals.sql.calling import Caller
from toolgate_langchain.approvals.sql.claims import SqlClaims
from toolgate_langchain.approvals.sql.clock import ClockOnRecord
from toolgate_langchain.approvals.sql.database import Database
from toolgate_langchain.approvals.sql.inbox_methods import SqlInbox
from toolgate_langchain.approvals.sql.noting import RecordInSql
from toolgate_langchain.approvals.sql.outcome_methods import SqlOutcomes
from toolgate_langchain.approvals.sql.read_notes import ReadNotesInSql
from toolgate_langchain.approvals.sql.standing import RulesInSql
from toolgate_langchain.approvals.sql.tables import micros
from toolgate_langchain.approvals.steady import SteadyClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import URL, Connection

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, Maybe, PendingRequest
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.sql.record import LedgerEvent
    from toolgate_langchain.policy.context import RunMemory

__all__ = ["LEASE", "SqlLedger"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

LEASE: Final = timedelta(minutes=5)
"""How long a worker has a claim to itself. An answer is carried into its run within seconds; one whose worker
died meanwhile must not stay "being answered" for ever."""


def _now() -> datetime:
    return datetime.now(UTC)


class SqlLedger(ClockOnRecord, SqlOutcomes, SqlClaims, RulesInSql, SqlInbox, RecordInSql, ReadNotesInSql):
    """A ledger in a database. It outlives the process, and any number of workers may share it.

    `SqlLedger("sqlite:///ledger.db")` is a file for the processes of one machine, and
    `SqlLedger("postgresql://user:password@host/database")` is for many machines. Its tables, all named
    `toolgate_...`, are made or brought up to date when it is first used.

    Each method is one transaction. Where no event loop runs, it gives its value; below a running loop it is begun in
    a thread and gives an awaitable, so that the loop is never blocked. The gate takes both, so one ledger serves
    `invoke` and `ainvoke`. `stop`, `resume`, `prepare` and `close` always wait: they are a person's, and must hold
    when they return.

    Args:
        url: The database, as SQLAlchemy writes it.
        lease: How long a worker has a claim to itself. Clocks of workers should differ by much less.
        clock: Tells the time, with a zone.
        sleep: Waits for some seconds between two tries, where the database is locked, restarting or away. After at
            most 8 tries or 20 seconds it is an error.
        create: Whether its tables are made where there are none; else that is an error.

    Raises:
        ConfigurationError: If the URL is not one of SQLite or PostgreSQL.
        MissingExtraError: If SQLAlchemy or the driver is missing; extras `sql` and `postgresql`.

    Every method raises `LedgerError` where the database cannot be used, and `LedgerSchemaError` where it is of a newer
    version or another program's. Hosts let nothing run then.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        lease: timedelta = LEASE,
        clock: Callable[[], datetime] = _now,
        sleep: Callable[[float], None] = time.sleep,
        create: bool = True,
    ) -> None:
        check_lease(lease, clock)
        super().__init__()
        self._steady = SteadyClock(clock)
        self._lease, self._clock = lease, self._steady
        self._database, self._caller = Database(url, sleep, create=create, look=self._look_at_the_time), Caller()

    def __repr__(self) -> str:
        return f"SqlLedger({self._database.shown!r})"

    def _read(self, work: Callable[Concatenate[Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> Maybe[_T]:
        return self._caller.call(lambda: self._database.read(work, *args, **kwargs))

    def _write(self, work: Callable[Concatenate[Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> Maybe[_T]:
        return self._caller.call(lambda: self._database.write(work, *args, **kwargs))

    def prepare(self) -> None:
        """Connect, and make the tables or bring them up to date, which the first use does otherwise."""
        self._database.prepare()

    def close(self) -> None:
        """Give threads and connections back, after what they are doing. The next use opens new ones."""
        self._caller.close()
        self._database.close()

    # --- the switch and the record ------------------------------------------------------------

    def stop(self) -> None:
        """Stop all releases of all workers, also of calls that were approved and have not started."""
        self._database.write(record.throw, stop=True, at=self._micros())

    def resume(self) -> None:
        """Let releases go on."""
        self._database.write(record.throw, stop=False, at=self._micros())

    def stopped(self) -> Maybe[bool]:
        """See `Ledger.stopped`."""
        return self._read(record.stopped)

    def quiet(self, run_id: str, thread_id: str | None, caller_id: str | None = None) -> bool:
        """See `Ledger.quiet`. Another worker may have said something this very moment, so never."""
        return False

    def events(
        self,
        *,
        request_id: str | None = None,
        thread_id: str | None = None,
        since: datetime | None = None,
        after: int = 0,
        limit: int = 1_000,
    ) -> Maybe[Sequence[LedgerEvent]]:
        """What happened in this ledger, in order.

        Args:
            request_id: Only what happened to one request.
            thread_id: Only what happened on one thread.
            since: Only what happened at this time or later.
            after: Only what comes after this place in the record.
            limit: At most so many.
        """
        only = {"request_id": request_id, "thread_id": thread_id}
        at = None if since is None else micros(since)
        return self._read(record.events, only=only, since=at, after=after, limit=limit)

    # --- the memory of a run ------------------------------------------------------------------

    def memory(self, run_id: str) -> Maybe[RunMemory]:
        """See `Ledger.memory`."""
        return self._read(runs.memory, run_id)

    def note_rejected(self, run_id: str, key: str, tool_name: str, request_id: str) -> Maybe[None]:
        """See `Ledger.note_rejected`."""
        return self._write(runs.note_rejected, run_id, key, tool_name, request_id)

    def note_replaced(self, run_id: str, key: str) -> Maybe[None]:
        """See `Ledger.note_replaced`."""
        return self._write(runs.note_replaced, run_id, key)

    def note_auto_approved(self, run_id: str, turn_id: str) -> Maybe[None]:
        """See `Ledger.note_auto_approved`."""
        return self._write(runs.note_auto_approved, run_id, turn_id)

    def note_person(self, run_id: str, request_id: str) -> Maybe[None]:
        """See `Ledger.note_person`."""
        return self._write(runs.note_person, run_id, request_id)

    def note_change(self, run_id: str, tool_name: str, change: str) -> Maybe[None]:
        """See `Ledger.note_change`."""
        return self._write(runs.note_change, run_id, tool_name, change)

    def change(self, run_id: str, tool_name: str) -> Maybe[str | None]:
        """See `Ledger.change`."""
        return self._read(runs.change, run_id, tool_name)

    # --- requests and answers -----------------------------------------------------------------

    def ask(
        self,
        request: ApprovalRequest,
        *,
        thread_id: str | None = None,
        at: datetime | None = None,
        expires_at: datetime | None = None,
        place: str | None = None,
    ) -> Maybe[None]:
        """See `Ledger.ask`."""
        ends = None if expires_at is None else micros(expires_at)
        now = self._micros()  # also where another time is given: from then on a clock that goes back is noticed
        asked = now if at is None else micros(at)
        place = thread_id if place is None else place
        return self._write(answers.ask, request, thread_id=thread_id, at=asked, expires_at=ends, place=place, now=now)

    def pending(self, *, limit: int = 100) -> Maybe[Sequence[PendingRequest]]:
        """See `Ledger.pending`."""
        return self._read(answers.pending, limit=limit, at=self._micros())

    def answer(
        self, request_id: str, answer: ApprovalAnswer, *, thread_id: str | None = None, at: datetime | None = None
    ) -> Maybe[AnswerStatus]:
        """See `Ledger.answer`.

        Raises:
            NotPlainJsonError: If the answer holds what a database cannot carry exactly.
        """
        return self._write(
            answers.answer,
            request_id,
            answers.written(answer),
            answer,
            thread_id=thread_id,
            answered_at=None if at is None else micros(at),
            attempt=uuid4().hex,
            at=self._micros(),
        )

    def answered_at(self, request_id: str) -> Maybe[datetime | None]:
        """See `Ledger.answered_at`."""
        return self._read(answers.answered_at, request_id)

    def thread_of(self, request_id: str) -> Maybe[str | None]:
        """See `Ledger.thread_of`."""
        return self._read(answers.thread_of, request_id)

    def answer_to(self, request_id: str) -> Maybe[ApprovalAnswer | None]:
        """See `Ledger.answer_to`."""
        return self._read(answers.answer_to, request_id)

    # --- grants -------------------------------------------------------------------------------

    def grant(self, request_id: str, digest: str) -> Maybe[None]:
        """See `Ledger.grant`."""
        return self._write(grants.grant, request_id, digest, at=self._micros())

    def status(self, request_id: str) -> Maybe[GrantStatus | None]:
        """See `Ledger.status`."""
        return self._read(grants.status, request_id)

    def withdraw(self, request_ids: Sequence[str]) -> Maybe[None]:
        """See `Ledger.withdraw`."""
        return self._write(grants.withdraw, tuple(request_ids), at=self._micros())

"""What the record says of the time, for a worker that was not there: its clock must not be behind what is on record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from toolgate_langchain.approvals.sql.tables import EVENTS, as_time, micros
from toolgate_langchain.approvals.sql.writing import note_event
from toolgate_langchain.approvals.steady import ALLOWED_SKEW
from toolgate_langchain.errors import LedgerError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from toolgate_langchain.approvals.sql.database import Database
    from toolgate_langchain.approvals.steady import SteadyClock

__all__ = ["ClockOnRecord", "check_clock"]

_LAST = select(EVENTS.c.at).order_by(EVENTS.c.id.desc()).limit(1)


def check_clock(connection: Connection, at: int) -> None:
    """Refuse a time that is well before the last thing on record.

    Args:
        connection: Where the record is.
        at: The time.

    Raises:
        LedgerError: With both times, and what to do where it is the record that is wrong.
    """
    last = connection.execute(_LAST).scalar()
    if last is not None and as_time(last) - as_time(at) > ALLOWED_SKEW:
        raise LedgerError(
            f"the clock says {as_time(at).isoformat()}, and the ledger's record goes on until "
            f"{as_time(last).isoformat()}: a clock went back, so nothing is released until it is right; if it is right "
            "and that one was wrong, say so once: SqlLedger(...).clock_is_right()"
        )


class ClockOnRecord:
    """The part of `SqlLedger` that looks at the record's time: once, when the database is opened."""

    _steady: SteadyClock
    _database: Database
    _believed = False

    def _look_at_the_time(self, connection: Connection) -> None:
        """Refuse to open a database whose record goes on until a later time than now."""
        if not self._believed:
            check_clock(connection, micros(self._steady()))

    def clock_is_right(self) -> None:
        """Say that this clock is right, and that the one by which the last of the record was written ran ahead.

        It is on record itself (`clock_is_right`), so that workers that start from now on go by it.
        """
        now = self._steady.unchecked()
        self._believed = True
        self._database.write(_note, at=micros(now))


def _note(connection: Connection, *, at: int) -> None:
    note_event(connection, "clock_is_right", at)

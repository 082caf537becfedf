"""The part of a ledger in a database that keeps what became of calls, as methods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolgate_langchain.approvals.sql import outcomes
from toolgate_langchain.approvals.sql.tables import micros

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.attempts import CallEnd, CallStart
    from toolgate_langchain.approvals.ledger import Maybe, StartStatus
    from toolgate_langchain.approvals.recording.entries import Entry

__all__ = ["SqlOutcomes"]

_T = TypeVar("_T")

_REMEMBERED: Final = 4_096
"""Attempts that are known to be over; of older ones the lease has to be waited for."""


class SqlOutcomes:
    """The part of `SqlLedger` that keeps what became of calls; see `Outcomes`."""

    _lease: timedelta
    _clock: Callable[[], datetime]
    _known_identity = ""

    def __init__(self) -> None:
        super().__init__()
        self._over: dict[str, str] = {}
        """Attempts that are over, so that nobody waits for their lease where the end could not be written."""

    if TYPE_CHECKING:

        def _read(self, work: Callable[..., _T], *args: Any, **kwargs: Any) -> Maybe[_T]: ...

        def _write(self, work: Callable[..., _T], *args: Any, **kwargs: Any) -> Maybe[_T]: ...

    def _micros(self) -> int:
        """The time now, as the tables hold it.

        Raises:
            LedgerError: If the clock went back by more than a minute. Leases and limits mean nothing then.
        """
        return micros(self._clock())

    def _ended(self, call: CallEnd | CallStart) -> None:
        """A call is over here, whether or not that can be written."""
        self._over[call.request_id] = call.attempt
        if len(self._over) > _REMEMBERED:
            del self._over[next(iter(self._over))]

    def _until(self) -> int:
        return self._micros() + int(self._lease / timedelta(microseconds=1))

    def identity(self) -> Maybe[str]:
        """See `Outcomes.identity`."""
        return self._known_identity or self._read(self._look_who)

    def _look_who(self, connection: Any) -> str:
        self._known_identity = outcomes.identity(connection)
        return self._known_identity

    def held(self, request_id: str) -> Maybe[bool]:
        """See `Outcomes.held`."""
        return self._read(outcomes.held, request_id, at=self._micros(), over=self._over.get(request_id, ""))

    def tries(self, request_id: str) -> Maybe[int]:
        """See `Outcomes.tries`."""
        return self._read(outcomes.tries, request_id)

    def start(self, call: CallStart) -> Maybe[StartStatus]:
        """See `Ledger.start`."""
        return self._write(outcomes.start, call, at=self._micros(), until=self._until() if call.hold else 0)

    def end(self, call: CallEnd) -> Maybe[bool]:
        """See `Ledger.end`."""
        at = self._micros()
        self._ended(call)
        return self._write(outcomes.end, call, at=at)

    def let_go(self, call: CallStart, entry: Entry | None = None) -> Maybe[None]:
        """See `Outcomes.let_go`."""
        at = self._micros()
        self._ended(call)
        return self._write(outcomes.let_go, call, entry, at=at)

    def try_again(self, call: CallStart, tries: int, *, asked: str) -> Maybe[bool]:
        """See `Outcomes.try_again`."""
        at, until, over = self._micros(), self._until(), self._over.get(call.request_id, "")
        return self._write(outcomes.try_again, call, tries, asked, at=at, until=until, over=over)

    def end_unknown(self, call: CallEnd, tries: int) -> Maybe[bool]:
        """See `Outcomes.end_unknown`."""
        return self._write(outcomes.end_unknown, call, tries, at=self._micros())

    def result(self, request_id: str) -> Maybe[ToolMessage | None]:
        """See `Outcomes.result`."""
        return self._read(outcomes.result, request_id)

    def forget_results(self, scope: str) -> Maybe[None]:
        """See `Outcomes.forget_results`."""
        return self._write(outcomes.forget_results, scope)

    def ends_at(self, request_id: str) -> Maybe[datetime | None]:
        """See `Outcomes.ends_at`."""
        return self._read(outcomes.ends_at, request_id)

    def expire(self, request_id: str, *, at: datetime) -> Maybe[bool]:
        """See `Outcomes.expire`."""
        return self._write(outcomes.expire, request_id, at=micros(at.astimezone(UTC)))

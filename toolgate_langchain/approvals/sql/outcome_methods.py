"""The part of a ledger in a database that keeps what became of calls, as methods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from toolgate_langchain.approvals.sql import outcomes
from toolgate_langchain.approvals.sql.tables import as_time, micros
from toolgate_langchain.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.ledger import Maybe

__all__ = ["SqlOutcomes"]

_T = TypeVar("_T")


class SqlOutcomes:
    """The part of `SqlLedger` that keeps what became of calls; see `Outcomes`."""

    _lease: timedelta
    _clock: Callable[[], datetime]
    _latest = 0
    """The latest time that this ledger saw."""
    _known_identity = ""

    if TYPE_CHECKING:

        def _read(self, work: Callable[..., _T], *args: Any, **kwargs: Any) -> Maybe[_T]: ...

        def _write(self, work: Callable[..., _T], *args: Any, **kwargs: Any) -> Maybe[_T]: ...

    def _micros(self) -> int:
        """The time now, as the tables hold it.

        Raises:
            LedgerError: If the clock went back by more than a minute. Leases and limits mean nothing then.
        """
        now = micros(self._clock())
        if self._latest - now > outcomes.ALLOWED_SKEW:
            raise LedgerError(
                f"the clock went back from {as_time(self._latest).isoformat()} to {as_time(now).isoformat()}: nothing "
                "is released until it is right, or the program is started again"
            )
        self._latest = max(self._latest, now)
        return now

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
        return self._read(outcomes.held, request_id, at=self._micros())

    def tries(self, request_id: str) -> Maybe[int]:
        """See `Outcomes.tries`."""
        return self._read(outcomes.tries, request_id)

    def try_again(self, request_id: str, digest: str, tries: int) -> Maybe[bool]:
        """See `Outcomes.try_again`."""
        at, until = self._micros(), self._until()
        return self._write(outcomes.try_again, request_id, digest, tries, attempt=uuid4().hex, at=at, until=until)

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

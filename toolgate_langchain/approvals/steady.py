"""A clock that is noticed when it goes back. Leases, limits and what holds "for an hour" mean nothing then."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from toolgate_langchain.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

__all__ = ["ALLOWED_SKEW", "SteadyClock", "check_after"]

ALLOWED_SKEW: Final = timedelta(minutes=1)
"""By how much two clocks, or one clock at two moments, may disagree. A clock that is kept by NTP is off by far less,
and no time limit of a ledger is about less."""


class SteadyClock:
    """The time, as long as it does not go back.

    Args:
        clock: Tells the time, with a zone.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._latest: datetime | None = None

    def __call__(self) -> datetime:
        """The time now.

        Raises:
            LedgerError: If it is more than a minute before a time that was told before.
        """
        now, latest = self._clock(), self._latest
        if latest is not None and latest - now > ALLOWED_SKEW:
            raise LedgerError(
                f"the clock went back from {latest.isoformat()} to {now.isoformat()}: nothing is released until it is "
                "right, or the program is started again"
            )
        if latest is None or now > latest:
            self._latest = now
        return now

    def unchecked(self) -> datetime:
        """The time now, which is right from now on, whatever was told before."""
        self._latest = self._clock()
        return self._latest


def check_after(at: datetime, asked_at: datetime, request_id: str) -> None:
    """Refuse a time at which a request is answered, or looked at, that is well before it was asked.

    Args:
        at: The time.
        asked_at: When it was asked, by the same kind of clock.
        request_id: The request.

    Raises:
        LedgerError: With both times.
    """
    if asked_at - at > ALLOWED_SKEW:
        raise LedgerError(
            f"the clock says {at.isoformat()}, and request {request_id} was asked at {asked_at.isoformat()}: a clock "
            "went back, so nobody can tell whether the request's time is over; nothing is released until the clock is "
            "right"
        )

"""Which failures of a database pass by themselves, and how long they are waited for."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree
from tenacity import Retrying, retry_if_exception, stop_after_attempt, stop_after_delay, wait_random_exponential

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenacity import RetryCallState

__all__ = ["is_transient", "make_retrying"]

logger = logging.getLogger("toolgate_langchain")

_ATTEMPTS: Final = 8
_SECONDS: Final = 20.0
"""A try begins no later than this after the first: whoever waits for the call should hear of it soon."""

_FIRST: Final = 0.05
_LONGEST: Final = 2.0
"""Bounds of the random waits between tries, in seconds, doubled from try to try."""

_SQLITE: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}

# https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRESQL: Final = {
    "40001",  # serialization_failure
    "40P01",  # deadlock_detected
    "53300",  # too_many_connections
    "55P03",  # lock_not_available
    "57P01",  # admin_shutdown
    "57P02",  # crash_shutdown
    "57P03",  # cannot_connect_now
}
_CONNECTION_EXCEPTION: Final = "08"


def is_transient(error: BaseException) -> bool:
    """Whether a failure may pass by itself: the database is locked, busy, restarting or not reached."""
    if isinstance(error, NoConnectionFree):
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    code = getattr(error.orig, "sqlite_errorcode", None)
    if isinstance(code, int):
        # An extended code has the plain one in its lowest byte.
        return code & 0xFF in _SQLITE
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(state, str):
        return state in _POSTGRESQL or state.startswith(_CONNECTION_EXCEPTION)
    # No server gave a reason: there was none to be reached.
    return isinstance(error, OperationalError)


def make_retrying(shown: str, sleep: Callable[[float], None]) -> Retrying:
    """Whoever tries again, with random waits, and gives up in the end by raising the last error.

    Args:
        shown: The database, for the log.
        sleep: Waits for some seconds.
    """

    def told(state: RetryCallState) -> None:
        error = None if state.outcome is None else state.outcome.exception()
        logger.warning("ledger %s: %s, try %d failed", shown, type(error).__name__, state.attempt_number)

    return Retrying(
        retry=retry_if_exception(is_transient),
        stop=stop_after_attempt(_ATTEMPTS) | stop_after_delay(_SECONDS),
        wait=wait_random_exponential(multiplier=_FIRST, max=_LONGEST),
        sleep=sleep,
        before_sleep=told,
        reraise=True,
    )

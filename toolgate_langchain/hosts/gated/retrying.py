"""Trying again what failed for a moment: the model, and tools whose calls may be repeated."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from toolgate_langchain.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Retry", "is_transient"]

logger = logging.getLogger("toolgate_langchain")

_T = TypeVar("_T")

_STATUS_REQUEST_TIMEOUT: Final = 408
_STATUS_TOO_MANY_REQUESTS: Final = 429
_STATUS_SERVER_ERROR: Final = 500
_STATUS_NOT_IMPLEMENTED: Final = 501
_STATUS_NO_HTTP: Final = 600

_TRANSIENT_TYPES: Final = frozenset(
    {
        ("aiohttp", "ClientConnectionError"),
        ("anthropic", "APIConnectionError"),
        ("httpcore", "NetworkError"),
        ("httpcore", "TimeoutException"),
        ("httpx", "NetworkError"),
        ("httpx", "RemoteProtocolError"),
        ("httpx", "TimeoutException"),
        ("httpx2", "NetworkError"),
        ("httpx2", "RemoteProtocolError"),
        ("httpx2", "TimeoutException"),
        ("openai", "APIConnectionError"),
        ("requests", "ConnectionError"),
        ("requests", "Timeout"),
    }
)
"""Errors of HTTP clients that are no `ConnectionError` or `TimeoutError` of Python's, by package and name."""


def is_transient(error: BaseException) -> bool:
    """Whether an error is likely to be gone in a moment.

    Timeouts and lost connections (Python's own and those of the usual HTTP clients), and errors that
    carry an HTTP status (`status_code`, or that of their `response`) of 408, 429 or 5xx, except 501.
    """
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int):
        server = _STATUS_SERVER_ERROR <= status < _STATUS_NO_HTTP and status != _STATUS_NOT_IMPLEMENTED
        return server or status in (_STATUS_REQUEST_TIMEOUT, _STATUS_TOO_MANY_REQUESTS)
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    return any((kind.__module__.partition(".")[0], kind.__name__) in _TRANSIENT_TYPES for kind in type(error).__mro__)


@dataclass(frozen=True, kw_only=True)
class Retry:
    """How often and when something that failed for a moment is tried again.

    The waits double from `first_wait` up to `longest_wait`, each with up to `first_wait` of jitter on
    top, so that many agents do not come back at the same moment.

    Raises:
        ConfigurationError: For fewer than one attempt.
    """

    attempts: int = 3
    """How often it is tried in all; 1 is never again."""

    first_wait: float = 0.5
    """Seconds."""

    longest_wait: float = 8.0
    """Seconds."""

    transient: Callable[[BaseException], bool] = is_transient
    """Whether an error is worth another attempt."""

    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise ConfigurationError(f"attempts is {self.attempts!r}; it must be a whole number of at least 1")

    def unless(self, ruled_out: Callable[[], bool]) -> Retry:
        """The same, and nothing is tried again where `ruled_out` says so after an error."""
        return replace(self, transient=lambda error: not ruled_out() and self.transient(error))

    def call(self, function: Callable[[], _T]) -> _T:
        """Call a function until it gives something or the attempts are used up; then its own error is raised."""
        return Retrying(sleep=self.sleep, **self._options())(function)

    async def acall(self, function: Callable[[], Awaitable[_T]]) -> _T:
        """As `call`, for asynchronous functions."""

        async def attempt() -> _T:
            return await function()

        return await AsyncRetrying(sleep=self.asleep, **self._options())(attempt)

    def _options(self) -> dict[str, Any]:
        return {
            "stop": stop_after_attempt(self.attempts),
            "wait": wait_exponential(self.first_wait, self.longest_wait) + wait_random(0, self.first_wait),
            "retry": retry_if_exception(self._worth_it),
            "reraise": True,
            "before_sleep": _say_so,
        }

    def _worth_it(self, error: BaseException) -> bool:
        return isinstance(error, Exception) and self.transient(error) is True


def _say_so(attempt: RetryCallState) -> None:
    outcome = attempt.outcome
    error = None if outcome is None else outcome.exception()
    logger.info("attempt %d failed with %s, trying again", attempt.attempt_number, type(error).__name__)

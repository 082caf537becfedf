"""The claims of a ledger in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate_langchain.approvals.attempts import new_name

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from datetime import datetime, timedelta

__all__ = ["ClaimsInMemory"]


class ClaimsInMemory:
    """What `InMemoryLedger` keeps of claims; see `Claims`. A part of it, which shares its lock."""

    _lock: threading.RLock
    _lease: timedelta
    _clock: Callable[[], datetime]
    _claims: dict[str, tuple[str, datetime]]
    """Whose each is, and until when others stand back."""

    def claim(self, request_id: str, *, holder: str | None = None) -> bool:
        """See `Claims.claim`. A claim ends with its lease, as where the thread that had it died."""
        now = self._clock()
        with self._lock:
            for lapsed in [key for key, (_, until) in self._claims.items() if until <= now]:
                del self._claims[lapsed]
            if request_id in self._claims:
                return False
            self._claims[request_id] = holder or new_name(), now + self._lease
            return True

    def renew(self, request_id: str, *, holder: str) -> bool:
        """See `Claims.renew`."""
        now = self._clock()
        with self._lock:
            held, _ = self._claims.get(request_id, ("", now))
            if held != holder:
                return False
            self._claims[request_id] = holder, now + self._lease
            return True

    def release(self, request_id: str, *, holder: str | None = None) -> None:
        """See `Claims.release`."""
        with self._lock:
            held, _ = self._claims.get(request_id, ("", None))
            if holder in (None, held):
                self._claims.pop(request_id, None)

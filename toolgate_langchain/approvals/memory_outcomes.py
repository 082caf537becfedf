"""What a ledger in memory keeps of calls that started, and for how long a worker has a claim to itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.ledger import PendingRequest

__all__ = ["LEASE", "MemoryOutcomes"]

LEASE: Final = timedelta(minutes=5)
"""How long a worker has a claim to itself. An answer is carried into its run within seconds; one whose worker
died meanwhile must not stay "being answered" for ever."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class _Tries:
    count: int = 0
    until: datetime | None = None
    """Until when the worker of the last one has it to itself."""


class MemoryOutcomes:
    """What `InMemoryLedger` keeps of calls that started. A part of it, which shares its lock.

    Args:
        lease: How long a worker has a claim to itself.
        clock: Tells the time, with a zone.

    Raises:
        ValueError: If the lease is no time at all.
    """

    _lock: threading.RLock
    _grants: dict[str, Any]
    _answers: dict[str, ApprovalAnswer]
    _pending: dict[str, PendingRequest]
    _asked: dict[str, PendingRequest]

    def __init__(self, *, lease: timedelta = LEASE, clock: Callable[[], datetime] = _now) -> None:
        if lease <= timedelta(0):
            raise ValueError(f"lease must be longer than nothing, not {lease}")
        self._lease, self._clock = lease, clock
        self._claims: dict[str, datetime] = {}
        self._tries: dict[str, _Tries] = {}
        self._results: dict[str, tuple[str, ToolMessage]] = {}
        self._expired: set[str] = set()

    def _start(self, request_id: str, digest: str, *, needs_grant: bool, repeatable: bool) -> StartStatus:
        raise NotImplementedError

    def _end(self, request_id: str, status: GrantStatus) -> bool:
        raise NotImplementedError

    def withdraw(self, request_ids: Any) -> None:
        """See `Ledger.withdraw`."""
        raise NotImplementedError

    # --- claims -------------------------------------------------------------------------------

    def claim(self, request_id: str) -> bool:
        """See `Ledger.claim`. A claim ends with its lease, as where the thread that had it died."""
        now = self._clock()
        with self._lock:
            for lapsed in [key for key, until in self._claims.items() if until <= now]:
                del self._claims[lapsed]
            if request_id in self._claims:
                return False
            self._claims[request_id] = now + self._lease
            return True

    def release(self, request_id: str) -> None:
        """See `Ledger.release`."""
        with self._lock:
            self._claims.pop(request_id, None)

    # --- calls --------------------------------------------------------------------------------

    def start(
        self, request_id: str, digest: str, *, needs_grant: bool, repeatable: bool, hold: bool = False
    ) -> StartStatus:
        """See `Ledger.start`."""
        with self._lock:
            status = self._start(request_id, digest, needs_grant=needs_grant, repeatable=repeatable)
            if status in (StartStatus.STARTED, StartStatus.REENTERED):
                self._began(request_id, hold=hold)
            return status

    def _began(self, request_id: str, *, hold: bool) -> None:
        tries = self._tries.setdefault(request_id, _Tries())
        tries.count += 1
        tries.until = self._clock() + self._lease if hold else None

    def end(self, request_id: str, status: GrantStatus, *, result: ToolMessage | None = None, scope: str = "") -> None:
        """See `Ledger.end`."""
        with self._lock:
            if self._end(request_id, status) and result is not None:
                self._results[request_id] = scope, result

    def identity(self) -> str:
        """See `Outcomes.identity`. A ledger in memory forgets with its process, so another one counts as the same."""
        return ""

    def held(self, request_id: str) -> bool:
        """See `Outcomes.held`."""
        with self._lock:
            grant, tries = self._grants.get(request_id), self._tries.get(request_id)
            started = grant is not None and grant.status is GrantStatus.STARTED
            return started and tries is not None and tries.until is not None and tries.until > self._clock()

    def tries(self, request_id: str) -> int:
        """See `Outcomes.tries`."""
        with self._lock:
            tries = self._tries.get(request_id)
            return 0 if tries is None else tries.count

    def try_again(self, request_id: str, digest: str, tries: int) -> bool:
        """See `Outcomes.try_again`."""
        with self._lock:
            grant = self._grants.get(request_id)
            if grant is None or grant.status is not GrantStatus.STARTED or grant.digest != digest:
                return False
            if self.tries(request_id) != tries or self.held(request_id):
                return False
            self._began(request_id, hold=True)
            return True

    def result(self, request_id: str) -> ToolMessage | None:
        """See `Outcomes.result`."""
        with self._lock:
            kept = self._results.get(request_id)
            return None if kept is None else kept[1]

    def forget_results(self, scope: str) -> None:
        """See `Outcomes.forget_results`."""
        with self._lock:
            for key in [key for key, (whose, _) in self._results.items() if whose == scope]:
                del self._results[key]

    # --- requests whose time is over ------------------------------------------------------------

    def ends_at(self, request_id: str) -> datetime | None:
        """See `Outcomes.ends_at`."""
        with self._lock:
            asked = self._asked.get(request_id)
            return None if asked is None else asked.expires_at

    def expire(self, request_id: str, *, at: datetime) -> bool:
        """See `Outcomes.expire`."""
        with self._lock:
            if request_id in self._expired:
                return True
            ends = self.ends_at(request_id)
            if ends is None or at < ends or request_id in self._answers:
                return False
            self._expired.add(request_id)
            self.withdraw([request_id])
            return True

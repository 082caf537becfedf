"""What a ledger in memory keeps of calls that started, and for how long a worker has a claim to itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus
from toolgate_langchain.approvals.memory_claims import ClaimsInMemory
from toolgate_langchain.approvals.memory_grants import Grant
from toolgate_langchain.approvals.settings import check_lease
from toolgate_langchain.approvals.steady import SteadyClock, check_after

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.attempts import CallEnd, CallStart
    from toolgate_langchain.approvals.ledger import PendingRequest
    from toolgate_langchain.approvals.recording.entries import Entry

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


class MemoryOutcomes(ClaimsInMemory):
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
        check_lease(lease, clock)
        self._lease, self._clock = lease, SteadyClock(clock)
        self._claims = {}
        self._tries: dict[str, _Tries] = {}
        self._results: dict[str, tuple[str, ToolMessage]] = {}
        self._expired: set[str] = set()

    def _start(self, call: CallStart) -> StartStatus:
        raise NotImplementedError

    def _end(self, call: CallEnd) -> bool:
        raise NotImplementedError

    def withdraw(self, request_ids: Any) -> None:
        """See `Ledger.withdraw`."""
        raise NotImplementedError

    def status(self, request_id: str) -> GrantStatus | None:
        """See `Ledger.status`."""
        raise NotImplementedError

    # --- calls --------------------------------------------------------------------------------

    def start(self, call: CallStart) -> StartStatus:
        """See `Ledger.start`."""
        with self._lock:
            if call.needs_grant:
                self._clock()  # must not have gone back since whatever was said before
            status = self._start(call)
            if status in (StartStatus.STARTED, StartStatus.REENTERED):
                self._began(call.request_id, hold=call.hold)
            return status

    def _began(self, request_id: str, *, hold: bool) -> None:
        tries = self._tries.setdefault(request_id, _Tries())
        tries.count += 1
        tries.until = self._clock() + self._lease if hold else None

    def end(self, call: CallEnd) -> bool:
        """See `Ledger.end`."""
        with self._lock:
            ended = self._end(call)
            if ended and call.result is not None:
                self._results[call.request_id] = call.scope, call.result
            return ended

    def identity(self) -> str:
        """See `Outcomes.identity`. A ledger in memory forgets with its process, so another one counts as the same."""
        return ""

    def held(self, request_id: str) -> bool:
        """See `Outcomes.held`."""
        with self._lock:
            grant, tries = self._grants.get(request_id), self._tries.get(request_id)
            started = grant is not None and grant.status is GrantStatus.STARTED
            return started and tries is not None and tries.until is not None and tries.until > self._clock()

    def let_go(self, call: CallStart, entry: Entry | None = None) -> None:
        """See `Outcomes.let_go`."""
        with self._lock:
            self._let_go(call)

    def _let_go(self, call: CallStart) -> bool:
        grant, tries = self._grants.get(call.request_id), self._tries.get(call.request_id)
        mine = grant is not None and grant.status is GrantStatus.STARTED and grant.attempt == call.attempt
        if not mine or tries is None or tries.until is None:
            return False
        tries.until = None
        return True

    def tries(self, request_id: str) -> int:
        """See `Outcomes.tries`."""
        with self._lock:
            tries = self._tries.get(request_id)
            return 0 if tries is None else tries.count

    def try_again(self, call: CallStart, tries: int, *, asked: str) -> bool:
        """See `Outcomes.try_again`."""
        with self._lock:
            said, grant = self._answers.get(asked), self._grants.get(call.request_id)
            if said is not None and said.type != "try_again":
                return False
            if grant is None or grant.status is not GrantStatus.STARTED or grant.digest != call.digest:
                return False
            if self.tries(call.request_id) != tries or self.held(call.request_id) or self.status(asked) is not None:
                return False
            # From here on a no to it comes too late.
            self._grants[asked] = Grant(call.digest, GrantStatus.STARTED, call.attempt)
            grant.attempt = call.attempt
            self._began(call.request_id, hold=True)
            return True

    def end_unknown(self, call: CallEnd, tries: int) -> bool:
        """See `Outcomes.end_unknown`."""
        with self._lock:
            grant = self._grants.get(call.request_id)
            if grant is None or grant.status is not GrantStatus.STARTED or self.tries(call.request_id) != tries:
                return False
            grant.attempt = call.attempt
            return self.end(call)

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
            if (asked := self._asked.get(request_id)) is not None:
                check_after(at, asked.asked_at, request_id)
            if request_id in self._expired:
                return True
            ends = self.ends_at(request_id)
            if ends is None or at < ends or request_id in self._answers:
                return False
            self._expired.add(request_id)
            self.withdraw([request_id])
            return True

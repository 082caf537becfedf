"""The grants of a ledger in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus
from toolgate_langchain.approvals.memory_bounds import BoundedMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.approvals.attempts import CallEnd, CallStart

__all__ = ["Grant", "GrantsInMemory"]


@dataclass(slots=True)
class Grant:
    """The right to start one call."""

    digest: str
    status: GrantStatus
    attempt: str = ""
    """The attempt that has the call, or had it last."""


class GrantsInMemory(BoundedMemory):
    """What `InMemoryLedger` keeps of grants. A part of it, which shares its lock."""

    def grant(self, request_id: str, digest: str) -> None:
        """See `Ledger.grant`."""
        with self._lock:
            if request_id in self._spent:
                return
            held = self._answers.get(request_id)
            taken_back = held is not None and held.type == "reject"
            status = GrantStatus.WITHDRAWN if taken_back else GrantStatus.ISSUED
            self._grants.setdefault(request_id, Grant(digest, status))

    def _start(self, call: CallStart) -> StartStatus:
        with self._lock:
            key = call.request_id
            if (spent := self._spent.get(key)) is not None:
                return StartStatus.WITHDRAWN if spent is GrantStatus.WITHDRAWN else StartStatus.USED
            grant = self._grants.get(key)
            if grant is None:
                if call.needs_grant:
                    return StartStatus.MISSING
                self._grants[key] = Grant(call.digest, GrantStatus.STARTED, call.attempt)
                return StartStatus.STARTED
            outcome = _of_grant(grant, call)
            if outcome in (StartStatus.STARTED, StartStatus.REENTERED):
                grant.status, grant.attempt = GrantStatus.STARTED, call.attempt
            return outcome

    def _end(self, call: CallEnd) -> bool:
        with self._lock:
            grant = self._grants.get(call.request_id)
            if grant is None or grant.attempt != call.attempt:
                return False
            if grant.status is not GrantStatus.STARTED:
                return grant.status is call.status
            grant.status = call.status
            self._over_now(call.request_id)
            return True

    def status(self, request_id: str) -> GrantStatus | None:
        """See `Ledger.status`."""
        with self._lock:
            grant = self._grants.get(request_id)
            return self._spent.get(request_id) if grant is None else grant.status

    def withdraw(self, request_ids: Sequence[str]) -> None:
        """See `Ledger.withdraw`."""
        with self._lock:
            for request_id in request_ids:
                self._pending.pop(request_id, None)
                if request_id in self._spent:
                    continue
                grant = self._grants.setdefault(request_id, Grant("", GrantStatus.WITHDRAWN))
                if grant.status is GrantStatus.ISSUED:
                    grant.status = GrantStatus.WITHDRAWN
                elif grant.status is GrantStatus.PAUSED:
                    # It started and will not go on; a replay must not enter it again.
                    grant.status = GrantStatus.FAILED
                self._over_now(request_id)


def _of_grant(grant: Grant, call: CallStart) -> StartStatus:
    """Whether a call may start whose grant is there."""
    # Before anything else: what was closed before it was answered has no digest.
    if grant.status is GrantStatus.WITHDRAWN:
        return StartStatus.WITHDRAWN
    if grant.digest != call.digest:
        return StartStatus.MISMATCH
    match grant.status:
        case GrantStatus.ISSUED:
            return StartStatus.STARTED
        case GrantStatus.PAUSED:
            return StartStatus.REENTERED
        case _:
            return StartStatus.STARTED if call.repeatable else StartStatus.USED

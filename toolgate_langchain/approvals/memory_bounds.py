"""What a ledger in memory forgets, and what it never does: a request that is over leaves only that it is over.

A request holds arguments, notes and a preview; a process that asks all day would keep every one of them. What protects
against a second use is one word for each: that a call was started, or that it may not be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus
from toolgate_langchain.errors import ConfigurationError

if TYPE_CHECKING:
    import threading
    from datetime import datetime

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.ledger import PendingRequest

__all__ = ["KEEP", "BoundedMemory"]

KEEP: Final = 10_000
"""Requests and calls that are over of which everything is kept. Some kilobytes each, so that all of them take tens of
megabytes; and whoever is late with an answer is far less than so many requests late."""

_OVER: Final = frozenset({GrantStatus.FINISHED, GrantStatus.FAILED, GrantStatus.WITHDRAWN})


class BoundedMemory:
    """What `InMemoryLedger` keeps of what is over. A part of it, which shares its lock."""

    _lock: threading.RLock
    _pending: dict[str, PendingRequest]
    _asked: dict[str, PendingRequest]
    _answers: dict[str, ApprovalAnswer]
    _times: dict[str, datetime | None]
    _threads: dict[str, str | None]
    _grants: dict[str, Any]
    _tries: dict[str, Any]
    _left: set[str]
    _taken_in: set[str]

    def __init__(self, *, keep: int = KEEP) -> None:
        if type(keep) is not int or keep < 0:
            raise ConfigurationError(f"keep must not be negative, not {keep!r}; it is a whole number")
        self._keep = keep
        self._over: dict[str, None] = {}
        """What may be over, in the order in which it came to be."""
        self._spent: dict[str, GrantStatus] = {}
        """What is over and forgotten: that it was started, or that it was withdrawn or rejected."""

    def _over_now(self, key: str) -> None:
        """A request or a call may be over; whether it is, is looked at when its turn to be forgotten comes."""
        self._over.pop(key, None)
        self._over[key] = None
        while len(self._over) > self._keep:
            first = next(iter(self._over))
            del self._over[first]
            self._forget(first)

    def _forget(self, key: str) -> None:
        """Keep of something that is over nothing but that it is."""
        grant, answer = self._grants.get(key), self._answers.get(key)
        if key in self._pending or key in self._left:
            return
        if answer is not None and answer.remember is not None:
            return  # its rule is revoked by this request
        if grant is None and (answer is None or answer.type != "reject"):
            return
        status = GrantStatus.WITHDRAWN if grant is None else grant.status
        if status not in _OVER:
            return  # it is running, paused, not used yet, or nobody knows what became of it
        self._spent[key] = status
        for kept in (self._grants, self._answers, self._times, self._threads, self._asked, self._tries):
            kept.pop(key, None)
        self._taken_in.discard(key)

    def _said_of_spent(self, key: str, answer: ApprovalAnswer) -> AnswerStatus:
        """What becomes of an answer to something that is over and forgotten: it changes nothing."""
        used = self._spent[key] is not GrantStatus.WITHDRAWN
        return AnswerStatus.TOO_LATE if used and answer.type == "reject" else AnswerStatus.REPEATED

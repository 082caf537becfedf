"""The inbox of a ledger in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.inbox import LeftAnswer
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus
from toolgate_langchain.canonical import canonical_json

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.ledger import PendingRequest

__all__ = ["MemoryInbox"]


class MemoryInbox:
    """What `InMemoryLedger` keeps of answers that wait to be carried. A part of it, which shares its lock."""

    _lock: threading.RLock
    _pending: dict[str, PendingRequest]
    _asked: dict[str, PendingRequest]
    """Every request, also when it waits no more."""
    _left: set[str]
    """Requests whose answer waits to be carried."""
    _taken_in: set[str]
    """Those among them, or that were, whose run took the answer in."""
    _answers: dict[str, ApprovalAnswer]
    _times: dict[str, datetime | None]
    _threads: dict[str, str | None]
    _grants: dict[str, Any]

    def asked(self, request_id: str) -> PendingRequest | None:
        """See `Inbox.asked`."""
        return self._asked.get(request_id)

    def leave_answer(
        self, request_id: str, answer: ApprovalAnswer, *, digest: str, at: datetime | None = None
    ) -> AnswerStatus:
        """See `Inbox.leave_answer`."""
        now = at or datetime.now(UTC)
        with self._lock:
            asked = self._asked.get(request_id)
            if answer.request_id not in (None, request_id):
                return AnswerStatus.NOT_PENDING
            answer = replace(answer, request_id=request_id)
            if asked is None or asked.request.digest != digest:
                return AnswerStatus.NOT_PENDING
            held = self._answers.get(request_id)
            if held is not None and (answer.type != "reject" or held.type == "reject"):
                return AnswerStatus.REPEATED
            if held is None:
                if request_id not in self._pending:
                    return AnswerStatus.NOT_PENDING
                if asked.expires_at is not None and now >= asked.expires_at:
                    return AnswerStatus.EXPIRED
                self._left.add(request_id)
            taken_in = request_id in self._taken_in
            status = self.answer(request_id, answer, thread_id=asked.thread_id, at=now)
            if not taken_in:
                self._taken_in.discard(request_id)
            return status

    def answer(
        self, request_id: str, answer: ApprovalAnswer, *, thread_id: str | None = None, at: datetime | None = None
    ) -> AnswerStatus:
        """See `Ledger.answer`."""
        raise NotImplementedError

    def withdraw(self, request_ids: Sequence[str]) -> None:
        """See `Ledger.withdraw`."""
        raise NotImplementedError

    def left_answers(self, *, limit: int = 100) -> Sequence[LeftAnswer]:
        """See `Inbox.left_answers`."""
        with self._lock:
            left = [self._left_answer(self._asked[key]) for key in self._left]
        return sorted(left, key=lambda one: (one.answered_at, one.request_id))[:limit]

    def _left_answer(self, asked: PendingRequest) -> LeftAnswer:
        key = asked.request.request_id
        grant, at = self._grants.get(key), self._times[key]
        assert at is not None
        # A no withdraws the grant itself, and is carried all the same.
        superseded = grant is not None and grant.status is GrantStatus.WITHDRAWN and self._answers[key].type != "reject"
        answer, taken_in = self._answers[key], key in self._taken_in
        return LeftAnswer(key, asked.thread_id, asked.request.tool_name, answer, at, taken_in, superseded)

    def left_answer(self, request_id: str) -> LeftAnswer | None:
        """See `Inbox.left_answer`."""
        with self._lock:
            return self._left_answer(self._asked[request_id]) if request_id in self._left else None

    def carried(self, request_id: str) -> None:
        """See `Inbox.carried`."""
        with self._lock:
            self._left.discard(request_id)

    def send_back(self, request_id: str, answer: ApprovalAnswer) -> None:
        """See `Inbox.send_back`."""
        with self._lock:
            if request_id not in self._left or _text(self._answers[request_id]) != _text(answer):
                return
            self._left.discard(request_id)
            self._taken_in.discard(request_id)
            del self._answers[request_id], self._times[request_id], self._threads[request_id]
            if request_id not in self._grants:
                self._pending[request_id] = self._asked[request_id]

    def void_answer(self, request_id: str, answer: ApprovalAnswer, *, why: str) -> bool:
        """See `Inbox.void_answer`. Why is not kept: this ledger has no record."""
        with self._lock:
            held, grant = self._answers.get(request_id), self._grants.get(request_id)
            if held is None or held.type == "reject" or _text(held) != _text(answer):
                return False
            if grant is not None and grant.status is not GrantStatus.ISSUED:
                return False
            self._grants.pop(request_id, None)
            self._left.discard(request_id)
            self._taken_in.discard(request_id)
            for kept in (self._answers, self._times, self._threads):
                del kept[request_id]
            self._forget_rules(request_id)
            if (asked := self._asked.get(request_id)) is not None:
                self._pending[request_id] = asked
            return True

    def _forget_rules(self, request_id: str) -> None:
        raise NotImplementedError

    def close_thread(self, thread_id: str) -> None:
        """See `Inbox.close_thread`."""
        with self._lock:
            waiting = {*self._pending, *self._left}
            asked = {key: self._asked[key] for key in waiting}
            self.withdraw([key for key, one in asked.items() if (one.place or one.thread_id) == thread_id])


def _text(answer: ApprovalAnswer) -> str:
    """The answer as text: to Python 1, 1.0 and true are equal."""
    return canonical_json(answer.to_json())

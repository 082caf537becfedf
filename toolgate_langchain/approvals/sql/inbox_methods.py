"""The inbox of a ledger in a database, as methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from toolgate_langchain.approvals.sql import inbox, voiding
from toolgate_langchain.approvals.sql.tables import micros

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.inbox import LeftAnswer
    from toolgate_langchain.approvals.ledger import AnswerStatus, Maybe, PendingRequest

__all__ = ["SqlInbox"]


class SqlInbox:
    """The part of `SqlLedger` that keeps answers which wait to be carried; see `Inbox`."""

    def _read(self, work: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _write(self, work: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _micros(self) -> int:
        raise NotImplementedError

    def asked(self, request_id: str) -> Maybe[PendingRequest | None]:
        """See `Inbox.asked`."""
        found: Maybe[PendingRequest | None] = self._read(inbox.asked, request_id)
        return found

    def leave_answer(
        self, request_id: str, answer: ApprovalAnswer, *, digest: str, at: datetime | None = None
    ) -> Maybe[AnswerStatus]:
        """See `Inbox.leave_answer`."""
        answered_at = self._micros() if at is None else micros(at)
        left: Maybe[AnswerStatus] = self._write(
            inbox.leave_answer, request_id, answer, digest=digest, answered_at=answered_at, attempt=uuid4().hex
        )
        return left

    def left_answers(self, *, limit: int = 100) -> Maybe[Sequence[LeftAnswer]]:
        """See `Inbox.left_answers`."""
        left: Maybe[Sequence[LeftAnswer]] = self._read(inbox.left_answers, limit=limit)
        return left

    def left_answer(self, request_id: str) -> Maybe[LeftAnswer | None]:
        """See `Inbox.left_answer`."""
        left: Maybe[LeftAnswer | None] = self._read(inbox.left_answer, request_id)
        return left

    def carried(self, request_id: str) -> Maybe[None]:
        """See `Inbox.carried`."""
        done: Maybe[None] = self._write(inbox.carried, request_id, at=self._micros())
        return done

    def send_back(self, request_id: str, answer: ApprovalAnswer) -> Maybe[None]:
        """See `Inbox.send_back`."""
        done: Maybe[None] = self._write(inbox.send_back, request_id, answer, at=self._micros())
        return done

    def void_answer(self, request_id: str, answer: ApprovalAnswer, *, why: str) -> Maybe[bool]:
        """See `Inbox.void_answer`."""
        done: Maybe[bool] = self._write(voiding.void_answer, request_id, answer, why=why, at=self._micros())
        return done

    def close_thread(self, thread_id: str) -> Maybe[None]:
        """See `Inbox.close_thread`."""
        done: Maybe[None] = self._write(inbox.close_thread, thread_id, at=self._micros())
        return done

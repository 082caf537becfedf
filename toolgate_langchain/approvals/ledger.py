"""Where answers, grants and the memory of a run are kept, outside of any checkpoint.

A checkpoint can be forked, replayed and restored; what may happen once must therefore be counted
somewhere that does not go back in time with it.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from toolgate_langchain.approvals.claims import Claims
from toolgate_langchain.approvals.inbox import Inbox
from toolgate_langchain.approvals.outcomes import Outcomes
from toolgate_langchain.approvals.read_notes import ReadNotes
from toolgate_langchain.approvals.rule_ledger import RuleLedger, Said

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.attempts import CallEnd, CallStart
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.policy.context import RunMemory

__all__ = ["AnswerStatus", "GrantStatus", "Ledger", "PendingRequest", "Said", "StartStatus"]

_T = TypeVar("_T")

Maybe: TypeAlias = _T | Awaitable[_T]
"""A ledger may answer at once or with an awaitable; hosts take both."""


class AnswerStatus(Enum):
    """What became of an answer."""

    RECORDED = "recorded"
    REPEATED = "already_answered"
    """The same request was answered before; the recorded answer stands."""
    WITHDRAWN = "withdrawn"
    """A rejection after an approval that was not used yet: the rejection holds."""
    TOO_LATE = "too_late"
    """The approval was used already."""
    EXPIRED = "expired"
    """It came when the request's time was over; nothing changed."""
    NOT_PENDING = "not_pending"
    """Nobody waits for it: it was never asked, not about this call, or the run went another way. Nothing changed."""


class GrantStatus(Enum):
    """Where a grant stands."""

    ISSUED = "issued"
    STARTED = "started"
    PAUSED = "paused"
    FINISHED = "finished"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"


class StartStatus(Enum):
    """Whether a call may start now."""

    STARTED = "started"
    """Yes, and this very attempt holds the grant."""
    REENTERED = "reentered"
    """Yes: it started before, paused inside, and goes on."""
    USED = "used"
    """No: it was started before."""
    MISSING = "missing"
    """No: there is no approval on record."""
    WITHDRAWN = "withdrawn"
    """No: the approval was taken back before it was used."""
    MISMATCH = "mismatch"
    """No: the approval was given for another call."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request that waits for an answer."""

    request: ApprovalRequest
    thread_id: str | None
    """The thread whose run waits for it."""
    asked_at: datetime
    expires_at: datetime | None = None
    place: str | None = None
    """What tells the thread from others of that id, where its agent has a name; see `Run.place`."""


class Ledger(Claims, Outcomes, RuleLedger, Inbox, ReadNotes, Protocol):
    """Everything that must not go back in time with a checkpoint.

    Every method but `quiet` may return an awaitable instead of its value.
    """

    def stopped(self) -> Maybe[bool]:
        """Whether the switch that stops all releases is on."""
        ...

    def quiet(self, run_id: str, thread_id: str | None, caller_id: str | None = None) -> bool:
        """Whether nothing was ever said that could hold a call of this run back.

        Releases are not stopped, nothing is remembered of the run, no rule of the thread (by its place) is kept here,
        and the caller forbade nothing in all conversations. For the many calls that nobody is asked
        about. It must answer at once: a ledger that would have to look elsewhere says `False`, and is
        then asked what was `said`.
        """
        ...

    def memory(self, run_id: str) -> Maybe[RunMemory]:
        """What people said in this run, and how often nobody was asked."""
        ...

    def note_rejected(self, run_id: str, key: str, tool_name: str, request_id: str) -> Maybe[None]:
        """A person rejected the call of this key. Noting the same request twice counts once."""
        ...

    def note_replaced(self, run_id: str, key: str) -> Maybe[None]:
        """A person replaced the call of this key by an edit."""
        ...

    def note_auto_approved(self, run_id: str, turn_id: str) -> Maybe[None]:
        """A turn needed a person, and rules or heuristics stood in for all of them."""
        ...

    def note_person(self, run_id: str, request_id: str) -> Maybe[None]:
        """A person approved or edited a call: the count of auto-approved turns starts again."""
        ...

    def note_change(self, run_id: str, tool_name: str, change: str) -> Maybe[None]:
        """A call of this tool was refused as changed; shown when the tool is next asked about."""
        ...

    def change(self, run_id: str, tool_name: str) -> Maybe[str | None]:
        """The last change noted for this tool in this run."""
        ...

    def ask(
        self,
        request: ApprovalRequest,
        *,
        thread_id: str | None = None,
        at: datetime | None = None,
        expires_at: datetime | None = None,
        place: str | None = None,
    ) -> Maybe[None]:
        """Keep a request that a person was shown, until it is answered or its approval is withdrawn.

        Asked once more, only what is shown changes. Where it was answered or withdrawn before, it is not pending.

        Args:
            request: The request.
            thread_id: The thread whose run waits for it.
            at: When it was asked; now if nobody says.
            expires_at: When it expires.
            place: What tells the thread from one of another agent that has the same id; see `Run.place`.
        """
        ...

    def pending(self, *, limit: int = 100) -> Maybe[Sequence[PendingRequest]]:
        """The requests that wait for an answer, on all threads, in the order in which they were asked.

        One whose time is over waits no more.
        """
        ...

    def answer(
        self, request_id: str, answer: ApprovalAnswer, *, thread_id: str | None = None, at: datetime | None = None
    ) -> Maybe[AnswerStatus]:
        """Record the first answer to a request; a rejection withdraws an unused approval and the rules it made.

        Args:
            request_id: The request.
            answer: What the person said.
            thread_id: The thread that the request belongs to, kept with the first answer.
            at: When it was said, kept with the first answer.
        """
        ...

    def answered_at(self, request_id: str) -> Maybe[datetime | None]:
        """When a request was first answered, `None` where it was not or nobody said when."""
        ...

    def thread_of(self, request_id: str) -> Maybe[str | None]:
        """The thread on which a request was answered, `None` where it was not or has none."""
        ...

    def answer_to(self, request_id: str) -> Maybe[ApprovalAnswer | None]:
        """The answer that holds for a request."""
        ...

    def grant(self, request_id: str, digest: str) -> Maybe[None]:
        """Issue the grant of an approved request. Issuing it again changes nothing.

        Where a rejection holds by now, the grant is a withdrawn one: it is either seen here, or finds the grant.
        """
        ...

    def start(self, call: CallStart) -> Maybe[StartStatus]:
        """Claim the right to start a call, by compare-and-set on the request id.

        Args:
            call: The call, and the attempt at it.
        """
        ...

    def end(self, call: CallEnd) -> Maybe[bool]:
        """Record how an attempt at a call ended: finished, failed or paused inside.

        Returns:
            Whether it was the attempt's to end. `False` where somebody else has the call by now, or a person said what
            became of it: nothing changes then but the record, and whoever is told so goes no further.
        """
        ...

    def status(self, request_id: str) -> Maybe[GrantStatus | None]:
        """Where the grant of a request stands, `None` where it was never issued nor started."""
        ...

    def withdraw(self, request_ids: Sequence[str]) -> Maybe[None]:
        """Take back grants that were not used; a call that paused inside is not entered again."""
        ...

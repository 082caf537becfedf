"""A ledger in this process's memory; the default, and enough where nothing outlives the process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, PendingRequest
from toolgate_langchain.approvals.memory_bounds import KEEP
from toolgate_langchain.approvals.memory_grants import Grant, GrantsInMemory
from toolgate_langchain.approvals.memory_inbox import MemoryInbox
from toolgate_langchain.approvals.memory_outcomes import LEASE, MemoryOutcomes
from toolgate_langchain.approvals.memory_rules import RulesInMemory
from toolgate_langchain.approvals.read_notes import ReadNotesInMemory
from toolgate_langchain.approvals.steady import check_after
from toolgate_langchain.approvals.unknown import FINAL
from toolgate_langchain.policy.context import RunMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.request import ApprovalRequest

__all__ = ["InMemoryLedger"]


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class _Run:
    rejected: dict[str, str] = field(default_factory=dict)
    """Request id to call key."""
    rejections: dict[str, set[str]] = field(default_factory=dict)
    """Tool name to request ids."""
    replaced: set[str] = field(default_factory=set)
    auto_approved: set[str] = field(default_factory=set)
    """Ids of turns since a person last approved or edited."""
    counted: set[str] = field(default_factory=set)
    """Ids of all turns that were ever counted; a replayed turn is not counted twice."""
    approved: set[str] = field(default_factory=set)
    changes: dict[str, str] = field(default_factory=dict)
    memory: RunMemory | None = None


class InMemoryLedger(RulesInMemory, GrantsInMemory, MemoryInbox, MemoryOutcomes, ReadNotesInMemory):
    """A ledger in this process's memory, and for this process only: it covers one process.

    It forgets everything when the process ends: an approval that was given and not yet used is then
    no longer on record, so the call is refused and proposed again. Nothing is ever released that
    was not answered, and a started call is not started again while the process lives. Safe to use
    from several threads. Where approvals outlive the process, or several share them, use `SqlLedger`.

    What it keeps is bounded where forgetting is safe. Everything is kept of requests that wait, of answers that wait to
    be carried or made a rule, of grants that were not used, and of calls that run, paused, or have an unknown outcome.
    Of requests and calls that are over the latest `keep` are kept whole; of older ones only that they are over: about
    200 bytes each, for as long as the process lives. It is what refuses a fork, a replay or a late answer that would
    use one a second time, also where the call may be repeated. What was said in a run is kept too, as runs can go on
    at any time: nothing of a run in which nobody said anything.

    Args:
        lease: How long a worker has a claim to itself.
        clock: Tells the time, with a zone.
        keep: How many requests and calls that are over it keeps whole.

    Raises:
        ValueError: If the lease is no time at all, or `keep` is negative.
    """

    def __init__(self, *, lease: timedelta = LEASE, clock: Callable[[], datetime] = _now, keep: int = KEEP) -> None:
        RulesInMemory.__init__(self)
        GrantsInMemory.__init__(self, keep=keep)
        MemoryOutcomes.__init__(self, lease=lease, clock=clock)
        self._stopped = False
        self._runs: dict[str, _Run] = {}
        self._pending: dict[str, PendingRequest] = {}
        self._asked: dict[str, PendingRequest] = {}
        self._left: set[str] = set()
        self._taken_in: set[str] = set()
        self._times: dict[str, datetime | None] = {}
        self._grants: dict[str, Grant] = {}
        self._read_notes = {}

    # --- the switch ---------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop all releases, also of calls that were approved and have not started."""
        self._stopped = True

    def resume(self) -> None:
        """Let releases go on."""
        self._stopped = False

    def stopped(self) -> bool:
        """See `Ledger.stopped`."""
        return self._stopped

    def quiet(self, run_id: str, thread_id: str | None, caller_id: str | None = None) -> bool:
        """See `Ledger.quiet`."""
        if self._stopped or run_id in self._runs or caller_id in self._forbidding:
            return False
        return thread_id is None or not self._rules.get(thread_id)

    # --- the memory of a run ------------------------------------------------------------------

    def memory(self, run_id: str) -> RunMemory:
        """See `Ledger.memory`."""
        run = self._runs.get(run_id)
        if run is None:
            return _NOTHING
        # Read once: parallel calls of a run note things meanwhile, which takes the kept one away.
        memory = run.memory
        if memory is None:
            with self._lock:
                memory = run.memory = RunMemory(
                    rejected=frozenset(run.rejected.values()),
                    replaced=frozenset(run.replaced),
                    rejections={tool: len(requests) for tool, requests in run.rejections.items()},
                    auto_approved_turns=len(run.auto_approved),
                )
        return memory

    def _changed(self, run_id: str) -> _Run:
        run = self._runs.setdefault(run_id, _Run())
        run.memory = None
        return run

    def note_rejected(self, run_id: str, key: str, tool_name: str, request_id: str) -> None:
        """See `Ledger.note_rejected`."""
        with self._lock:
            run = self._changed(run_id)
            run.rejected[request_id] = key
            run.rejections.setdefault(tool_name, set()).add(request_id)

    def note_replaced(self, run_id: str, key: str) -> None:
        """See `Ledger.note_replaced`."""
        with self._lock:
            self._changed(run_id).replaced.add(key)

    def note_auto_approved(self, run_id: str, turn_id: str) -> None:
        """See `Ledger.note_auto_approved`."""
        with self._lock:
            run = self._changed(run_id)
            if turn_id not in run.counted:
                run.counted.add(turn_id)
                run.auto_approved.add(turn_id)

    def note_person(self, run_id: str, request_id: str) -> None:
        """See `Ledger.note_person`."""
        with self._lock:
            run = self._changed(run_id)
            # A replayed answer must not start the count again a second time.
            if request_id not in run.approved:
                run.approved.add(request_id)
                run.auto_approved.clear()

    def note_change(self, run_id: str, tool_name: str, change: str) -> None:
        """See `Ledger.note_change`."""
        with self._lock:
            self._changed(run_id).changes[tool_name] = change

    def change(self, run_id: str, tool_name: str) -> str | None:
        """See `Ledger.change`."""
        run = self._runs.get(run_id)
        return None if run is None else run.changes.get(tool_name)

    # --- requests, answers and grants ---------------------------------------------------------

    def ask(
        self,
        request: ApprovalRequest,
        *,
        thread_id: str | None = None,
        at: datetime | None = None,
        expires_at: datetime | None = None,
        place: str | None = None,
    ) -> None:
        """See `Ledger.ask`."""
        with self._lock:
            now = self._clock()  # also where another time is given: from then on one that goes back is noticed
            key = request.request_id
            if key in self._spent:
                return
            grant = self._grants.get(key)
            asked = self._asked.get(key)
            if asked is not None:
                asked = replace(asked, request=request)
            else:
                place = None if place == thread_id else place
                asked = PendingRequest(request, thread_id, at or now, expires_at, place)
            self._asked[key] = asked
            if key not in self._answers and (grant is None or grant.status is not GrantStatus.WITHDRAWN):
                self._pending[key] = asked

    def pending(self, *, limit: int = 100) -> Sequence[PendingRequest]:
        """See `Ledger.pending`."""
        with self._lock:
            now = self._clock()
            waiting = [one for one in self._pending.values() if one.expires_at is None or one.expires_at > now]
        return sorted(waiting, key=lambda one: (one.asked_at, one.request.request_id))[:limit]

    def answer(
        self, request_id: str, answer: ApprovalAnswer, *, thread_id: str | None = None, at: datetime | None = None
    ) -> AnswerStatus:
        """See `Ledger.answer`."""
        with self._lock:
            if at is not None and (asked := self._asked.get(request_id)) is not None:
                check_after(at, asked.asked_at, request_id)
            if request_id in self._spent:
                return self._said_of_spent(request_id, answer)
            recorded = self._answers.get(request_id)
            if recorded is None:
                self._answers[request_id] = answer
                self._pending.pop(request_id, None)
                self._threads[request_id], self._times[request_id] = thread_id, at
                if answer.type == "reject":
                    self._over_now(request_id)
                return AnswerStatus.RECORDED
            if answer.type != "reject" or recorded.type in FINAL:
                if request_id in self._left and answer == recorded:
                    self._taken_in.add(request_id)
                return AnswerStatus.REPEATED
            grant = self._grants.get(request_id)
            if grant is not None and grant.status not in (
                GrantStatus.ISSUED,
                GrantStatus.WITHDRAWN,
            ):
                return AnswerStatus.TOO_LATE
            self._answers[request_id] = answer
            self._taken_in.add(request_id)
            if grant is not None:
                grant.status = GrantStatus.WITHDRAWN
            thread_of = self._threads.get(request_id)
            if thread_of is not None:
                self._taken_back[thread_of] = self._taken_back.get(thread_of, frozenset()) | {request_id}
            self._forget_rules(request_id)
            self._over_now(request_id)
            return AnswerStatus.WITHDRAWN

    def answered_at(self, request_id: str) -> datetime | None:
        """See `Ledger.answered_at`."""
        return self._times.get(request_id)

    def thread_of(self, request_id: str) -> str | None:
        """See `Ledger.thread_of`."""
        return self._threads.get(request_id)

    def answer_to(self, request_id: str) -> ApprovalAnswer | None:
        """See `Ledger.answer_to`."""
        return self._answers.get(request_id)


_NOTHING = RunMemory()

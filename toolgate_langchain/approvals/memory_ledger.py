"""A ledger in this process's memory; the default, and enough where nothing outlives the process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, PendingRequest, StartStatus
from toolgate_langchain.approvals.memory_inbox import MemoryInbox
from toolgate_langchain.approvals.memory_outcomes import LEASE, MemoryOutcomes
from toolgate_langchain.approvals.memory_rules import RulesInMemory
from toolgate_langchain.approvals.read_notes import ReadNotesInMemory
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


@dataclass
class _Grant:
    digest: str
    status: GrantStatus


class InMemoryLedger(RulesInMemory, MemoryInbox, MemoryOutcomes, ReadNotesInMemory):
    """A ledger in this process's memory, and for this process only: it covers one process.

    It forgets everything when the process ends: an approval that was given and not yet used is then
    no longer on record, so the call is refused and proposed again. Nothing is ever released that
    was not answered, and a started call is not started again while the process lives. Safe to use
    from several threads. Where approvals outlive the process, or several share them, use `SqlLedger`.

    Args:
        lease: How long a worker has a claim to itself.
        clock: Tells the time, with a zone.
    """

    def __init__(self, *, lease: timedelta = LEASE, clock: Callable[[], datetime] = _now) -> None:
        super().__init__()
        MemoryOutcomes.__init__(self, lease=lease, clock=clock)
        self._stopped = False
        self._runs: dict[str, _Run] = {}
        self._pending: dict[str, PendingRequest] = {}
        self._asked: dict[str, PendingRequest] = {}
        self._left: set[str] = set()
        self._taken_in: set[str] = set()
        self._times: dict[str, datetime | None] = {}
        self._grants: dict[str, _Grant] = {}
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
    ) -> None:
        """See `Ledger.ask`."""
        with self._lock:
            key = request.request_id
            grant = self._grants.get(key)
            asked = self._asked.get(key)
            if asked is not None:
                asked = replace(asked, request=request)
            else:
                asked = PendingRequest(request, thread_id, at or datetime.now(UTC), expires_at)
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
            recorded = self._answers.get(request_id)
            if recorded is None:
                self._answers[request_id] = answer
                self._pending.pop(request_id, None)
                self._threads[request_id], self._times[request_id] = thread_id, at
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

    def grant(self, request_id: str, digest: str) -> None:
        """See `Ledger.grant`."""
        with self._lock:
            held = self._answers.get(request_id)
            taken_back = held is not None and held.type == "reject"
            status = GrantStatus.WITHDRAWN if taken_back else GrantStatus.ISSUED
            self._grants.setdefault(request_id, _Grant(digest, status))

    def _start(self, request_id: str, digest: str, *, needs_grant: bool, repeatable: bool) -> StartStatus:
        with self._lock:
            grant = self._grants.get(request_id)
            if grant is None:
                if needs_grant:
                    return StartStatus.MISSING
                self._grants[request_id] = _Grant(digest, GrantStatus.STARTED)
                return StartStatus.STARTED
            # Before anything else: what was closed before it was answered has no digest.
            if grant.status is GrantStatus.WITHDRAWN:
                return StartStatus.WITHDRAWN
            if grant.digest != digest:
                return StartStatus.MISMATCH
            match grant.status:
                case GrantStatus.ISSUED:
                    grant.status = GrantStatus.STARTED
                    return StartStatus.STARTED
                case GrantStatus.PAUSED:
                    grant.status = GrantStatus.STARTED
                    return StartStatus.REENTERED
                case _ if repeatable:
                    grant.status = GrantStatus.STARTED
                    return StartStatus.STARTED
                case _:
                    return StartStatus.USED

    def _end(self, request_id: str, status: GrantStatus) -> bool:
        with self._lock:
            grant = self._grants.get(request_id)
            if grant is None or grant.status is not GrantStatus.STARTED:
                return False
            grant.status = status
            return True

    def status(self, request_id: str) -> GrantStatus | None:
        """See `Ledger.status`."""
        grant = self._grants.get(request_id)
        return None if grant is None else grant.status

    def withdraw(self, request_ids: Sequence[str]) -> None:
        """See `Ledger.withdraw`."""
        with self._lock:
            for request_id in request_ids:
                self._pending.pop(request_id, None)
                grant = self._grants.setdefault(request_id, _Grant("", GrantStatus.WITHDRAWN))
                if grant.status is GrantStatus.ISSUED:
                    grant.status = GrantStatus.WITHDRAWN
                elif grant.status is GrantStatus.PAUSED:
                    # It started and will not go on; a replay must not enter it again.
                    grant.status = GrantStatus.FAILED


_NOTHING = RunMemory()

"""A worker that lives and is slow looks like one that died: what it lost to another one it neither ends nor saves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.durable.test_unknown_outcomes import crashed
from tests.durable.workers import FORMS, LEASE, Worksite, before_first, elsewhere, forks, saved
from tests.support import says
from toolgate_langchain import ApprovalAnswer
from toolgate_langchain.approvals.ledger import AnswerStatus
from toolgate_langchain.errors import AlreadyAnsweredError, LedgerError
from toolgate_langchain.hosts.langgraph.pauses import checkpoint_saved

IN_EVERY_FORM = pytest.mark.parametrize("form", FORMS)


def taken_for_dead(site: Worksite, form: str, kind: str) -> tuple[Any, Any]:
    """A call takes longer than its lease, and a person says what became of it to another worker meanwhile."""
    other = site.worker(says(text="done"), form=form)

    def as_another_worker() -> None:
        other.invoke(None)
        other.answer(kind)

    def meanwhile() -> None:
        # LangGraph saves the step before in the background; only then is there something to go on from.
        assert checkpoint_saved()
        site.clock.forward(seconds=LEASE.total_seconds())
        elsewhere(as_another_worker)

    first = site.worker(form=form, ledger=site.ledger(before_first("end", meanwhile)))
    other.model.script.clear()
    first.say()
    return first, other


@IN_EVERY_FORM
def test_a_worker_past_its_lease_does_not_end_the_attempt_of_somebody_else(site: Worksite, form: str) -> None:
    """It is told so, saves nothing, and the record says that it came late."""
    first, other = taken_for_dead(site, form, "try_again")
    key = first.request.request_id
    with pytest.raises(AlreadyAnsweredError, match="longer than its lease"):
        first.answer()
    assert (site.ran.names, forks(other), other.result("s")) == (["send", "send"], 0, "ran send")
    events = [
        one for one in site.ledger().events(request_id=key) if one.kind in ("call_finished", "call_late", "ended")
    ]
    late = [one for one in events if one.kind == "ended" and one.detail.get("late")]
    assert sorted(one.kind for one in events) == ["call_finished", "call_late", "ended", "ended"] and len(late) == 1


@IN_EVERY_FORM
def test_a_call_that_ends_after_a_person_said_that_it_is_done_goes_into_no_history(
    small_site: Worksite, form: str
) -> None:
    first, other = taken_for_dead(small_site, form, "done")
    with pytest.raises(AlreadyAnsweredError, match="in the record"):
        first.answer()
    assert (small_site.ran.names, forks(other)) == (["send"], 0)
    assert "carried out" in other.result("s")


@IN_EVERY_FORM
def test_a_slow_call_that_nobody_took_over_ends_as_always(small_site: Worksite, form: str) -> None:
    def slow() -> None:
        small_site.clock.forward(seconds=3 * LEASE.total_seconds())

    first = small_site.worker(form=form, ledger=small_site.ledger(before_first("end", slow)))
    first.say()
    first.answer()
    assert (small_site.ran.names, first.result("s")) == (["send"], "ran send")


@pytest.mark.parametrize(
    ("step", "form"), [("answer", "after_model"), ("note_person", "graph"), ("grant", "after_agent")]
)
def test_a_live_worker_that_lost_its_claim_writes_nothing_and_runs_nothing(
    site: Worksite, form: str, step: str
) -> None:
    """It is slow after it claimed the answer, and another one carries the answer when the lease is over."""
    other = site.worker(says(text="unused"), form=form)
    seen: list[Any] = []

    def meanwhile() -> None:
        site.clock.forward(seconds=LEASE.total_seconds())
        came = elsewhere(lambda: other.invoke(None))
        seen.append(came if isinstance(came, BaseException) else saved(other))

    first = site.worker(form=form, ledger=site.ledger(before_first(step, meanwhile)))
    other.model.script.clear()
    first.say()
    with pytest.raises(AlreadyAnsweredError, match="longer than the lease"):
        first.answer()
    assert isinstance(seen[0], list)
    assert (saved(first), site.ran.names, forks(first)) == (seen[0], ["send"], 0)


@IN_EVERY_FORM
def test_a_slow_worker_whose_claim_nobody_took_goes_on(small_site: Worksite, form: str) -> None:
    def slow() -> None:
        small_site.clock.forward(seconds=3 * LEASE.total_seconds())

    first = small_site.worker(form=form, ledger=small_site.ledger(before_first("grant", slow)))
    first.say()
    first.answer()
    assert small_site.ran.names == ["send"]


def _fails() -> None:
    raise LedgerError("the database is away")


def test_a_no_after_a_try_again_that_was_not_begun_holds_in_a_fork_that_has_only_the_old_answer(
    site: Worksite,
) -> None:
    key = crashed(site).request.request_id
    first = site.worker(says(text="unused"), ledger=site.ledger(before_first("try_again", _fails)))
    with pytest.raises(LedgerError):
        first.resume({"type": "try_again", "request_id": key, "by": "ann"})
    fork = first.agent.get_state(first.config).config
    site.clock.forward(seconds=LEASE.total_seconds())
    second = site.worker(says(text="unused"))
    second.model.script.clear()
    second.resume({"type": "reject", "request_id": key, "by": "bob"})
    assert "outcome is unknown" in second.result("s")
    held = site.ledger().answer_to(key)
    assert (held.type, held.by) == ("reject", "bob")
    site.clock.forward(seconds=LEASE.total_seconds())
    third = site.worker(says(text="done"))
    third.model.script.clear()
    elsewhere(lambda: third.agent.invoke(None, fork))
    for request in third.requests:
        third.resume({"type": "try_again", "request_id": request.request_id, "by": "ann"})
    assert site.ran.names == ["send"]


def test_a_try_again_can_be_taken_back_in_the_inbox_until_it_is_begun(site: Worksite) -> None:
    talk = crashed(site)
    ledger, (waiting,) = site.ledger(), site.ledger().pending()
    key, digest = waiting.request.request_id, waiting.request.digest
    again, no = (ApprovalAnswer(type=kind, request_id=key) for kind in ("try_again", "reject"))
    assert ledger.leave_answer(key, again, digest=digest) is AnswerStatus.RECORDED
    assert ledger.leave_answer(key, no, digest=digest) is AnswerStatus.WITHDRAWN
    talk.answer("try_again")
    assert (site.ran.names, ledger.answer_to(key).type) == (["send"], "reject")


def test_a_no_to_a_try_again_that_is_begun_comes_too_late(site: Worksite) -> None:
    talk = crashed(site)
    key = talk.request.request_id
    talk.answer("try_again")
    assert site.ran.names == ["send", "send"]
    no = ApprovalAnswer(type="reject", request_id=key)
    assert site.ledger().answer(key, no) is AnswerStatus.TOO_LATE

"""Two workers with one answer: one carries it into the run, the other is told so and leaves the thread as it was."""

from typing import Any

import pytest

from tests.durable.workers import FORMS, LEASE, Worksite, before_first, elsewhere, forks, saved
from tests.support import Chat, call, says
from toolgate_langchain import ApprovalAnswer
from toolgate_langchain.errors import AlreadyAnsweredError
from toolgate_langchain.hosts.langgraph.pauses import checkpoint_saved

IN_EVERY_FORM = pytest.mark.parametrize("form", FORMS)


def yes(talk: Chat) -> dict[str, Any]:
    return {"type": "approve", "request_id": talk.request.request_id}


@IN_EVERY_FORM
def test_a_worker_that_loses_says_already_answered_and_writes_no_checkpoint(site: Worksite, form: str) -> None:
    told: list[Any] = []
    other = site.worker(form=form)
    other.say()
    answer, before = yes(other), saved(other)

    def meanwhile() -> None:
        # The first has claimed the answer and not recorded it yet.
        told.append(elsewhere(lambda: other.resume(answer)))
        told.append(saved(other))

    first = site.worker(says(text="unused"), form=form, ledger=site.ledger(before_first("answer", meanwhile)))
    first.model.script.clear()
    first.resume(answer)
    error, left = told
    assert isinstance(error, AlreadyAnsweredError) and "already answered" in str(error)
    assert left == before
    assert (site.ran.names, first.result("s"), forks(first)) == (["send"], "ran send", 0)


@IN_EVERY_FORM
def test_through_the_gate_the_surplus_answer_is_told_so(site: Worksite, form: str) -> None:
    told: list[Any] = []
    other = site.worker(form=form)
    other.say()
    answer = yes(other)

    def meanwhile() -> None:
        told.append(elsewhere(lambda: other.gate.answer(other.agent, other.config, answer).status))

    first = site.worker(says(text="unused"), form=form, ledger=site.ledger(before_first("answer", meanwhile)))
    assert first.gate.answer(first.agent, first.config, answer).status == "accepted"
    assert told == ["already_answered"]
    assert (site.ran.names, forks(first)) == (["send"], 0)


@IN_EVERY_FORM
def test_a_worker_that_was_asleep_since_it_read_the_thread_finds_that_the_run_went_on(
    site: Worksite, form: str
) -> None:
    """Its lease is free to have by then; the checkpoint that it started from is not the newest any more."""
    first = site.worker(form=form)
    first.say()
    answer = yes(first)

    def meanwhile() -> None:
        elsewhere(lambda: first.resume(answer))
        site.clock.forward(seconds=LEASE.total_seconds() + 1)

    late = site.worker(form=form, ledger=site.ledger(before_first("claim", meanwhile)))
    with pytest.raises(AlreadyAnsweredError, match="went on"):
        late.resume(answer)
    assert (site.ran.names, forks(first)) == (["send"], 0)


@IN_EVERY_FORM
def test_while_the_call_runs_another_worker_that_resumes_the_run_leaves_it_as_it_is(site: Worksite, form: str) -> None:
    told: list[Any] = []
    other = site.worker(says(text="unused"), form=form)

    def meanwhile() -> None:
        # LangGraph saves the step before in the background; only then is there something to find.
        assert checkpoint_saved()
        told.extend(elsewhere(lambda: other.invoke(None)) for _ in range(2))

    first = site.worker(form=form, ledger=site.ledger(before_first("end", meanwhile)))
    undisturbed = site.worker(form=form, thread="undisturbed")
    for talk in (first, undisturbed):
        talk.say()
        talk.answer()
    assert [type(one).__name__ for one in told] == ["LeavesNothing"] * 2
    assert "may still be at it" in str(told[0])
    assert (site.ran.names, first.result("s"), forks(first)) == (["send", "send"], "ran send", 0)
    assert len(saved(first)) == len(saved(undisturbed))


@IN_EVERY_FORM
def test_an_answer_that_a_dead_worker_left_on_record_is_not_asked_for_again(site: Worksite, form: str) -> None:
    """It died before its own run had the answer: nothing of it is in any checkpoint."""
    first = site.worker(says(call("send", "a", n=1), call("send", "b", n=2)), form=form)
    first.say()
    key = first.request.request_id
    site.ledger().answer(key, ApprovalAnswer(type="approve", request_id=key), thread_id=first.thread)
    second = site.worker(says(text="unused"), form=form)
    second.model.script.clear()
    second.invoke(None)
    assert (second.request.tool_call_id, second.request.error) == ("b", "")
    second.answer()
    assert sorted(site.ran.runs, key=str) == [("send", {"n": 1}), ("send", {"n": 2})]
    assert (second.requests, forks(second)) == ([], 0)


@IN_EVERY_FORM
def test_of_two_workers_that_go_on_with_what_is_on_record_one_does(small_site: Worksite, form: str) -> None:
    told: list[Any] = []
    other = small_site.worker(form=form)
    other.say()
    key = other.request.request_id
    small_site.ledger().answer(key, ApprovalAnswer(type="approve", request_id=key), thread_id=other.thread)

    def meanwhile() -> None:
        told.append(elsewhere(lambda: other.invoke(None)))

    ledger = small_site.ledger(before_first("grant", meanwhile))
    first = small_site.worker(says(text="unused"), form=form, ledger=ledger)
    first.invoke(None)
    assert isinstance(told[0], AlreadyAnsweredError)
    assert (small_site.ran.names, forks(first)) == (["send"], 0)


@IN_EVERY_FORM
def test_what_a_dead_worker_had_claimed_goes_on_when_its_lease_is_over(site: Worksite, form: str) -> None:
    class Dies(KeyboardInterrupt):
        pass

    def dies() -> None:
        raise Dies

    first = site.worker(form=form, ledger=site.ledger(before_first("answer", dies)))
    first.say()
    answer = yes(first)
    with pytest.raises(Dies):
        first.resume(answer)
    second = site.worker(says(text="unused"), form=form)
    with pytest.raises(AlreadyAnsweredError):
        second.resume(answer)
    assert site.ran.runs == []
    site.clock.forward(seconds=LEASE.total_seconds())
    # The answer was given once, and is not asked for again.
    second.invoke(None)
    assert (site.ran.names, second.result("s"), forks(second)) == (["send"], "ran send", 0)


@IN_EVERY_FORM
def test_an_answer_whose_record_failed_can_be_carried_at_once_by_whoever_tries_again(
    small_site: Worksite, form: str
) -> None:
    def fails() -> None:
        raise OSError("the disk is full")

    first = small_site.worker(form=form, ledger=small_site.ledger(before_first("answer", fails)))
    first.say()
    answer = yes(first)
    with pytest.raises(OSError, match="full"):
        first.resume(answer)
    second = small_site.worker(says(text="unused"), form=form)
    second.invoke(None)
    assert small_site.ran.names == ["send"]


@IN_EVERY_FORM
def test_an_answer_is_on_record_with_its_time_before_the_next_question(site: Worksite, form: str) -> None:
    talk = site.worker(says(call("send", "a", n=1), call("send", "b", n=2)), form=form)
    talk.say()
    first = talk.request.request_id
    site.clock.forward(minutes=1)
    at = site.clock()
    talk.answer()
    assert talk.request.tool_call_id == "b"
    ledger = site.ledger()
    assert (ledger.answer_to(first).type, ledger.answered_at(first)) == ("approve", at)
    assert site.ran.runs == []


@IN_EVERY_FORM
def test_each_of_two_workers_may_carry_one_answer_of_a_turn(site: Worksite, form: str) -> None:
    first = site.worker(says(call("send", "a", n=1), call("send", "b", n=2)), form=form)
    first.say()
    first.answer()
    second = site.worker(says(text="unused"), form=form)
    second.answer()
    assert sorted(site.ran.runs, key=str) == [("send", {"n": 1}), ("send", {"n": 2})]
    assert forks(second) == 0


@IN_EVERY_FORM
def test_an_answer_that_cannot_be_used_keeps_nobody_from_giving_a_better_one(site: Worksite, form: str) -> None:
    first = site.worker(form=form)
    first.say()
    first.resume({"type": "edit", "request_id": first.request.request_id, "edited_action": {"name": "x", "args": {}}})
    assert "cannot be used" in first.request.error
    second = site.worker(says(text="unused"), form=form)
    second.answer()
    assert site.ran.names == ["send"]


@IN_EVERY_FORM
def test_a_fork_of_a_paused_thread_is_answered_on_its_own_and_uses_no_grant_again(site: Worksite, form: str) -> None:
    talk = site.worker(form=form)
    talk.say()
    paused = talk.agent.get_state(talk.config).config
    talk.answer()
    talk.agent.invoke(None, paused)
    assert talk.request.tool_call_id == "s"
    talk.answer()
    assert site.ran.names == ["send"]

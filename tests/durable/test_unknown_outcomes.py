"""After a crash between the start of a call and its end: model and person are told, and nothing is repeated."""

from typing import Any

import pytest

from tests.durable.workers import FORMS, LEASE, Worksite, before_first, elsewhere
from tests.support import Chat, call, says
from toolgate_langchain import Surface, Verdict
from toolgate_langchain.approvals.request import OUTCOME_REASON
from toolgate_langchain.errors import AlreadyAnsweredError

IN_EVERY_FORM = pytest.mark.parametrize("form", FORMS)


class Dies(KeyboardInterrupt):
    """What a worker that is killed does: nothing more."""


def dies() -> None:
    raise Dies


def crashed(site: Worksite, *turns: Any, form: str = "after_model", **options: Any) -> Chat:
    """A worker that died when its call had run and nothing of that was recorded; another one takes over."""
    first = site.worker(*turns, form=form, ledger=site.ledger(before_first("end", dies)), **options)
    first.say()
    with pytest.raises(Dies):
        first.answer()
    assert len(site.ran.runs) == 1
    second = site.worker(says(text="unused"), form=form, **options)
    second.model.script.clear()
    # The dead one could still be at it, for all that anybody knows.
    with pytest.raises(AlreadyAnsweredError, match="may still be at it"):
        second.invoke(None)
    site.clock.forward(seconds=LEASE.total_seconds())
    second.invoke(None)
    return second


@IN_EVERY_FORM
def test_a_person_is_asked_what_became_of_it_in_a_request_of_its_own_kind(site: Worksite, form: str) -> None:
    talk = crashed(site, form=form)
    (shown,) = talk.agent.get_state(talk.config).interrupts
    assert (shown.value["reason"], shown.value["toolgate"]["kind"]) == (OUTCOME_REASON, "outcome")
    assert shown.value["toolgate"]["answers"] == ["try_again", "done", "failed", "reject"]
    assert shown.value["review_configs"][0]["allowed_decisions"] == ["respond", "reject"]
    request = talk.request
    assert (request.kind, request.tool_name, dict(request.arguments)) == ("outcome", "send", {"n": 1})
    assert "no result was recorded" in request.reason
    assert [one.request.kind for one in site.ledger().pending()] == ["outcome"]
    assert site.ran.names == ["send"]


@IN_EVERY_FORM
def test_it_is_done_becomes_the_result_and_nothing_is_repeated(small_site: Worksite, form: str) -> None:
    talk = crashed(small_site, form=form)
    talk.answer("done", message="the mail is in the sent folder")
    assert "carried out" in talk.result("s") and "sent folder" in talk.result("s")
    assert (small_site.ran.names, talk.messages[-1].text) == (["send"], "done")
    assert list(small_site.ledger().pending()) == []


@IN_EVERY_FORM
def test_it_failed_becomes_an_error_and_nothing_is_repeated(small_site: Worksite, form: str) -> None:
    talk = crashed(small_site, form=form)
    talk.answer("failed", message="the server was down")
    (result,) = [one for one in talk.results if one.tool_call_id == "s"]
    assert (result.status, "the server was down" in result.text) == ("error", True)
    assert small_site.ran.names == ["send"]


@IN_EVERY_FORM
def test_try_again_runs_it_once_more(site: Worksite, form: str) -> None:
    talk = crashed(site, form=form)
    talk.answer("try_again")
    assert site.ran.runs == [("send", {"n": 1})] * 2
    assert talk.result("s") == "ran send"
    # That answer was for one try.
    talk.invoke(None)
    assert len(site.ran.runs) == 2


def test_where_the_second_try_crashes_as_well_the_person_is_asked_again_and_an_old_answer_does_not_count(
    site: Worksite,
) -> None:
    first = crashed(site)
    again = {"type": "try_again", "request_id": first.request.request_id}
    dying = site.worker(says(text="unused"), ledger=site.ledger(before_first("end", dies)))
    with pytest.raises(Dies):
        dying.resume(again)
    assert len(site.ran.runs) == 2
    site.clock.forward(seconds=LEASE.total_seconds())
    third = site.worker(says(text="unused"))
    third.model.script.clear()
    third.resume(again)
    assert "started 2 times" in third.request.reason
    assert (len(site.ran.runs), third.request.request_id != again["request_id"]) == (2, True)
    third.answer("done")
    assert len(site.ran.runs) == 2


@pytest.mark.parametrize("kind", ["approve", "edit", True, None])
def test_an_approval_is_not_a_word_for_try_again_and_after_three_it_stays_unknown(
    small_site: Worksite, kind: Any
) -> None:
    talk = crashed(small_site)
    for _ in range(3):
        talk.resume({"type": kind, "request_id": talk.request.request_id})
    assert small_site.ran.names == ["send"]
    assert "outcome is unknown" in talk.result("s") and "not executed" not in talk.result("s")


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"decisions": [{"type": "respond", "message": "it went out"}]}, "it went out"),
        ({"decisions": [{"type": "reject", "message": "no idea"}]}, "outcome is unknown"),
        ([{"type": "response", "args": "it went out"}], "it went out"),
        ([{"type": "ignore", "args": None}], "outcome is unknown"),
        ({"approved": False, "reason": "no idea"}, "outcome is unknown"),
    ],
)
def test_screens_that_know_nothing_of_outcomes_can_say_what_is_known_or_leave_it(
    small_site: Worksite, sent: Any, told: str
) -> None:
    talk = crashed(small_site)
    talk.resume(talk.request.answer_from(sent).to_json())
    assert told in talk.result("s")
    assert small_site.ran.names == ["send"]


def test_on_an_unattended_surface_the_model_alone_is_told(small_site: Worksite) -> None:
    cron = Surface("cron", attended=False, routine=Verdict.ALLOW)
    options: dict[str, Any] = {"surfaces": [cron], "surface": "cron"}
    first = small_site.worker(
        says(call("save", "v", n=1)), ledger=small_site.ledger(before_first("end", dies)), **options
    )
    with pytest.raises(Dies):
        first.say()
    second = small_site.worker(says(text="unused"), **options)
    small_site.clock.forward(seconds=LEASE.total_seconds())
    second.invoke(None)
    assert "outcome is unknown" in second.result("v")
    assert small_site.ran.names == ["save"]


@IN_EVERY_FORM
def test_what_may_be_repeated_is_repeated_under_its_one_approval(small_site: Worksite, form: str) -> None:
    read = says(call("read", "r", n=1))
    first = small_site.worker(read, form=form, ledger=small_site.ledger(before_first("end", dies)))
    first.say()
    with pytest.raises(Dies):
        first.answer()
    second = small_site.worker(says(text="unused"), form=form)
    second.invoke(None)
    assert second.result("r") == "ran read"
    assert small_site.ran.names == ["read", "read"]


def test_the_users_next_words_close_it_as_unknown(small_site: Worksite) -> None:
    talk = crashed(small_site)
    talk.say("never mind")
    assert "outcome is unknown" in talk.result("s") and "not executed" not in talk.result("s")
    assert (small_site.ran.names, list(small_site.ledger().pending())) == (["send"], [])


@IN_EVERY_FORM
def test_of_two_workers_with_two_answers_the_first_holds_and_the_other_is_told_so(site: Worksite, form: str) -> None:
    told: list[Any] = []
    other = crashed(site, form=form)
    key = other.request.request_id

    def meanwhile() -> None:
        told.append(elsewhere(lambda: other.resume({"type": "try_again", "request_id": key})))

    first = site.worker(says(text="unused"), form=form, ledger=site.ledger(before_first("answer", meanwhile)))
    first.resume({"type": "done", "request_id": key})
    assert isinstance(told[0], AlreadyAnsweredError)
    assert (site.ran.names, "carried out" in first.result("s")) == (["send"], True)


@IN_EVERY_FORM
def test_a_result_that_was_recorded_is_the_result_also_in_another_process_and_is_kept_no_longer_than_the_turn(
    site: Worksite, form: str
) -> None:
    """The worker dies when the end of the call is on record and its result is not in any checkpoint yet."""
    saver = site.saver()
    first = site.worker(form=form, saver=saver)
    first.say()
    key = first.request.request_id
    put, put_writes = saver.put, saver.put_writes
    dead: list[bool] = []

    def dying(save: Any) -> Any:
        def saving(*given: Any) -> Any:
            if dead or "ran send" in str(given):
                dead.append(True)
                raise Dies
            return save(*given)

        return saving

    saver.put, saver.put_writes = dying(put), dying(put_writes)
    with pytest.raises(Dies):
        first.answer()
    ledger = site.ledger()
    assert ledger.result(key).text == "ran send"
    second = site.worker(says(text="unused"), form=form)
    second.model.script.clear()
    second.invoke(None)
    assert (site.ran.names, second.result("s")) == (["send"], "ran send")
    # The first one may still have had it in its memory; the next run forgets what is left.
    second.say("next")
    assert ledger.result(key) is None
    (ended,) = [event for event in ledger.events(request_id=key) if event.kind == "call_finished"]
    assert "ran send" not in str(ended)

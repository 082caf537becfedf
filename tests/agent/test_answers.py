"""Answers: to what is pending, to anything else, twice, and in the wrong shape."""

from dataclasses import replace
from typing import Any

import pytest

from tests.agent.talking import CONSEQUENTIAL, Talk, talk
from tests.support import Recorder, call, says
from toolgate_langchain import ApprovalAnswer, ToolGate, Verdict
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer


@pytest.fixture
def told(ran: Recorder, asynchronous: bool) -> Talk:
    turn = says(call("deploy", "a", to=1), call("deploy", "b", to=2))
    return talk([turn], [ran.tool("deploy", CONSEQUENTIAL)], ran, asynchronous=asynchronous).say()


def test_an_answer_to_an_unknown_request_is_refused_by_name_and_the_pending_one_stays(told: Talk) -> None:
    before = told.session
    told.resume({"type": "approve", "request_id": "unknown"})
    assert (told.became, told.session) == ("not_pending", before)
    assert "unknown" in told.output["answer"].detail and told.ran.runs == []


def test_an_answer_to_the_next_request_of_the_turn_changes_nothing(told: Talk) -> None:
    second = told.session.turn["calls"][1]["request_id"]
    told.resume({"type": "approve", "request_id": second})
    assert told.became == "not_pending" and told.request.tool_call_id == "a"


def test_the_same_answer_sent_twice_is_taken_once(told: Talk) -> None:
    first, answer = told.session, {"type": "approve", "request_id": told.request.request_id}
    told.resume(answer)
    assert told.request.tool_call_id == "b"
    told.resume(answer)  # with the session that came back
    assert told.became == "already_answered" and told.request.tool_call_id == "b"
    told.resume(answer, first)  # with the session that it was sent with
    assert (told.became, told.session) == ("already_answered", first)
    assert told.ran.runs == []


def test_a_session_resumed_twice_runs_the_tool_once_and_the_second_is_told(told: Talk) -> None:
    told.answer()
    session, answer = told.session, {"type": "approve", "request_id": told.request.request_id}
    told.resume(answer, session)
    assert told.done and told.ran.count("deploy") == 2
    told.resume(answer, session)
    assert told.became == "already_answered" and told.ran.count("deploy") == 2
    assert len(told.model.seen) == 2


def test_after_a_crash_the_recorded_answer_goes_on_and_nothing_is_repeated(told: Talk) -> None:
    told.answer()
    session = told.session
    told.answer()
    assert told.ran.count("deploy") == 2
    # What came back was lost. Both calls ran, and the ledger knows.
    told.give({"session": session})
    assert told.done and told.ran.count("deploy") == 2
    assert all("unknown" in text or "may have" in text for text in told.results.values())


def test_without_an_answer_and_without_one_on_record_the_request_comes_back(told: Talk) -> None:
    before = told.session
    told.give({"session": before})
    assert told.session == before and told.output["answer"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"approved": "true"},
        1,
        [True],
        [],
        {"type": "APPROVE"},
        {"decisions": []},
        {"type": "approve"},
        object(),
        {"type": "edit", "edited_action": {"name": "other", "args": {}}},
    ],
    ids=lambda wrong: type(wrong).__name__ if type(wrong) is object else repr(wrong),
)
def test_an_unusable_answer_is_asked_again_with_the_error_and_after_three_it_is_denied(told: Talk, wrong: Any) -> None:
    if isinstance(wrong, dict) and wrong.get("type") == "edit":
        wrong = {**wrong, "request_id": told.request.request_id}
    for left in ("2 more tries", "1 more try"):
        told.resume(wrong)
        assert told.became == "asked_again" and told.request.tool_call_id == "a"
        assert left in told.request.error and told.request.error == told.output["answer"].detail
    told.resume(wrong)
    assert told.request.tool_call_id == "b"
    told.answer()
    assert told.done and told.ran.runs == [("deploy", {"to": 2})]
    assert "was not executed" in told.results["a"]


def test_a_correct_answer_in_between_works(told: Talk) -> None:
    told.resume({"type": "APPROVE"})
    told.answer().answer("reject")
    assert told.done and told.ran.runs == [("deploy", {"to": 1})]


def test_approve_then_reject_before_the_turn_is_complete_holds_the_rejection(told: Talk) -> None:
    first = told.request.request_id
    told.answer()
    told.resume({"type": "reject", "request_id": first})
    assert told.became == "withdrawn" and told.request.tool_call_id == "b"
    told.answer()
    assert told.ran.runs == [("deploy", {"to": 2})] and "rejected" in told.results["a"]


def test_a_rejection_after_the_approval_was_used_is_too_late(told: Talk) -> None:
    first = told.request.request_id
    told.answer().answer()
    told.resume({"type": "reject", "request_id": first})
    assert told.became == "too_late"


def test_an_answer_from_another_session_changes_nothing(told: Talk, ran: Recorder, asynchronous: bool) -> None:
    turn = says(call("deploy", "x", to=9))
    other = talk([turn], [ran.tool("deploy", CONSEQUENTIAL)], ran, asynchronous=asynchronous, gate=told.agent.gate)
    other.say().answer()
    assert other.done
    foreign = other.session.turn["calls"][0]["request_id"]
    told.resume({"type": "reject", "request_id": foreign})
    assert told.became == "not_pending" and told.request.tool_call_id == "a"


def test_an_answer_to_a_run_that_ended_changes_nothing(told: Talk) -> None:
    told.answer().answer()
    before = told.session
    told.resume({"type": "approve", "request_id": "any"})
    assert (told.became, told.session) == ("not_pending", before)
    told.resume("yes")
    assert (told.became, told.session) == ("invalid", before)


def test_an_answer_as_an_object_and_with_the_calls_arguments_edited(told: Talk) -> None:
    answer = ApprovalAnswer(type="approve", request_id=told.request.request_id)
    told.resume(replace(answer, by="ann"))
    told.answer("edit", edited_action={"name": "deploy", "args": {"to": 3}})
    assert told.ran.runs == [("deploy", {"to": 1}), ("deploy", {"to": 3})]
    assert 'ran with {"to":3}' in told.results["b"]


def test_a_person_answers_in_the_tools_place(told: Talk) -> None:
    told.answer("respond", message="It is deployed already.").answer("reject")
    assert told.ran.runs == [] and "It is deployed already." in told.results["a"]


def test_a_lenient_gate_takes_an_answer_without_an_id_and_remembers_nothing_of_it(
    ran: Recorder, asynchronous: bool
) -> None:
    gate = ToolGate(answers="lenient")
    turns = [says(call("deploy", "a", to=1)), says(call("deploy", "b", to=1))]
    told = talk(turns, [ran.tool("deploy", CONSEQUENTIAL)], ran, asynchronous=asynchronous, gate=gate).say()
    told.resume({"type": "approve", "remember": "arguments"})
    assert told.request.tool_call_id == "b" and told.session.rules == {}


def test_an_edit_that_the_gate_denies_does_not_run_and_the_original_is_refused_as_replaced(
    ran: Recorder, asynchronous: bool
) -> None:
    def no_three(view: ArgumentView) -> PolicyAnswer:
        return PolicyAnswer(Verdict.DENY if view.arguments.get("to") == 3 else Verdict.ALLOW)

    gate = ToolGate(argument_policies=[no_three])
    turns = [says(call("deploy", "a", to=1)), says(call("deploy", "b", to=1))]
    told = talk(turns, [ran.tool("deploy", CONSEQUENTIAL)], ran, asynchronous=asynchronous, gate=gate).say()
    told.answer("edit", edited_action={"name": "deploy", "args": {"to": 3}})
    assert ran.runs == [] and "was not executed" in told.results["a"]
    assert told.done and "was not executed" in told.results["b"]

"""Existing approval screens show a request of the gate, and what a person does there is what happens."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.screens.conftest import Desk
from tests.screens.readers import AgentInbox, AgentInboxOwnShape, AgUi
from tests.support import Recorder, call, says
from toolgate_langchain import ApprovalRequest, ApprovalRule

Sit = Callable[..., Desk]


class TestTheRequestIsShown:
    def test_with_the_tool_its_arguments_and_the_buttons_of_the_screen(self, sit: Sit) -> None:
        desk = sit(says(call("send", "s", to="ann", copies=2)))
        card = desk.card
        assert (card.name, card.args) == ("send", {"to": "ann", "copies": 2})
        assert card.buttons == {"approve", "reject"} | ({"edit"} if desk.screen.edits else set())

    def test_with_every_argument_in_the_text_wherever_the_screen_has_room_for_one(self, sit: Sit) -> None:
        card = sit(says(call("send", "s", to="ann\u202e", copies=2))).card
        assert not card.text or ("ann\\u{202e}" in card.text and "Warning" in card.text)

    def test_where_there_are_no_arguments(self, sit: Sit) -> None:
        card = sit(says(call("ping", "p"))).card
        assert (card.name, card.args) == ("ping", {})

    def test_only_the_answers_that_the_operator_allows_have_a_button(self, sit: Sit) -> None:
        desk = sit(says(call("send", "s", to="ann")), approval_rule=ApprovalRule(asks={"send": ("approve", "reject")}))
        assert desk.card.buttons == {"approve", "reject"}

    def test_where_nothing_is_known_of_the_tools_schema(self, sit: Sit) -> None:
        desk = sit(says(call("send", "s", to="ann")))
        known = desk.talk.request
        bare = replace(known, args_schema=None).to_interrupt()
        assert desk.screen.card({**desk.interrupt, "value": bare}).name == "send"
        assert ApprovalRequest.from_interrupt(bare).args_schema is None
        assert ApprovalRequest.from_interrupt(known.to_interrupt()) == known


class TestWhatAPersonDoesHappens:
    def test_an_approval_runs_the_call_once_as_it_was_shown(self, sit: Sit, ran: Recorder) -> None:
        desk = sit(says(call("send", "s", to="ann", copies=2)))
        desk.send(desk.screen.approve(desk.card))
        assert ran.runs == [("send", {"to": "ann", "copies": 2})]
        assert desk.talk.result("s") == "ran send"

    def test_an_edit_runs_what_was_typed_in_the_types_of_the_tool(self, sit: Sit, ran: Recorder) -> None:
        desk = sit(says(call("send", "s", to="ann", copies=2)))
        if not desk.screen.edits:
            assert "edit" not in desk.card.buttons
            return
        desk.send(desk.screen.edit(desk.card, "copies", "5"))
        assert ran.runs == [("send", {"to": "ann", "copies": 5})]
        assert '"copies":5' in desk.talk.result("s")

    def test_a_rejection_runs_nothing_and_the_model_reads_the_reason(self, sit: Sit, ran: Recorder) -> None:
        desk = sit(says(call("send", "s", to="ann")))
        desk.send(desk.screen.reject(desk.card, "not to her"))
        assert ran.runs == []
        assert desk.talk.requests == []
        told = desk.talk.result("s")
        assert "rejected" in told
        assert ("not to her" in told) == desk.screen.reasons

    def test_each_call_of_a_turn_gets_the_answer_that_was_given_to_it(self, sit: Sit, ran: Recorder) -> None:
        desk = sit(says(call("send", "a", to="ann"), call("send", "b", to="bob"), call("send", "c", to="cid")))
        desk.send(desk.screen.approve(desk.card))
        assert (desk.card.args, ran.runs) == ({"to": "bob", "copies": 1}, [])
        desk.send(desk.screen.reject(desk.card, "no"))
        assert (desk.card.args, ran.runs) == ({"to": "cid", "copies": 1}, [])
        desk.send(desk.screen.approve(desk.card))
        assert sorted(args["to"] for _, args in ran.runs) == ["ann", "cid"]
        assert "rejected" in desk.talk.result("b")


@pytest.mark.parametrize("screen", [AgentInbox(), AgentInboxOwnShape()], indirect=True)
def test_ignoring_a_call_in_agent_inbox_is_a_no(sit: Sit, ran: Recorder, screen: AgentInbox) -> None:
    desk = sit(says(call("send", "s", to="ann")))
    desk.send(screen.ignore(desk.card))
    assert (ran.runs, desk.talk.requests) == ([], [])
    assert "rejected" in desk.talk.result("s")


@pytest.mark.parametrize("screen", [AgentInboxOwnShape()], indirect=True)
class TestAResponseInAgentInbox:
    def test_is_what_the_model_reads_in_place_of_the_result(
        self, sit: Sit, ran: Recorder, screen: AgentInboxOwnShape
    ) -> None:
        desk = sit(says(call("send", "s", to="ann")))
        desk.send(screen.respond(desk.card, "I wrote to her myself"))
        (result,) = desk.talk.results
        assert (ran.runs, result.status) == ([], "success")
        assert str(result.content).endswith("I wrote to her myself")

    def test_is_a_rejection_with_that_reason_where_no_result_may_be_written_by_hand(
        self, sit: Sit, ran: Recorder, screen: AgentInboxOwnShape
    ) -> None:
        desk = sit(says(call("send", "s", to="ann")), approval_rule=ApprovalRule(asks={"send": ("approve", "reject")}))
        desk.send(screen.respond(desk.card, "ask me tomorrow"))
        (result,) = desk.talk.results
        assert (ran.runs, result.status) == ([], "error")
        assert "rejected" in str(result.content) and "ask me tomorrow" in str(result.content)


@pytest.mark.parametrize("screen", [AgUi()], indirect=True)
def test_closing_the_question_without_an_answer_is_a_no(sit: Sit, ran: Recorder, screen: AgUi) -> None:
    desk = sit(says(call("send", "s", to="ann")))
    desk.send(screen.cancelled(desk.interrupt))
    assert (ran.runs, desk.talk.requests) == ([], [])
    assert "rejected" in desk.talk.result("s")

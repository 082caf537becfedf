"""Answers in the shapes of other screens: what is understood, what is asked again, and what an id changes."""

from typing import Any

import pytest

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import (
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalRule,
    Remember,
    Tier,
    ToolGate,
    ToolProfile,
    drive,
)
from toolgate_langchain.approvals.answer import read_answer
from toolgate_langchain.errors import InvalidAnswerError

SHOWN: dict[str, Any] = {"action": "send", "args": {"to": "ann", "share": 2.0}}

UNDERSTOOD: list[tuple[Any, ApprovalAnswer]] = [
    ([{"type": "accept", "args": None}], ApprovalAnswer(type="approve")),
    ([{"type": "accept"}], ApprovalAnswer(type="approve")),
    ([{"type": "accept", "args": SHOWN}], ApprovalAnswer(type="approve")),
    # A page writes 2.0 as 2.
    (
        [{"type": "accept", "args": {"action": "send", "args": {"to": "ann", "share": 2}}}],
        ApprovalAnswer(type="approve"),
    ),
    (
        [{"type": "edit", "args": {"action": "send", "args": {"to": "bob"}}}],
        ApprovalAnswer(type="edit", edited_name="send", edited_arguments={"to": "bob"}),
    ),
    ([{"type": "response", "args": "done"}], ApprovalAnswer(type="respond", message="done")),
    ([{"type": "ignore", "args": None}], ApprovalAnswer(type="reject")),
    ({"decisions": [{"type": "approve", "args": None}]}, ApprovalAnswer(type="approve")),
    ({"decisions": [{"type": "approve", "args": SHOWN}]}, ApprovalAnswer(type="approve")),
    ({"decisions": [{"type": "reject", "args": "no"}]}, ApprovalAnswer(type="reject", message="no")),
    ({"decisions": [{"type": "reject", "args": None}]}, ApprovalAnswer(type="reject")),
    ({"decisions": [{"type": "reject", "feedback": "no"}]}, ApprovalAnswer(type="reject", message="no")),
    ({"decisions": [{"type": "ignore"}]}, ApprovalAnswer(type="reject")),
    ({"decisions": [{"type": "respond", "message": "done"}]}, ApprovalAnswer(type="respond", message="done")),
    ({"approved": True}, ApprovalAnswer(type="approve")),
    ({"approved": True, "reason": "fine"}, ApprovalAnswer(type="approve", message="fine")),
    ({"approved": False, "reason": None}, ApprovalAnswer(type="reject")),
    ({"approved": False, "reason": "no"}, ApprovalAnswer(type="reject", message="no")),
    ({"__agui_cancelled__": True, "interrupt_id": "i"}, ApprovalAnswer(type="reject")),
]

NOT_UNDERSTOOD: list[Any] = [
    [{"type": "accept", "args": "yes"}],
    [{"type": "accept", "args": {"action": "send", "args": {"to": "bob", "share": 2}}}],
    [{"type": "accept", "args": {"action": "wipe", "args": {"to": "ann", "share": 2}}}],
    [{"type": "accept", "args": {"action": "send", "args": {"to": "ann", "share": "2"}}}],
    [{"type": "accept", "args": {"action": "send", "args": {"to": "ann", "share": True}}}],
    [{"type": "accept", "args": {"to": "ann", "share": 2}}],
    [{"type": "accept", "args": {}}],
    [{"type": "accept", "remember": "tool"}],
    [{"type": "accept"}, {"type": "accept"}],
    [{"type": "ACCEPT"}],
    [{"type": "approve"}],
    [{"type": ["accept"]}],
    [{"args": None}],
    [[{"type": "accept"}]],
    [None],
    {"type": "accept", "args": None},
    {"decisions": [{"type": "accept"}]},
    {"decisions": [{"type": "accept", "args": None}]},
    {"decisions": [{"type": "approve", "args": []}]},
    {"decisions": [{"type": "approve", "args": "yes"}]},
    {"decisions": [{"type": "approve", "feedback": "yes"}]},
    {"decisions": [{"type": "reject", "feedback": "no", "message": "no"}]},
    {"decisions": [{"type": "response", "args": "done"}]},
    {"decisions": [[{"type": "accept"}]]},
    {"decisions": [{"approved": True}]},
    [{"type": "edit", "args": {"to": "bob"}}],
    [{"type": "edit", "args": None}],
    [{"type": "edit", "args": {"action": "send", "args": "bob"}}],
    [{"type": "edit", "args": {"action": None, "args": {}}}],
    [{"type": "response", "args": None}],
    [{"type": "response", "args": 1}],
    [{"type": "ignore", "args": "no"}],
    {"approved": None},
    {"approved": 1},
    {"approved": "true"},
    {"approved": [True]},
    {"approved": True, "reason": 1},
    {"approved": True, "type": "approve"},
    {"approved": True, "decisions": [{"type": "approve"}]},
    {"__agui_cancelled__": False},
    {"__agui_cancelled__": "true"},
    {"__agui_cancelled__": True, "approved": True},
    {"__agui_resume_map__": {"i": {"status": "resolved", "payload": {"approved": True}}}},
    {"cancelled": True},
    {"status": "cancelled"},
    "cancelled",
    "accept",
]


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


def start(ran: Recorder, mode: Any = "strict") -> Chat:
    send = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))
    turns = [says(call("send", "s", to="ann", share=2.0)), says(call("send", "t", to="bob", share=2.0))]
    talk = chat(turns, [send], gate=ToolGate(answers=mode))
    talk.say()
    return talk


@pytest.fixture
def shown(ran: Recorder) -> ApprovalRequest:
    return start(ran).request


@pytest.mark.parametrize(("sent", "meant"), UNDERSTOOD, ids=[repr(sent) for sent, _ in UNDERSTOOD])
def test_an_answer_of_another_screen_means_what_the_person_meant(
    shown: ApprovalRequest, sent: Any, meant: ApprovalAnswer
) -> None:
    assert read_answer(sent, shown) == meant


@pytest.mark.parametrize(("sent", "meant"), UNDERSTOOD, ids=[repr(sent) for sent, _ in UNDERSTOOD])
def test_it_may_name_its_request(shown: ApprovalRequest, sent: Any, meant: ApprovalAnswer) -> None:
    def named(one: Any) -> Any:
        return {**one, "request_id": "r", "by": "eve"}

    if isinstance(sent, list):
        sent = [named(one) for one in sent]
    elif "decisions" in sent:
        sent = {"decisions": [named(one) for one in sent["decisions"]]}
    else:
        sent = named(sent)
    read = read_answer(sent, shown)
    assert (read.type, read.request_id, read.by) == (meant.type, "r", "eve")


@pytest.mark.parametrize("sent", NOT_UNDERSTOOD, ids=repr)
class TestWhatIsNotUnderstood:
    def test_means_nothing_whether_or_not_it_is_known_what_was_shown(self, shown: ApprovalRequest, sent: Any) -> None:
        for request in (shown, None):
            with pytest.raises(InvalidAnswerError, match=r"\S"):
                read_answer(sent, request)

    def test_is_asked_again_with_the_reason_and_runs_nothing(self, ran: Recorder, sent: Any) -> None:
        talk = start(ran, "lenient")
        talk.resume(sent)
        assert "2 more tries" in talk.request.error
        assert (talk.request.tool_call_id, ran.runs) == ("s", [])
        talk.resume([{"type": "accept", "args": None}])
        assert ran.count("send") == 1


def test_an_approval_that_carries_what_was_shown_needs_somebody_who_knows_that() -> None:
    with pytest.raises(InvalidAnswerError, match="nobody knows what was shown"):
        read_answer([{"type": "accept", "args": SHOWN}])


def test_an_integer_that_a_page_cannot_show_exactly_is_not_approved_by_it(ran: Recorder) -> None:
    send = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))
    talk = chat([says(call("send", "s", amount=2**53 + 1))], [send], gate=ToolGate(answers="lenient"))
    talk.say()
    talk.resume([{"type": "accept", "args": {"action": "send", "args": {"amount": 2**53}}}])
    assert "other arguments" in talk.request.error
    assert ran.runs == []


class TestAnAnswerWithoutAnId:
    @pytest.mark.parametrize("sent", [sent for sent, _ in UNDERSTOOD], ids=repr)
    def test_is_asked_again_by_a_strict_gate(self, ran: Recorder, sent: Any) -> None:
        talk = start(ran)
        talk.resume(sent)
        assert "names no request" in talk.request.error
        assert ran.runs == []

    @pytest.mark.parametrize("sent", [sent for sent, _ in UNDERSTOOD], ids=repr)
    def test_belongs_to_the_request_that_its_reader_was_told(self, shown: ApprovalRequest, sent: Any) -> None:
        assert shown.answer_from(sent).request_id == shown.request_id

    def test_carries_no_memory_whoever_reads_it(self, shown: ApprovalRequest) -> None:
        assert shown.answer_from({"type": "approve", "remember": "arguments"}).remember is None
        named = {"type": "approve", "remember": "arguments", "request_id": shown.request_id}
        assert shown.answer_from(named).remember == Remember("arguments")

    def test_that_names_another_request_stays_an_answer_to_that_one(self, ran: Recorder) -> None:
        talk = start(ran)
        late = talk.request.answer_from([{"type": "accept", "request_id": "another"}])
        assert late.request_id == "another"
        assert talk.gate.answer(talk.agent, talk.config, late).status == "not_pending"
        assert ran.runs == []

    def test_sent_twice_through_the_gate_counts_once(self, ran: Recorder) -> None:
        talk = start(ran)
        answer = talk.request.answer_from([{"type": "accept", "args": SHOWN}])
        assert talk.gate.answer(talk.agent, talk.config, answer).status == "accepted"
        assert talk.gate.answer(talk.agent, talk.config, answer).status == "already_answered"
        assert (ran.count("send"), talk.request.tool_call_id) == (1, "t")


class TestAnAnswerThatNamesItsRequest:
    @pytest.mark.parametrize(
        "shape",
        [
            lambda named: [{"type": "accept", **named}],
            lambda named: {"decisions": [{"type": "approve", "args": None, **named}]},
            lambda named: {"approved": True, **named},
        ],
    )
    def test_goes_through_a_strict_gate_in_any_shape(self, ran: Recorder, shape: Any) -> None:
        for through_the_gate in (True, False):
            talk = start(Recorder() if through_the_gate else ran)
            answer = shape({"request_id": talk.request.request_id})
            if through_the_gate:
                assert talk.gate.answer(talk.agent, talk.config, answer).status == "accepted"
            else:
                talk.resume(answer)
            assert talk.request.tool_call_id == "t"
        assert ran.count("send") == 1

    def test_that_waits_no_more_does_not_reach_the_next_one(self, ran: Recorder) -> None:
        talk = start(ran)
        double = {"approved": True, "request_id": talk.request.request_id}
        talk.resume(double)
        talk.resume(double)
        assert "is not pending" in talk.request.error
        assert (talk.request.tool_call_id, ran.count("send")) == ("t", 1)


@pytest.mark.parametrize("sent", [[{"type": "ignore", "args": None}], {"__agui_cancelled__": True}], ids=repr)
def test_a_no_is_taken_also_where_the_operator_offers_none(ran: Recorder, sent: Any) -> None:
    send = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))
    gate = ToolGate(answers="lenient", approval_rule=ApprovalRule(asks={"send": ("approve", "respond")}))
    talk = chat([says(call("send", "s"))], [send], gate=gate)
    talk.say()
    talk.resume(sent)
    assert (talk.requests, ran.runs) == ([], [])
    assert "rejected" in talk.result("s")


@pytest.mark.parametrize("sent", [sent for sent, meant in UNDERSTOOD if meant.type == "approve"], ids=repr)
def test_an_approver_may_answer_in_the_shape_of_any_screen(ran: Recorder, sent: Any) -> None:
    send = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))
    talk = chat([says(call("send", "s", to="ann", share=2.0))], [send])
    assert drive(talk.agent, {"messages": [("user", "go")]}, talk.config, approver=lambda _: sent).done
    assert ran.count("send") == 1

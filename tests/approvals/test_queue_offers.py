"""What the queue shows of one call: which answers and which memories are possible, and for whom it is asked."""

from dataclasses import replace
from typing import Any

import pytest

from tests.approvals.test_queue import RUN, Asked, Desk, outcomes
from tests.support import call
from toolgate_langchain import ApprovalRequest, Caller
from toolgate_langchain.approvals.answer import read_answer
from toolgate_langchain.approvals.queue import ApprovalQueue
from toolgate_langchain.approvals.steps import run_steps
from toolgate_langchain.approvals.turn import Run, TurnRecord
from toolgate_langchain.policy.decide import call_key


def request(desk: Desk, run: Run = RUN, **saved: Any) -> ApprovalRequest:
    """The request of the turn's first call, with something else saved of it."""
    desk.saved["calls"][0] |= saved
    turn = TurnRecord.from_json(desk.saved)
    assert turn is not None
    queue = ApprovalQueue(desk.gate.judge, run, turn, desk.calls, desk.catalog.get, "strict")

    def ask(value: dict[str, Any]) -> Any:
        raise Asked(value)

    with pytest.raises(Asked) as asked:
        run_steps(queue.ask_all(ask))
    return ApprovalRequest.from_interrupt(asked.value.value)


def offered(name: str = "save", **saved: Any) -> list[tuple[str, str]]:
    return [(offer.what, offer.scope) for offer in request(Desk(call(name, "a", n=1)), **saved).remember]


class TestMemory:
    def test_it_says_in_full_what_it_would_remember(self) -> None:
        assert [offer.text for offer in request(Desk(call("save", "a", n=1))).remember] == [
            'Always allow save with exactly {"n":1} in this conversation',
            'Allow save with exactly {"n":1} until this run ends',
            "Always allow save with any arguments in this conversation",
            "Allow save with any arguments until this run ends",
        ]

    def test_this_tool_is_not_offered_where_the_profile_does_not_say_so(self) -> None:
        assert offered("send") == [("arguments", "thread"), ("arguments", "run")]

    def test_exact_arguments_are_not_offered_where_they_are_not_exact(self) -> None:
        assert offered(exact=False) == [("tool", "thread"), ("tool", "run")]
        assert offered("send", exact=False) == []

    @pytest.mark.parametrize(
        "saved",
        [{"memory": "never"}, {"warnings": ["hidden"]}, {"must_ask": True}, {"code": "input_required"}],
        ids=repr,
    )
    def test_nothing_is_offered_where_nothing_may_be_remembered(self, saved: dict[str, Any]) -> None:
        assert len(offered()) == 4
        assert offered(**saved) == []


class TestTheRequest:
    def test_names_the_answers_that_are_possible(self) -> None:
        assert request(Desk(call("save", "a", n=1))).allowed == ("approve", "edit", "reject", "respond")

    def test_an_edit_is_not_possible_where_a_person_fills_in_the_input(self) -> None:
        form = {"type": "object", "properties": {"n": {}}}
        asked = request(Desk(call("save", "a", n=1)), code="input_required", input_schema=form)
        assert (asked.allowed, asked.input_schema) == (("approve", "reject", "respond"), form)

    def test_names_tier_caller_and_how_to_classify_a_local_tool(self) -> None:
        asked = request(Desk(call("save", "a", n=1)))
        assert (asked.tier, asked.caller, asked.hint) == ("routine", None, "")
        run = replace(RUN, context=replace(RUN.context, caller=Caller("ann")))
        asked = request(Desk(call("save", "a", n=1)), run, tier=None)
        assert (asked.tier, asked.caller) == ("unclassified", "ann")
        assert asked.hint.startswith("save is unclassified. To classify it: @tool_profile(tier=")
        assert request(Desk(call("save", "a", n=1)), tier=None, origin="server:a").hint == ""

    def test_shows_the_effective_arguments_where_they_are_not_the_models_own(self) -> None:
        assert request(Desk(call("save", "a", n=1))).arguments == {"n": 1}
        assert request(Desk(call("save", "a", n=1)), arguments={"n": 2}).arguments == {"n": 2}
        assert request(Desk(call("save", "a", n=1)), arguments={}).arguments == {}


@pytest.mark.parametrize("origin", ["local", "server:a"])
def test_what_a_person_rejects_has_the_key_that_the_decision_looks_for(origin: str) -> None:
    """The queue makes it from what was saved of the tool, the decision from the tool itself."""
    desk = Desk(call("send", "a", n=1))
    desk.saved["calls"][0]["origin"] = origin
    outcomes(desk.replay(desk.no("a")))
    entry = desk.catalog.get("send")
    assert entry is not None
    entry.origin = origin
    assert desk.ledger.memory("run").rejected == {call_key(entry, {"n": 1})}


def test_only_a_persons_approval_or_edit_starts_the_count_again() -> None:
    for kind, count in (("approve", 0), ("edit", 0), ("reject", 1), ("respond", 1)):
        desk = Desk(call("send", "a", n=1))
        desk.ledger.note_auto_approved("run", "earlier")
        answer: dict[str, Any] = {"type": kind, "request_id": desk.request_id("a")}
        if kind == "edit":
            answer["edited_action"] = {"name": "send", "args": {"n": 2}}
        if kind == "respond":
            answer["message"] = "not needed"
        outcomes(desk.replay(answer))
        assert desk.ledger.memory("run").auto_approved_turns == count


def test_an_approval_that_was_taken_back_before_the_turn_is_settled_leaves_no_rule_for_the_state() -> None:
    desk = Desk(call("save", "a", n=1))
    turn = TurnRecord.from_json(desk.saved)
    assert turn is not None
    desk.ledger.answer(desk.request_id("a"), read_answer(desk.yes("a", remember="tool")), thread_id="thread")
    desk.ledger.answer(desk.request_id("a"), read_answer(desk.no("a")))
    queue = ApprovalQueue(desk.gate.judge, RUN, turn, desk.calls, desk.catalog.get, "strict")
    run_steps(queue.ask_all(lambda _: desk.yes("a", remember="tool")))
    assert outcomes(turn) == ["rejected"]
    assert queue.new_rules == []

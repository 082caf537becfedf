"""How far what an answer remembers can reach: never past an approval that was taken back, nor past who and where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.approvals.test_queue import RUN, Asked, Desk, outcomes
from tests.support import call
from toolgate_langchain import Caller
from toolgate_langchain.approvals.queue import ApprovalQueue
from toolgate_langchain.approvals.steps import run_steps
from toolgate_langchain.approvals.turn import Run, TurnRecord

ALONE = replace(RUN, thread_id=None)
ANNS = replace(RUN, context=replace(RUN.context, caller=Caller("ann")))


def answered(desk: Desk, run: Run, *answers: Any) -> tuple[TurnRecord, ApprovalQueue, str]:
    """The turn, its queue, and what is wrong with the last answer where it is asked again."""
    turn = TurnRecord.from_json(desk.saved)
    assert turn is not None
    queue = ApprovalQueue(desk.gate.judge, run, turn, desk.calls, desk.catalog.get, "strict")
    given: Iterator[Any] = iter(answers)

    def ask(value: dict[str, Any]) -> Any:
        for answer in given:
            return answer
        raise Asked(value)

    try:
        run_steps(queue.ask_all(ask))
    except Asked as asked:
        return turn, queue, str(asked.value["toolgate"]["error"])
    return turn, queue, ""


def test_a_memory_that_was_taken_back_clears_nothing_that_comes_after() -> None:
    desk = Desk(call("save", "a", n=1), call("send", "b"), call("save", "c", n=2))
    always = desk.yes("a", remember="tool")
    assert outcomes(desk.replay(always, desk.yes("b"))) == ["approved", "approved", "released"]
    other = Desk(call("save", "a", n=1), call("send", "b"), call("save", "c", n=2))
    taken_back = (other.yes("a", remember="tool"), other.no("a"), other.yes("b"))
    assert other.replay(*taken_back) == "c"
    assert outcomes(other.replay(*taken_back, other.yes("c"))) == ["rejected", "approved", "approved"]


def test_nothing_is_left_to_be_written_of_a_memory_that_was_taken_back() -> None:
    desk = Desk(call("save", "a", n=1), call("send", "b"))
    _, queue, _ = answered(desk, RUN, desk.yes("a", remember="tool"), desk.no("a"), desk.yes("b"))
    assert queue.new_rules == []


class TestForbidding:
    """A person may forbid more than could be permitted, as far as there is something to forbid it in."""

    @pytest.mark.parametrize("what", ["arguments", "tool"])
    def test_in_all_conversations_where_the_caller_is_known(self, what: str) -> None:
        desk = Desk(call("send", "a", n=1))
        desk.saved["calls"][0]["memory"] = "never"
        turn, _, _ = answered(desk, ANNS, desk.no("a", remember={"what": what, "scope": "user"}))
        assert outcomes(turn) == ["rejected"]
        (rule,) = desk.ledger.user_rules("ann")
        assert (rule.effect, rule.caller, rule.arguments) == ("deny", "ann", {"n": 1} if what == "arguments" else None)

    def test_but_not_where_nobody_knows_whose_conversations(self) -> None:
        desk = Desk(call("send", "a", n=1))
        _, _, wrong = answered(desk, RUN, desk.no("a", remember={"what": "tool", "scope": "user"}))
        assert "tool (user) is not offered here" in wrong

    def test_and_not_in_a_conversation_that_has_no_name(self) -> None:
        desk = Desk(call("send", "a", n=1))
        _, _, wrong = answered(desk, ALONE, desk.no("a", remember={"what": "tool", "scope": "thread"}))
        assert "tool (thread) is not offered here; offered: arguments (run), tool (run)." in wrong

    def test_until_the_run_ends_also_there(self) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=2))
        turn, queue, _ = answered(desk, ALONE, desk.no("a", remember={"what": "tool", "scope": "run"}))
        assert outcomes(turn) == ["rejected", "refused"]
        assert [(rule.effect, rule.scope, rule.run_id) for rule in queue.new_rules] == [("deny", "run", "run")]
        assert list(desk.ledger.thread_rules("None")) == []

"""The queue of one turn on its own: what it asks depends on the saved turn and the answers so far, and nothing else."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import ToolCall

from tests.support import Recorder, call
from toolgate_langchain import InMemoryLedger, Surface, Tier, ToolCatalog, ToolGate, ToolProfile
from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.approvals.queue import AnswerMode, ApprovalQueue
from toolgate_langchain.approvals.rules import RuleIndex
from toolgate_langchain.approvals.steps import run_steps
from toolgate_langchain.approvals.turn import Run, TurnRecord
from toolgate_langchain.policy.context import RunContext

RUN = Run("run", RunContext(Surface("chat")), "thread")


class Asked(Exception):
    """No more answers: the run is suspended with this request."""

    def __init__(self, value: dict[str, Any]) -> None:
        super().__init__(value["toolgate"]["request_id"])
        self.value = value


class Desk:
    """A turn that was judged and saved, and a way to replay its queue with some answers."""

    def __init__(self, *calls: ToolCall, mode: AnswerMode = "strict") -> None:
        ran = Recorder()
        self.catalog = ToolCatalog.from_tools(
            [
                ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL)),
                ran.tool("save", ToolProfile(tier=Tier.ROUTINE)),
                ran.tool("read", ToolProfile(tier=Tier.READ_ONLY)),
            ]
        )
        self.ledger = InMemoryLedger()
        self.gate = ToolGate(self.catalog, ledger=self.ledger)
        self.calls, self.mode = list(calls), mode
        turn = run_steps(self.gate.judge.judge(RUN, "m", self.calls, self.catalog.get, RuleIndex()))
        assert turn is not None
        self.saved = turn.to_json()
        self.turn = turn
        self.questions: list[dict[str, Any]] = []

    def request_id(self, call_id: str) -> str:
        record = self.turn.call(call_id)
        assert record is not None
        return record.request_id

    def replay(self, *answers: Any, known: bool = True) -> TurnRecord | str:
        """Run the queue from the saved turn: the settled turn, or the id of the call that it waits for."""
        turn = TurnRecord.from_json(self.saved)
        assert turn is not None
        find = self.catalog.get if known else lambda _: None
        queue = ApprovalQueue(self.gate.judge, RUN, turn, self.calls, find, self.mode)
        given: Iterator[Any] = iter(answers)
        self.questions = []

        def ask(value: dict[str, Any]) -> Any:
            self.questions.append(value)
            for answer in given:
                return answer
            raise Asked(value)

        try:
            run_steps(queue.ask_all(ask))
        except Asked as asked:
            return str(asked.value["tool_call_id"])
        self.turn = turn
        return turn

    def yes(self, call_id: str, **more: Any) -> dict[str, Any]:
        return {"type": "approve", "request_id": self.request_id(call_id), **more}

    def no(self, call_id: str, **more: Any) -> dict[str, Any]:
        return {"type": "reject", "request_id": self.request_id(call_id), **more}


def outcomes(turn: TurnRecord | str) -> list[str]:
    assert isinstance(turn, TurnRecord)
    assert turn.settled
    return [record.outcome for record in turn.calls]


def test_it_asks_one_at_a_time_in_the_models_order_and_only_where_a_person_is_needed() -> None:
    desk = Desk(call("send", "a", n=1), call("read", "b"), call("save", "c"))
    assert desk.replay() == "a"
    assert desk.replay(desk.yes("a")) == "c"
    assert [one["toolgate"]["queue"] for one in desk.questions] == [{"position": n, "of": 2} for n in (1, 2)]
    assert outcomes(desk.replay(desk.yes("a"), desk.no("c"))) == ["approved", "released", "rejected"]


@pytest.mark.parametrize("known", [True, False], ids=["same process", "a process that has met no tool"])
def test_replayed_it_asks_the_same_questions_with_the_same_words(known: bool) -> None:
    desk = Desk(call("send", "a", n=1), call("save", "b", n=2), call("save", "c", n=2))
    answers: list[Any] = [desk.yes("a"), "nonsense", desk.no("a"), desk.yes("b", remember="arguments")]
    questions = []
    for _ in range(2):
        assert outcomes(desk.replay(*answers)) == ["rejected", "approved", "released"]
        questions.append(desk.questions)
    desk.replay(*answers, known=known)
    assert desk.questions == questions[0] == questions[1]
    assert len(desk.questions) == 4


def test_grants_are_issued_when_the_whole_turn_is_answered_and_not_before() -> None:
    desk = Desk(call("send", "a", n=1), call("send", "b", n=2))
    desk.replay(desk.yes("a"))
    assert desk.ledger.status(desk.request_id("a")) is None
    desk.replay(desk.yes("a"), desk.no("b"))
    assert desk.ledger.status(desk.request_id("a")) is GrantStatus.ISSUED
    assert desk.ledger.status(desk.request_id("b")) is None


def test_an_answer_to_another_request_is_neither_taken_nor_counted_as_unusable() -> None:
    desk = Desk(call("send", "a", n=1), call("send", "b", n=2))
    assert desk.replay(*[desk.yes("b")] * 5) == "a"
    assert "is not pending" in desk.questions[-1]["toolgate"]["error"]
    assert outcomes(desk.replay(*[desk.yes("b")] * 5, desk.no("a"), desk.no("b"))) == ["rejected", "rejected"]


def test_an_approval_is_taken_back_by_a_later_rejection_but_not_the_other_way_round() -> None:
    desk = Desk(call("send", "a", n=1), call("send", "b", n=2))
    assert outcomes(desk.replay(desk.yes("a"), desk.no("a"), desk.yes("b"))) == ["rejected", "approved"]
    other = Desk(call("send", "a", n=1), call("send", "b", n=2))
    assert outcomes(other.replay(other.no("a"), other.yes("a"), other.yes("b"))) == ["rejected", "approved"]


def test_a_rule_of_an_approval_that_is_taken_back_goes_with_it() -> None:
    desk = Desk(call("save", "a", n=1), call("send", "b"))
    desk.replay(desk.yes("a", remember="tool"))
    assert len(desk.ledger.thread_rules("thread")) == 1
    desk.replay(desk.yes("a", remember="tool"), desk.no("a"), desk.yes("b"))
    assert desk.ledger.thread_rules("thread") == []


class TestMemory:
    @pytest.mark.parametrize(
        ("name", "remember", "fits"),
        [
            ("save", "tool", True),
            ("save", "arguments", True),
            ("send", "arguments", True),
            ("send", "tool", False),
            ("save", {"what": "tool", "scope": "run"}, True),
            ("send", {"what": "arguments", "scope": "run", "expires_in": 60}, True),
        ],
        ids=repr,
    )
    def test_only_what_was_offered_can_be_remembered(self, name: str, remember: Any, fits: bool) -> None:
        desk = Desk(call(name, "a", n=1))
        assert (desk.replay(desk.yes("a", remember=remember)) != "a") is fits
        assert bool(desk.ledger.thread_rules("thread")) is fits

    def test_a_rejection_makes_a_deny_and_never_an_allow(self) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=2))
        turn = desk.replay(desk.no("a", remember="tool"))
        assert isinstance(turn, TurnRecord)
        assert [(record.outcome, record.code) for record in turn.calls] == [
            ("rejected", "rejected"),
            ("refused", "standing_deny"),
        ]
        assert [one.effect for one in desk.ledger.thread_rules("thread")] == ["deny"]


class TestLenient:
    """For screens that cannot send an id: the answer goes to what is pending, and carries no memory."""

    def test_an_answer_without_an_id_answers_what_is_pending(self) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=2), mode="lenient")
        assert outcomes(desk.replay({"type": "approve"}, {"type": "reject"})) == ["approved", "rejected"]

    def test_it_carries_no_memory(self) -> None:
        desk = Desk(call("save", "a", n=1), call("save", "b", n=1), mode="lenient")
        assert desk.replay({"type": "approve", "remember": "tool"}) == "b"
        assert desk.ledger.thread_rules("thread") == ()

    def test_an_answer_that_names_another_request_is_still_not_for_this_one(self) -> None:
        desk = Desk(call("send", "a", n=1), mode="lenient")
        assert desk.replay({"type": "approve", "request_id": "other"}) == "a"

    def test_strict_takes_none_without(self) -> None:
        desk = Desk(call("send", "a", n=1))
        assert desk.replay({"type": "approve"}) == "a"
        assert "names no request" in desk.questions[-1]["toolgate"]["error"]


class TestAnEditInAProcessThatHasNotMetTheTool:
    def test_it_is_checked_against_the_saved_schema_and_bound_to_its_arguments(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        desk = Desk(call("send", "a", n=1))
        desk.catalog = ToolCatalog.from_tools(
            [Recorder().tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL), schema=schema)]
        )
        turn = run_steps(desk.gate.judge.judge(RUN, "m", desk.calls, desk.catalog.get, RuleIndex()))
        assert turn is not None
        desk.saved, desk.turn = turn.to_json(), turn
        request_id = desk.request_id("a")

        def edit(n: Any) -> dict[str, Any]:
            return {"type": "edit", "request_id": request_id, "edited_action": {"name": "send", "args": {"n": n}}}

        assert desk.replay(edit("many"), known=False) == "a"
        assert "'many' is not of type 'integer'" in desk.questions[-1]["toolgate"]["error"]
        settled = [desk.replay(edit(2), known=False), desk.replay(edit(2))]
        assert [outcomes(turn) for turn in settled] == [["edited"], ["edited"]]
        digests = {turn.calls[0].digest for turn in settled if isinstance(turn, TurnRecord)}
        assert len(digests) == 1
        asked = TurnRecord.from_json(desk.saved)
        assert asked is not None
        assert asked.calls[0].digest not in digests

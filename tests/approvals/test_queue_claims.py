"""What a queue claims, and when: each answer before it is taken in, the turn before anything is granted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.approvals.test_queue import RUN, Asked, Desk, outcomes
from tests.support import call
from toolgate_langchain.approvals.answer import read_answer
from toolgate_langchain.approvals.carrying import AtOnce
from toolgate_langchain.approvals.queue import ApprovalQueue
from toolgate_langchain.approvals.steps import Steps, run_steps
from toolgate_langchain.approvals.turn import TurnRecord
from toolgate_langchain.errors import AlreadyAnsweredError, LedgerError


class Noting(AtOnce):
    """Claims as the queue of one worker does, notes it, and loses the claim at its `lost`-th last look."""

    def __init__(self, *, coming: bool = True, lost: int = 0, behind: Sequence[Any] = ()) -> None:
        self.noted: list[tuple[str, ...]] = []
        self._coming, self._lost, self._looks, self._behind = coming, lost, 0, behind

    def coming(self, request_id: str) -> bool:
        return self._coming

    def following(self, further: int = 0) -> Any:
        return self._behind[further] if further < len(self._behind) else None

    def take(self, request_id: str, *, on_record: bool = False) -> Steps[None]:
        self.noted.append(("take on record" if on_record else "take", request_id))
        return super().take(request_id, on_record=on_record)

    def settle(self, turn_id: str) -> Steps[None]:
        self.noted.append(("settle", turn_id))
        return super().settle(turn_id)

    def still_mine(self) -> Steps[None]:
        self.noted.append(("still mine",))
        self._looks += 1
        if self._looks == self._lost:
            raise AlreadyAnsweredError("somebody else has it")
        return super().still_mine()

    def give_back(self, request_id: str) -> Steps[None]:
        self.noted.append(("give back", request_id))
        return super().give_back(request_id)

    def failed(self) -> Steps[None]:
        self.noted.append(("failed",))
        return super().failed()


def go_through(desk: Desk, carrying: Noting, *answers: Any, error: type[Exception] = Asked) -> TurnRecord:
    """The turn as the queue leaves it; where the answers end, `error` is raised, which `Asked` alone makes a pause."""
    turn = TurnRecord.from_json(desk.saved)
    assert turn is not None
    desk.turn, desk.questions = turn, []
    given: Iterator[Any] = iter(answers)

    def ask(value: dict[str, Any]) -> Any:
        desk.questions.append(value)
        for answer in given:
            return answer
        raise Asked(value) if error is Asked else error("the screen is gone")

    queue = ApprovalQueue(
        desk.gate.judge, RUN, turn, desk.calls, desk.catalog.get, "strict", pauses=(Asked,), carrying=carrying
    )
    run_steps(queue.ask_all(ask))
    return turn


def two() -> tuple[Desk, str, str]:
    desk = Desk(call("send", "a", n=1), call("save", "b"))
    return desk, desk.request_id("a"), desk.request_id("b")


def test_each_answer_is_claimed_in_turn_and_then_the_turn_and_it_is_looked_at_twice_whether_it_still_is() -> None:
    (desk, a, b), carrying = two(), Noting()
    turn = go_through(desk, carrying, desk.yes("a"), desk.no("b"))
    assert outcomes(turn) == ["approved", "rejected"]
    assert carrying.noted == [
        ("take", a), ("take", b), ("settle", turn.turn_id), ("still mine",), ("still mine",),
    ]  # fmt: skip


def test_a_turn_that_waited_for_nobody_needs_no_claim_to_be_settled() -> None:
    desk, carrying = Desk(call("save", "a")), Noting()
    desk.saved["calls"][0] |= {"verdict": "allow", "outcome": "released"}
    assert go_through(desk, carrying).settled
    assert not [noted for noted in carrying.noted if noted[0] in ("take", "settle")]


def test_a_worker_that_lost_its_claim_grants_nothing() -> None:
    (desk, a, _), carrying = two(), Noting(lost=1)
    with pytest.raises(AlreadyAnsweredError):
        go_through(desk, carrying, desk.yes("a"), desk.yes("b"))
    assert desk.ledger.status(a) is None and not desk.turn.settled
    assert carrying.noted[-1] == ("failed",)


def test_one_that_loses_it_while_it_grants_saves_nothing() -> None:
    (desk, _, __), carrying = two(), Noting(lost=2)
    with pytest.raises(AlreadyAnsweredError):
        go_through(desk, carrying, desk.yes("a"), desk.yes("b"))
    assert not desk.turn.settled and carrying.noted[-1] == ("failed",)


def test_a_pause_leaves_the_request_where_anybody_can_find_it_and_is_no_failure() -> None:
    (desk, a, b), carrying = two(), Noting()
    with pytest.raises(Asked):
        go_through(desk, carrying, desk.yes("a"))
    assert [waiting.request.request_id for waiting in desk.ledger.pending()] == [b]
    assert carrying.noted == [("take", a)]


def test_an_error_gives_up_what_was_claimed() -> None:
    (desk, a, _), carrying = two(), Noting()
    with pytest.raises(RuntimeError, match="the screen is gone"):
        go_through(desk, carrying, desk.yes("a"), error=RuntimeError)
    assert carrying.noted == [("take", a), ("failed",)]


def test_answers_that_cannot_be_used_are_counted_down_and_given_back_and_the_refusal_is_claimed() -> None:
    desk, carrying = Desk(call("send", "a", n=1)), Noting()
    a = desk.request_id("a")
    turn = go_through(desk, carrying, "yes", desk.yes("a", remember="tool"), {"type": "APPROVE"})
    assert [record.code for record in turn.calls] == ["bad_answers"]
    assert turn.calls[0].reason.startswith("3 unusable answers; the last: ")
    first, second, third = [str(one["toolgate"]["error"] or "") for one in desk.questions]
    assert first == ""
    assert second.endswith("2 more tries, then it is denied.") and third.endswith("1 more try, then it is denied.")
    assert carrying.noted[:2] == [("give back", a), ("take", a)]


def test_nobody_is_asked_again_for_what_a_worker_that_died_had_recorded() -> None:
    (desk, a, b), carrying = two(), Noting(coming=False)
    desk.ledger.answer(a, read_answer(desk.yes("a")), thread_id="thread")
    turn = go_through(desk, carrying, desk.no("b"))
    assert outcomes(turn) == ["approved", "rejected"]
    assert [one["tool_call_id"] for one in desk.questions] == ["b"]
    assert carrying.noted[:2] == [("take on record", a), ("take", b)]


def test_and_it_can_still_be_taken_back_by_a_no_that_names_it() -> None:
    (desk, a, _), carrying = two(), Noting(coming=False)
    desk.ledger.answer(a, read_answer(desk.yes("a")), thread_id="thread")
    turn = go_through(desk, carrying, desk.no("a"), desk.yes("b"))
    assert outcomes(turn) == ["rejected", "approved"]


def test_a_no_behind_all_that_was_asked_takes_back_what_was_on_record() -> None:
    desk = Desk(call("send", "a", n=1))
    desk.ledger.answer(desk.request_id("a"), read_answer(desk.yes("a")), thread_id="thread")
    turn = go_through(desk, Noting(coming=False, behind=["nonsense", desk.no("a", message="wait")]))
    assert (outcomes(turn), turn.calls[0].message) == (["rejected"], "wait")


class TestAnAnswerThatWasLeftInTheLedger:
    @staticmethod
    def left(desk: Desk, **more: Any) -> dict[str, Any]:
        """Left for a request that was shown, and not yet carried to its run."""
        with pytest.raises(Asked):
            go_through(desk, Noting())
        a = desk.request_id("a")
        (waiting,) = desk.ledger.pending()
        answer = desk.yes("a", **more)
        desk.ledger.leave_answer(a, read_answer(answer), digest=waiting.request.digest)
        assert desk.ledger.pending() == []
        return answer

    def test_waits_there_until_it_is_carried_and_is_not_taken_for_what_a_dead_worker_recorded(self) -> None:
        desk = Desk(call("send", "a", n=1))
        self.left(desk)
        with pytest.raises(Asked):
            go_through(desk, Noting(coming=False))

    def test_and_cannot_be_used_makes_the_request_wait_there_again(self) -> None:
        desk = Desk(call("send", "a", n=1))
        answer = self.left(desk, remember="tool")
        with pytest.raises(Asked, match=desk.request_id("a")):
            go_through(desk, Noting(), answer)
        assert [waiting.request.request_id for waiting in desk.ledger.pending()] == [desk.request_id("a")]
        assert desk.ledger.left_answers() == []


def test_an_answer_that_was_refused_when_it_was_given_is_refused_again_where_another_came_after_it() -> None:
    """It may have become usable meanwhile; the answers behind it were given to this request, and not to the next."""
    desk = Desk(call("send", "a", n=1))
    with pytest.raises(Asked):
        go_through(desk, Noting())
    turn = go_through(desk, Noting(behind=[desk.no("a")]), desk.yes("a"), desk.no("a", by="ann"))
    assert (outcomes(turn), turn.calls[0].by) == (["rejected"], "ann")
    assert "it was refused when it was given" in desk.questions[1]["toolgate"]["error"]


def test_nobody_is_asked_any_more_about_what_was_refused_for_its_answers() -> None:
    desk = Desk(call("send", "a", n=1))
    with pytest.raises(Asked):
        go_through(desk, Noting())
    assert len(desk.ledger.pending()) == 1
    go_through(desk, Noting(), "yes", "yes", "yes")
    assert desk.ledger.pending() == []


def test_a_call_that_runs_as_the_model_wrote_it_is_not_taken_for_the_very_call_that_was_rejected() -> None:
    """Its tool makes something else of its arguments each time."""
    desk = Desk(call("send", "a", n=1), call("send", "b", n=1))
    desk.saved["calls"][1]["exact"] = False
    assert desk.replay(desk.no("a")) == "b"


def test_a_turn_that_was_judged_with_another_ledger_is_not_gone_on_with() -> None:
    (desk, _, __), carrying = two(), Noting()
    desk.saved["ledger"] = "another one"
    with pytest.raises(LedgerError, match="judged with another ledger"):
        go_through(desk, carrying, desk.yes("a"), desk.yes("b"))
    assert (desk.questions, carrying.noted) == ([], [])

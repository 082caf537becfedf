"""The ledger where things are said again or out of order: replays, late rejections, ends without a start."""

import pytest

from toolgate_langchain import ApprovalAnswer, InMemoryLedger
from toolgate_langchain.approvals.attempts import CallEnd, CallStart
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, StartStatus

YES = ApprovalAnswer(request_id="r", type="approve")
ENDS = [GrantStatus.FINISHED, GrantStatus.FAILED, GrantStatus.PAUSED]


def no(why: str | None = None) -> ApprovalAnswer:
    return ApprovalAnswer(request_id="r", type="reject", message=why)


class TestAnswers:
    def test_a_rejection_said_again_changes_nothing(self, ledger: InMemoryLedger) -> None:
        assert ledger.answer("r", no("first"), thread_id="thread") is AnswerStatus.RECORDED
        assert ledger.answer("r", no("second"), thread_id="thread") is AnswerStatus.REPEATED
        assert ledger.answer_to("r") == no("first")
        assert ledger.taken_back("thread") == frozenset()

    def test_a_rejection_is_not_too_late_where_the_grant_was_withdrawn_before(self, ledger: InMemoryLedger) -> None:
        """As where the user wrote something else meanwhile: nothing has run."""
        ledger.answer("r", YES, thread_id="thread")
        ledger.grant("r", "d")
        ledger.withdraw(["r"])
        assert ledger.answer("r", no()) is AnswerStatus.WITHDRAWN
        assert ledger.answer_to("r") == no()
        assert ledger.taken_back("thread") == {"r"}
        assert ledger.status("r") is GrantStatus.WITHDRAWN

    def test_what_is_taken_back_is_taken_back_on_its_own_thread_alone(self, ledger: InMemoryLedger) -> None:
        for request_id, thread in (("a", "one"), ("b", "one"), ("c", "two"), ("d", None)):
            ledger.answer(request_id, YES, thread_id=thread)
            assert ledger.answer(request_id, no()) is AnswerStatus.WITHDRAWN
        assert ledger.taken_back("one") == {"a", "b"}
        assert ledger.taken_back("two") == {"c"}
        assert ledger.taken_back("three") == frozenset()


class TestGrants:
    def test_a_call_that_is_repeated_has_started_again(self, ledger: InMemoryLedger) -> None:
        """So that its rejection still comes too late, and its second end is recorded."""
        ledger.grant("r", "d")
        first, second = (CallStart("r", "d", needs_grant=True, repeatable=True) for _ in range(2))
        ledger.start(first)
        ledger.end(first.ended(GrantStatus.FAILED))
        assert ledger.start(second) is StartStatus.STARTED
        assert ledger.status("r") is GrantStatus.STARTED
        ledger.end(second.ended(GrantStatus.FINISHED))
        assert ledger.status("r") is GrantStatus.FINISHED

    @pytest.mark.parametrize("end", ENDS)
    def test_what_never_started_does_not_end(self, ledger: InMemoryLedger, end: GrantStatus) -> None:
        never = CallStart("r", "d", needs_grant=True, repeatable=False)
        assert ledger.end(CallEnd("unknown", "attempt", end)) is False
        assert ledger.status("unknown") is None
        ledger.grant("r", "d")
        assert ledger.end(never.ended(end)) is False
        assert ledger.status("r") is GrantStatus.ISSUED
        ledger.withdraw(["r"])
        assert ledger.end(never.ended(end)) is False
        assert ledger.status("r") is GrantStatus.WITHDRAWN

    @pytest.mark.parametrize("first", [GrantStatus.FINISHED, GrantStatus.FAILED])
    @pytest.mark.parametrize("second", ENDS)
    def test_what_ended_does_not_end_otherwise(
        self, ledger: InMemoryLedger, first: GrantStatus, second: GrantStatus
    ) -> None:
        """In particular it does not become a pause, from which it could be entered again."""
        call = CallStart("r", "d", needs_grant=False, repeatable=False)
        ledger.start(call)
        assert ledger.end(call.ended(first)) is True
        ledger.end(call.ended(second))
        assert ledger.status("r") is first

    def test_a_withdrawn_grant_starts_not_even_where_the_call_may_be_repeated(self, ledger: InMemoryLedger) -> None:
        ledger.grant("r", "d")
        ledger.withdraw(["r"])
        assert ledger.start(CallStart("r", "d", needs_grant=True, repeatable=True)) is not StartStatus.STARTED
        assert ledger.status("r") is GrantStatus.WITHDRAWN


class TestTheCount:
    def test_a_turn_that_was_counted_is_not_counted_again_after_a_person_approved(self, ledger: InMemoryLedger) -> None:
        for turn in ("a", "b", "a"):
            ledger.note_auto_approved("run", turn)
        assert ledger.memory("run").auto_approved_turns == 2
        ledger.note_person("run", "r")
        assert ledger.memory("run").auto_approved_turns == 0
        ledger.note_auto_approved("run", "a")
        assert ledger.memory("run").auto_approved_turns == 0
        ledger.note_auto_approved("run", "c")
        assert ledger.memory("run").auto_approved_turns == 1

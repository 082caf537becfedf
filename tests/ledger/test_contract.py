"""What every ledger promises, wherever it keeps things: first answers, grants used once, and the memory of a run."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest

from tests.cores import every_core
from toolgate_langchain import ApprovalAnswer, InMemoryLedger
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, StartStatus

APPROVE = ApprovalAnswer(type="approve")
REJECT = ApprovalAnswer(type="reject")
ENDS: list[GrantStatus] = [GrantStatus.FINISHED, GrantStatus.FAILED, GrantStatus.PAUSED]


class TestAnswers:
    def test_the_first_answer_stands(self, ledger: InMemoryLedger) -> None:
        edit = ApprovalAnswer(type="edit", edited_arguments={})
        assert ledger.answer("r", edit) is AnswerStatus.RECORDED
        assert ledger.answer("r", APPROVE) is AnswerStatus.REPEATED
        assert ledger.answer_to("r") == edit

    def test_a_rejection_takes_an_unused_approval_back_and_stands(self, ledger: InMemoryLedger) -> None:
        ledger.answer("r", APPROVE)
        ledger.grant("r", "digest")
        assert ledger.answer("r", REJECT) is AnswerStatus.WITHDRAWN
        assert ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=False)) is StartStatus.WITHDRAWN
        assert ledger.answer("r", APPROVE) is AnswerStatus.REPEATED
        assert ledger.answer_to("r") == REJECT

    def test_a_grant_that_is_issued_after_the_rejection_is_still_none(self, ledger: InMemoryLedger) -> None:
        ledger.withdraw(["r"])
        ledger.grant("r", "digest")
        assert ledger.status("r") is GrantStatus.WITHDRAWN

    @pytest.mark.parametrize("end", [None, *ENDS])
    def test_after_the_start_a_rejection_comes_too_late(self, ledger: InMemoryLedger, end: GrantStatus | None) -> None:
        ledger.answer("r", APPROVE)
        ledger.grant("r", "digest")
        call = CallStart("r", "digest", needs_grant=True, repeatable=False)
        ledger.start(call)
        if end is not None:
            ledger.end(call.ended(end))
        assert ledger.answer("r", REJECT) is AnswerStatus.TOO_LATE
        assert ledger.answer_to("r") == APPROVE

    def test_the_thread_of_the_first_answer_is_kept(self, ledger: InMemoryLedger) -> None:
        assert ledger.thread_of("r") is None
        ledger.answer("r", APPROVE, thread_id="here")
        ledger.answer("r", REJECT, thread_id="elsewhere")
        assert ledger.thread_of("r") == "here"

    def test_the_time_of_the_first_answer_is_kept(self, ledger: InMemoryLedger) -> None:
        first = datetime(2026, 1, 2, tzinfo=UTC)
        assert ledger.answered_at("r") is None
        ledger.answer("r", APPROVE, at=first)
        ledger.answer("r", APPROVE, at=first + timedelta(hours=1))
        assert ledger.answered_at("r") == first


class TestGrants:
    def test_one_start_per_grant(self, ledger: InMemoryLedger) -> None:
        ledger.grant("r", "digest")
        starts = [ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=False)) for _ in range(3)]
        assert starts == [StartStatus.STARTED, StartStatus.USED, StartStatus.USED]

    def test_without_a_grant_nothing_starts_that_needs_one(self, ledger: InMemoryLedger) -> None:
        assert ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=True)) is StartStatus.MISSING
        assert ledger.status("r") is None

    def test_where_nobody_had_to_be_asked_the_first_to_start_wins(self, ledger: InMemoryLedger) -> None:
        starts = [ledger.start(CallStart("r", "digest", needs_grant=False, repeatable=False)) for _ in range(2)]
        assert starts == [StartStatus.STARTED, StartStatus.USED]

    def test_a_grant_is_for_one_digest(self, ledger: InMemoryLedger) -> None:
        ledger.grant("r", "digest")
        assert ledger.start(CallStart("r", "other", needs_grant=True, repeatable=True)) is StartStatus.MISMATCH
        assert ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=False)) is StartStatus.STARTED

    def test_issuing_again_changes_nothing(self, ledger: InMemoryLedger) -> None:
        ledger.grant("r", "digest")
        ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=False))
        ledger.grant("r", "other")
        assert ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=False)) is StartStatus.USED

    def test_a_call_that_paused_inside_enters_again_once(self, ledger: InMemoryLedger) -> None:
        ledger.grant("r", "digest")
        call = CallStart("r", "digest", needs_grant=True, repeatable=False)
        ledger.start(call)
        ledger.end(call.ended(GrantStatus.PAUSED))
        starts = [ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=False)) for _ in range(2)]
        assert starts == [StartStatus.REENTERED, StartStatus.USED]

    @pytest.mark.parametrize("end", [GrantStatus.FINISHED, GrantStatus.FAILED])
    def test_a_call_that_ended_starts_again_only_where_it_may_be_repeated(
        self, ledger: InMemoryLedger, end: GrantStatus
    ) -> None:
        ledger.grant("r", "digest")
        call = CallStart("r", "digest", needs_grant=True, repeatable=True)
        ledger.start(call)
        ledger.end(call.ended(end))
        assert ledger.status("r") is end
        assert ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=False)) is StartStatus.USED
        assert ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=True)) is StartStatus.STARTED

    @every_core()
    def test_of_many_threads_at_once_exactly_one_starts(self, ledger: InMemoryLedger) -> None:
        ledger.grant("r", "digest")
        barrier, starts = threading.Barrier(8), list[StartStatus]()

        def start() -> None:
            barrier.wait()
            starts.append(ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=False)))

        threads = [threading.Thread(target=start) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(status.value for status in starts) == ["started", *["used"] * 7]

    def test_withdrawing_leaves_what_was_used(self, ledger: InMemoryLedger) -> None:
        for request_id in ("used", "unused"):
            ledger.grant(request_id, "digest")
        ledger.start(CallStart("used", "digest", needs_grant=True, repeatable=False))
        ledger.withdraw(["used", "unused"])
        assert (ledger.status("used"), ledger.status("unused")) == (GrantStatus.STARTED, GrantStatus.WITHDRAWN)


class TestClaims:
    def test_one_claim_at_a_time(self, ledger: InMemoryLedger) -> None:
        assert [ledger.claim("r"), ledger.claim("r"), ledger.claim("other")] == [True, False, True]
        ledger.release("r")
        assert ledger.claim("r")


class TestTheMemoryOfARun:
    @pytest.mark.parametrize("kind", ["rejected", "auto_approved"])
    def test_what_is_replayed_counts_once(
        self, ledger: InMemoryLedger, kind: Literal["rejected", "auto_approved"]
    ) -> None:
        for _ in range(2):
            if kind == "rejected":
                ledger.note_rejected("run", "key", "send", "r")
            else:
                ledger.note_auto_approved("run", "turn")
        memory = ledger.memory("run")
        assert (memory.rejections.get("send"), memory.auto_approved_turns) in ((1, 0), (None, 1))

    def test_an_answer_that_is_replayed_starts_the_count_again_only_once(self, ledger: InMemoryLedger) -> None:
        ledger.note_auto_approved("run", "first")
        ledger.note_person("run", "r")
        ledger.note_auto_approved("run", "second")
        ledger.note_person("run", "r")
        assert ledger.memory("run").auto_approved_turns == 1

    def test_runs_do_not_share_it(self, ledger: InMemoryLedger) -> None:
        ledger.note_rejected("run", "key", "send", "r")
        ledger.note_replaced("run", "other")
        ledger.note_change("run", "send", "it changed")
        assert ledger.memory("run").rejected == {"key"}
        assert ledger.memory("run").replaced == {"other"}
        assert (ledger.change("run", "send"), ledger.change("run", "save")) == ("it changed", None)
        assert ledger.memory("elsewhere") == InMemoryLedger().memory("run")
        assert ledger.change("elsewhere", "send") is None

    def test_the_switch_stops_and_lets_go_on(self, ledger: InMemoryLedger) -> None:
        said = [ledger.stopped()]
        ledger.stop()
        said.append(ledger.stopped())
        ledger.resume()
        assert [*said, ledger.stopped()] == [False, True, False]

"""The record that a database's ledger keeps of itself, and claims that end with their lease."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, text

from tests.ledger.databases import Databases
from tests.support import Clock
from tests.ui.requests import request
from toolgate_langchain import ApprovalAnswer, SqlLedger
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, StartStatus
from toolgate_langchain.approvals.sql import answers, record
from toolgate_langchain.errors import LedgerError

YES, NO = ApprovalAnswer(type="approve", by="ann"), ApprovalAnswer(type="reject", by="bob", message="no")


def kinds(ledger: SqlLedger, request_id: str | None = None) -> list[str]:
    found: Any = ledger.events(request_id=request_id)
    return [event.kind for event in found]


def start(ledger: SqlLedger, call: CallStart | None = None) -> Any:
    return ledger.start(call or CallStart("r1", "d", needs_grant=True, repeatable=False))


class TestTheRecord:
    def test_approve_then_reject_and_the_record_shows_both(self, databases: Databases) -> None:
        clock = Clock()
        ledger = databases.ledger(clock=clock)
        ledger.ask(request(), thread_id="thread")
        clock.forward(seconds=1)
        ledger.answer("r1", YES, thread_id="thread")
        clock.forward(seconds=1)
        ledger.answer("r1", NO, thread_id="thread")
        events: Any = ledger.events(request_id="r1")
        assert [(event.kind, event.detail.get("answer"), event.detail.get("by")) for event in events] == [
            ("asked", None, None),
            ("answered", "approve", "ann"),
            ("answered", "reject", "bob"),
        ]
        assert [event.at for event in events] == [clock.now - timedelta(seconds=back) for back in (2, 1, 0)]
        assert {event.thread_id for event in events} == {"thread"}

    def test_a_rejection_that_comes_too_late_is_in_the_record(self, sql: SqlLedger) -> None:
        sql.answer("r1", YES)
        sql.grant("r1", "d")
        call = CallStart("r1", "d", needs_grant=True, repeatable=False)
        start(sql, call)
        assert sql.answer("r1", NO) is AnswerStatus.TOO_LATE
        sql.end(call.ended(GrantStatus.FINISHED))
        assert kinds(sql, "r1") == ["answered", "grant_issued", "start_started", "answered", "call_finished"]
        events: Any = sql.events(request_id="r1")
        assert events[3].detail == {"answer": "reject", "by": "bob", "status": "too_late"}

    def test_what_a_replay_says_again_is_in_the_record_once(self, sql: SqlLedger) -> None:
        for _ in range(3):
            sql.ask(request())
            sql.answer("r1", YES)
            sql.grant("r1", "d")
        assert kinds(sql) == ["asked", "answered", "grant_issued"]

    def test_every_attempt_to_start_is_in_the_record(self, sql: SqlLedger) -> None:
        start(sql)
        sql.withdraw(["r1"])
        start(sql)
        assert kinds(sql) == ["start_missing", "grant_withdrawn", "start_withdrawn"]

    def test_the_switch_is_in_the_record(self, sql: SqlLedger) -> None:
        sql.stop()
        sql.resume()
        assert kinds(sql) == ["stopped", "resumed"]

    def test_the_record_is_read_in_parts(self, sql: SqlLedger) -> None:
        for number in range(5):
            sql.answer(f"r{number}", YES)
        first: Any = sql.events(limit=2)
        rest: Any = sql.events(after=first[-1].number)
        assert [event.request_id for event in (*first, *rest)] == ["r0", "r1", "r2", "r3", "r4"]

    @pytest.mark.parametrize("statement", ["UPDATE toolgate_events SET kind = 'x'", "DELETE FROM toolgate_events"])
    def test_an_event_is_neither_changed_nor_taken_away(self, sql: SqlLedger, statement: str) -> None:
        sql.answer("r1", YES)

        def by_hand(connection: Connection) -> None:
            connection.execute(text(statement))

        with pytest.raises(LedgerError, match="events of the ledger are only added"):
            sql._database.write(by_hand)
        assert kinds(sql) == ["answered"]

    def test_what_cannot_be_recorded_does_not_happen(self, sql: SqlLedger) -> None:
        """A call whose start cannot be recorded does not start, and an answer that cannot be is none."""
        sql.answer("r1", YES)
        sql.grant("r1", "d")

        def away(connection: Connection) -> None:
            connection.execute(text("ALTER TABLE toolgate_events RENAME TO toolgate_events_away"))

        def back(connection: Connection) -> None:
            connection.execute(text("ALTER TABLE toolgate_events_away RENAME TO toolgate_events"))

        sql._database.write(away)
        with pytest.raises(LedgerError, match="toolgate_events"):
            start(sql)
        with pytest.raises(LedgerError, match="toolgate_events"):
            sql.answer("r2", YES)
        sql._database.write(back)
        assert (sql.status("r1"), sql.answer_to("r2")) == (GrantStatus.ISSUED, None)
        assert start(sql) is StartStatus.STARTED


def test_what_is_pending_and_what_was_taken_back_is_found_without_reading_the_rest(sqlite: Databases) -> None:
    """However many requests were answered before; the benchmarks tell how long it takes."""

    def plan(connection: Connection, statement: Any) -> str:
        compiled = statement.compile(dialect=connection.dialect)
        words = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", ("x",) * len(compiled.positiontup))
        return " ".join(row[-1] for row in words)

    ledger = sqlite.ledger()
    for statement, index in (
        (answers._PENDING, "toolgate_requests USING INDEX toolgate_requests_open"),
        (answers._TAKEN_BACK, "toolgate_answers USING INDEX toolgate_answers_taken_back"),
        (record._OF_REQUEST, "toolgate_events USING INDEX toolgate_events_request"),
    ):
        found = ledger._database.write(plan, statement)
        assert index in found and "TEMP B-TREE" not in found, found


class TestClaims:
    def test_a_claim_is_others_when_its_lease_has_ended(self, databases: Databases) -> None:
        clock = Clock()
        mine, other = (databases.ledger(clock=clock, lease=timedelta(minutes=1)) for _ in range(2))
        assert (mine.claim("r"), other.claim("r")) == (True, False)
        clock.forward(seconds=59)
        assert other.claim("r") is False
        clock.forward(seconds=1)
        assert (other.claim("r"), mine.claim("r")) == (True, False)

    def test_whoever_lost_a_claim_does_not_give_back_its_successors(self, databases: Databases) -> None:
        clock = Clock()
        mine, other, third = (databases.ledger(clock=clock) for _ in range(3))
        mine.claim("r")
        clock.forward(hours=1)
        other.claim("r")
        mine.release("r")
        assert third.claim("r") is False
        other.release("r")
        assert third.claim("r") is True

    def test_a_clock_that_goes_backwards_gives_no_claim_away(self, databases: Databases) -> None:
        clock = Clock()
        mine, other = (databases.ledger(clock=clock) for _ in range(2))
        mine.claim("r")
        clock.forward(days=-1)
        assert other.claim("r") is False
        mine.release("r")
        assert other.claim("r") is True

    def test_a_clock_without_a_zone_is_an_error_and_nothing_happens(self, databases: Databases) -> None:
        naive = databases.ledger(clock=lambda: datetime(2026, 1, 2))  # noqa: DTZ001
        with pytest.raises(ValueError, match="has no zone"):
            naive.grant("r", "d")
        assert databases.ledger().status("r") is None

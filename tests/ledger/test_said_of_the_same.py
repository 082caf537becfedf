"""Two say something of the same: the rule that changes hands, and the call whose worker was taken for dead."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from langchain_core.messages import ToolMessage
from sqlalchemy import Connection, text

from tests.ledger.databases import Databases
from tests.ledger.test_user_rules import a_users, said_yes
from tests.support import Clock
from toolgate_langchain import InMemoryLedger, SqlLedger
from toolgate_langchain.approvals.attempts import CallEnd, CallStart
from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus
from toolgate_langchain.approvals.recording.entries import Entry

FAR = timedelta(hours=1)


def give_away(connection: Connection) -> None:
    connection.execute(text("UPDATE toolgate_rules SET owner = 'ben' WHERE owner = 'ann'"))


def test_a_rule_that_is_given_to_another_user_by_hand_is_not_her_rule_for_any_worker(sql: Any) -> None:
    said_yes(sql, "r")
    sql.add_user_rule(a_users("r"))
    assert [rule.request_id for rule in sql.said("run", "thread", "ann").user_rules] == ["r"], "read once, and kept"
    sql._database.write(give_away)
    assert list(sql.said("run", "thread", "ann").user_rules) == []
    assert list(sql.user_rules("ann")) == []


def gave(words: str) -> ToolMessage:
    return ToolMessage(words, tool_call_id="c")


def the_end(words: str) -> Entry:
    return Entry("ended", "r", "thread", {"status": words})


def reported_and_then_late(ledger: Any, other: Any, clock: Clock, **late: Any) -> CallEnd:
    """A person says what became of a call of a worker that was taken for dead, and then it comes to its end."""
    call = CallStart("r", "d", needs_grant=False, repeatable=False, hold=True)
    assert ledger.start(call) is StartStatus.STARTED
    clock.forward(seconds=FAR.total_seconds())
    assert not other.held("r")
    told = CallEnd("r", "a person's word", GrantStatus.FINISHED, gave("it is done"), "run")
    assert other.end_unknown(told, 1) is True
    end = call.ended(GrantStatus.FINISHED, result=gave("it came late"), scope="run", **late)
    assert ledger.end(end) is False
    return end


def test_what_a_person_said_of_a_call_stays_its_result_in_memory() -> None:
    clock = Clock()
    ledger = InMemoryLedger(clock=clock)
    reported_and_then_late(ledger, ledger, clock)
    kept = ledger.result("r")
    assert kept is not None and kept.text == "it is done"


def test_what_a_person_said_of_a_call_stays_its_result_and_the_record_has_how_it_really_ended(
    databases: Databases,
) -> None:
    clock = Clock()
    one: Any = databases.ledger(clock=clock)
    other: Any = SqlLedger(databases.url, clock=clock)
    end = reported_and_then_late(one, other, clock, entry=the_end("finished"))
    assert one.end(end) is False  # as where the word of the commit was lost
    assert other.result("r").text == "it is done"
    assert [event.kind for event in one.events(request_id="r")] == [
        "start_started",
        "call_finished",
        "call_late",
        "ended",
    ]
    other.close()

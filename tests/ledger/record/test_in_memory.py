"""The record of a ledger in memory: what is written once, what a start and an end write, and how it is read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Clock
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus
from toolgate_langchain.approvals.memory_record import RecordingInMemoryLedger
from toolgate_langchain.approvals.recording.entries import Entry


def entry(request_id: str = "r", thread_id: str | None = "t", once: str = "", **detail: Any) -> Entry:
    return Entry("ended", request_id, thread_id, detail, once)


def start(**detail: Any) -> CallStart:
    return CallStart("r", "d", needs_grant=False, repeatable=False, entry=entry(**detail))


def test_what_comes_again_in_a_replay_is_written_once_and_everything_else_each_time() -> None:
    ledger = RecordingInMemoryLedger()
    ledger.note([entry(once="one", n=1), entry(once="one", n=2), entry(n=3), entry(n=3), entry(once="two", n=4)])
    ledger.note([entry(once="two", n=5)])
    assert [event.detail["n"] for event in ledger.events()] == [1, 3, 3, 4]
    assert [event.number for event in ledger.events()] == [1, 2, 3, 4]


def test_a_call_that_starts_writes_its_start_and_one_that_may_not_writes_nothing() -> None:
    ledger = RecordingInMemoryLedger()
    assert [ledger.start(start(n=n)) for n in (1, 2)] == [StartStatus.STARTED, StartStatus.USED]
    assert [event.detail for event in ledger.events()] == [{"n": 1}]
    quiet = CallStart("other", "d", needs_grant=False, repeatable=False)
    assert ledger.start(quiet) is StartStatus.STARTED
    ledger.end(quiet.ended(GrantStatus.FINISHED))
    assert len(ledger.events()) == 1


def test_the_end_of_an_attempt_that_had_lost_its_call_is_written_as_late() -> None:
    ledger, first = RecordingInMemoryLedger(), start(n=1)
    ledger.start(first)
    assert ledger.end(start().ended(GrantStatus.FAILED, entry=entry(n=2))) is False
    assert ledger.end(first.ended(GrantStatus.FINISHED, entry=entry(n=3))) is True
    assert [event.detail for event in ledger.events()] == [{"n": 1}, {"n": 2, "late": True}, {"n": 3}]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["a", "b", "c"]),
        ({"request_id": "r2"}, ["b"]),
        ({"thread_id": "t2"}, ["c"]),
        ({"request_id": "r2", "thread_id": "t2"}, []),
        ({"after": 1}, ["b", "c"]),
        ({"limit": 2}, ["a", "b"]),
    ],
)
def test_it_is_read_by_request_by_thread_and_by_place(asked: dict[str, Any], found: list[str]) -> None:
    ledger = RecordingInMemoryLedger()
    ledger.note([entry("r1", "t1", n="a"), entry("r2", "t1", n="b"), entry("r3", "t2", n="c")])
    assert [event.detail["n"] for event in ledger.events(**asked)] == found


def test_and_by_time_from_that_very_moment_on() -> None:
    clock = Clock()
    ledger = RecordingInMemoryLedger(clock=clock)
    ledger.note([entry(n=1)])
    clock.forward(seconds=1)
    ledger.note([entry(n=2)])
    assert [event.detail["n"] for event in ledger.events(since=clock())] == [2]
